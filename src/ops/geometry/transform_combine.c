/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* transforms.combine: combines transforms. */
#include "ops/geometry/transform.h"

#include <string.h>

static hr_status combine_infer(hr_op_call *c, hr_error *error)
{
    hr_frames frames = {.count = HR_FRAMES_NONE};
    int32_t ndim = 0, first = 0;

    for (int32_t i = 0; i < c->n_in; i++) {
        HR_TRY(hr__transform_input(c, i, &ndim, &frames, error));
        first = i == 0 ? ndim : first;
        if (ndim != first)
            return hr_fail(error, HR_STATUS_ERROR,
                           "input %d is a transform with %d dimensions, but input 0 has %d", (int)i,
                           (int)ndim, (int)first);
    }
    hr__transform_describe(c, ndim, frames.count);
    return c->staging ? hr__transform_leave(c, ndim, frames.count, NULL, error) : HR_STATUS_OK;
}

static void combine_one(const hr_op_call *c, size_t sample)
{
    const hr_shape *shape = &c->out[0].shape;
    const bool sequence = shape->ndim == 3, reverse = ((hr_transform_args *)c->args)->reverse_order;
    const int32_t ndim = (int32_t)shape->extent[sequence];
    const size_t size = (size_t)(ndim * (ndim + 1));
    const size_t frames = sequence ? (size_t)shape->extent[0] : 1;
    float *out = (float *)c->out[0].data + sample * frames * size;

    for (size_t f = 0; f < frames; f++, out += size) {
        for (int32_t i = 0; i < c->n_in; i++) {
            const hr_tensor *in = &c->in[i];
            const size_t at = in->shape.ndim == 3 ? sample * frames + f : sample;
            const float *m = (float *)in->data + at * size;
            if (i == 0)
                memcpy(out, m, size * sizeof(*out));
            else
                transform_chain(out, reverse ? out : m, reverse ? m : out, ndim);
        }
    }
}

static hr_status combine_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    for (int32_t k = 0; k < c->count; k++)
        combine_one(c, (size_t)k);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_transforms_combine = {
    HR_OP("transforms.combine"),
    .doc = "Combines transforms that are applied one after the other, the first input first, into "
           "one matrix.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(hr_transform_args, HR_ARG(hr_transform_args, reverse_order, BOOL, 0, "False",
                                      "Apply the last input first, not the first one.")),
    .in = HR_INPUTS({.name = "matrix"}),
    .in_min = 2,
    .in_max = 99,
    .infer = combine_infer,
    .run = combine_run,
};
