/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.video_resize: the frames of readers.video, resized as by the operator resize. */
#include "ops/image/resize.h"
#include "readers/video/legacy.h"

typedef struct resize_args {
    hr_sampler_args sampler;
    hr_video_legacy_args video;
    hr_resize_args resize;
} resize_args;

static int32_t dtype_of(const resize_args *a)
{
    return a->resize.filter.dtype < 0 ? HR_DTYPE_UINT8 : a->resize.filter.dtype;
}

static hr_status resize_check(const void *args, const hr_given *given, hr_error *error)
{
    const resize_args *a = args;
    HR_TRY(hr__resize_check(&a->resize, given, error));
    return hr_video_legacy_check(&a->video, dtype_of(a), error);
}

static int32_t resize_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return hr_video_legacy_outputs(&((const resize_args *)args)->video);
}

/* Output 0 of the call: the frames, resized. */
static hr_status resize_frames(hr_op_call *c, const hr_tensor *frames, hr_error *error)
{
    hr_op_call sub = *c;
    sub.args = &((const resize_args *)c->args)->resize;
    sub.in = frames;
    sub.n_in = 1;
    sub.n_out = 1;
    HR_TRY(hr__resize_infer(&sub, NULL, error));
    HR_TRY(hr_task_memory(c->task, 0, &c->out[0], error));
    return hr__resize_run(&sub, error);
}

static hr_status resize_create(const void *args, void **state, hr_error *error)
{
    const resize_args *a = args;
    return hr_video_legacy_create(&a->video, dtype_of(a), resize_frames, state, error);
}

const hr_op_def hr_op_readers_video_resize = {
    HR_OP("readers.video_resize"),
    .doc =
        "Reads sequences of frames as readers.video does, and resizes the frames as resize does.",
    .aliases = HR_NAMES("video_reader_resize"),
    .devices = "gpu",
    HR_ARGS(resize_args, HR_VIDEO_LEGACY_ARG_DEFS(resize_args, video),
            HR_FILTER_ARG_DEFS(resize_args, resize.filter), HR_RESIZE_ARG_DEFS(resize_args, resize),
            HR_SAMPLER_ORDER_DEFS(resize_args), HR_READER_ACCEPTED_DEFS),
    .out = HR_OUTPUTS({"video"}, {"label"}, {"frame_num"}, {"timestamps"}),
    .outputs = resize_outputs,
    .check = resize_check,
    .create = resize_create,
    .destroy = hr_video_reader_destroy,
    .local_create = hr_video_local_create,
    .local_destroy = hr_video_local_destroy,
    .source = &hr_video_source,
};
