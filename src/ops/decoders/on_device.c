/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/decoders/on_device.h"

#include "core/task.h"
#include "device/device.h"

void hr__frames_look(const hr_frames_look *look, hr_video_request *r)
{
    r->space = hr_video_space_of(look->color_space);
    r->rotate = look->rotate != 0;
}

void hr__frames_describe(hr_op_call *c, const hr_video_request *r)
{
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8,
                       (hr_shape){4, {r->count, r->height, r->width, 3}}, "FHWC");
}

static hr_status finish(hr_op_call *c, hr_video_decoder *decoder, hr_video_request *r)
{
    hr__frames_describe(c, r);
    HR_TRY(hr_task_device_memory(c->task, hr_video_frames_stream(decoder), &c->out[0], NULL));
    return hr_video_frames_finish(decoder, r, c->out[0].data, NULL);
}

hr_status hr__frames_begin(hr_op_call *c, hr_video_decoder *decoder, hr_video_request *r,
                           bool *done, hr_error *error)
{
    hr_device *device = hr_task_device(c->task, 0);
    hr_video_device video = {0};
    if (device)
        video = (hr_video_device){hr_device_module(device)->video, hr_device_id(device)};
    r->device = video.module ? &video : NULL;
    *done = false;
    HR_TRY(hr_video_frames_begin(decoder, r, error));
    if (!r->device)
        return HR_STATUS_OK;
    *done = finish(c, decoder, r) == HR_STATUS_OK;
    r->device = NULL;
    if (*done)
        return HR_STATUS_OK;
    c->out[0].data = NULL; /* the CPU decodes more, and says what is wrong */
    c->out[0].buffer = NULL;
    return hr_video_frames_begin(decoder, r, error);
}
