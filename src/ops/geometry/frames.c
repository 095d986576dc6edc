/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Values per frame. */
#include "ops/geometry/frames.h"

#include <stdio.h>

hr_status hr__frames_join_input(hr_frames *frames, const hr_op_call *c, int32_t i, hr_error *error)
{
    const int64_t count = c->in[i].shape.extent[0];

    if (frames->count == HR_FRAMES_NONE)
        *frames = (hr_frames){.count = count, .input = i};
    if (frames->count == count)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "The input %d and the input %d have different number of frames for sample %d: "
                   "%lld and %lld",
                   (int)frames->input, (int)i, (int)hr_task_index(c->task),
                   (long long)frames->count, (long long)count);
}

hr_status hr__frames_join_argument(hr_frames *frames, const hr_op_call *c, hr_floats list,
                                   const char *name, hr_error *error)
{
    char set_by[64];

    if (list.frames == 0)
        return HR_STATUS_OK;
    if (frames->count == HR_FRAMES_NONE)
        *frames = (hr_frames){.count = list.frames, .argument = name};
    if (frames->count == list.frames || list.frames == 1)
        return HR_STATUS_OK;
    if (frames->argument)
        snprintf(set_by, sizeof(set_by), "argument `%s`", frames->argument);
    else
        snprintf(set_by, sizeof(set_by), "input %d", (int)frames->input);
    return hr_fail(error, HR_STATUS_ERROR,
                   "The sample %d of tensor argument `%s` contains %d per-frame parameters, but "
                   "there are %lld frames in the corresponding sample of %s.",
                   (int)hr_task_index(c->task), name, (int)list.frames, (long long)frames->count,
                   set_by);
}

hr_floats hr__frames_part(hr_floats list, int64_t frame)
{
    if (list.frames == 0)
        return list;
    int32_t n = list.n / list.frames;
    return (hr_floats){list.v + (list.frames == 1 ? 0 : frame) * n, n, 0};
}

float hr__frames_element(hr_floats list, int32_t i)
{
    return list.v[list.n == 1 ? 0 : i];
}
