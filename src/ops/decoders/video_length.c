/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _video_length: how many frames a video has. What is fed to experimental.inputs.video is cut into
 * sequences by this number. */
#include "codecs/video/memory.h"
#include "headrace/operator.h"

static hr_status video_length_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the input must be the bytes of a file, a 1-D UINT8 tensor, but it is %d-D %s",
            (int)in->shape.ndim, hr_dtype_name(in->dtype));
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, (hr_shape){0}, NULL);
    return HR_STATUS_OK;
}

static hr_status video_length_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        const hr_tensor *in = &calls[i].in[0];
        hr_video_file file = hr_video_file_of(in->data, (size_t)in->shape.extent[0]);
        hr_video video = {0};
        hr_status status = hr_video_scan(&file, &video, error);
        if (status == HR_STATUS_OK)
            *(int32_t *)calls[i].out[0].data = video.frames;
        hr_video_fini(&video);
        HR_TRY(status);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op__video_length = {
    HR_OP_ABI,
    .name = "_video_length",
    .doc = "The number of frames of a video file, which is given as its bytes.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN,
    .in = HR_INPUTS({.name = "encoded"}),
    .in_min = 1,
    .in_max = 1,
    .out = HR_OUTPUTS({"frames"}),
    .out_count = 1,
    .infer = video_length_infer,
    .run_cpu = video_length_run,
};
