/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* sequence_rearrange: all or some frames of a sequence in another order. */
#include "ops/generic/sequence.h"
#include "ops/generic/region.h"

typedef struct sequence_rearrange_args {
    hr_ints new_order;
} sequence_rearrange_args;

static hr_status sequence_rearrange_check(const void *args, const hr_given *given, hr_error *error)
{
    const hr_ints order = ((const sequence_rearrange_args *)args)->new_order;

    (void)given;
    if (order.v && order.n == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Empty result sequences are not allowed: `new_order` is empty");
    return HR_STATUS_OK;
}

static hr_status order_check(const hr_op_call *c, hr_ints order, int64_t length, hr_error *error)
{
    int32_t sample = hr_task_index(c->task);

    if (order.n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "Empty `new_order` for sample %d is not allowed.",
                       (int)sample);
    for (int32_t i = 0; i < order.n; i++)
        if (order.v[i] < 0 || order.v[i] >= length)
            return hr_fail(error, HR_STATUS_ERROR,
                           "new_order[%d] must be between 0 and input_sequence_length = %lld for "
                           "sample %d, but it is: %d.",
                           (int)i, (long long)length, (int)sample, (int)order.v[i]);
    return HR_STATUS_OK;
}

static hr_status frames_make(hr_op_call *c, hr_ints order, hr_error *error)
{
    hr_region_parts *parts;
    size_t bytes;

    if (!hr_tensor_bytes(&c->out[0], &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    size_t frame = bytes / (size_t)order.n;
    HR_TRY(hr__parts_make(c->arena, frame > 0 ? order.n : 0, &parts, error));
    for (int32_t k = 0; k < parts->count; k++) {
        parts->part[k].region.item = frame;
        parts->part[k].to = (int64_t)frame * k;
        parts->part[k].from = (int64_t)frame * order.v[k];
    }
    c->memo = parts;
    return HR_STATUS_OK;
}

static hr_status sequence_rearrange_infer(hr_op_call *c, hr_error *error)
{
    const hr_ints order = ((const sequence_rearrange_args *)c->args)->new_order;
    const hr_tensor *in = &c->in[0];

    HR_TRY(hr__sequence_dims_check(in, error));
    if (!hr__sequence_layout(in))
        return hr_fail(error, HR_STATUS_ERROR,
                       "Expected sequence as the input, where outermost dimension represents "
                       "frames dimension `F`, got data with layout = \"%s\"",
                       in->layout.name);
    HR_TRY(order_check(c, order, in->shape.extent[0], error));
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, in->layout.name);
    c->out[0].shape.extent[0] = order.n;
    return frames_make(c, order, error);
}

const hr_op_def hr_op_sequence_rearrange = {
    HR_OP("sequence_rearrange"),
    .doc = "Puts the frames of a sequence into another order. Frames may be left out or repeated.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_SEQUENCE,
    HR_ARGS(
        sequence_rearrange_args,
        HR_ARG(sequence_rearrange_args, new_order, INTS,
               HR_ARG_PER_SAMPLE | HR_ARG_REQUIRED | HR_ARG_EXACT, NULL,
               "For each frame of the output, the number of the input frame. Numbers may repeat.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = sequence_rearrange_check,
    .infer = sequence_rearrange_infer,
    .run = hr__parts_run,
};
