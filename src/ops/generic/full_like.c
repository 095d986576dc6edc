/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* full_like: a value or a tensor, broadcast to the shape of another tensor. */
#include "ops/generic/fill.h"

static hr_status full_like_infer(hr_op_call *c, hr_error *error)
{
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, c->in[0].layout.name);
    return hr__fill_tensor_infer(c, 1, error);
}

static hr_status full_like_run(hr_op_call *c, hr_error *error)
{
    return hr__fill_tensor(c, &c->in[1], error);
}

const hr_op_def hr_op_full_like = {
    HR_OP("full_like"),
    .doc = "Broadcasts the second input, a value or a tensor, to the shape of the first input, "
           "whose type and layout the output has.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP,
    .in = HR_INPUTS({.name = "data_like"}, {.name = "fill_value"}),
    .infer = full_like_infer,
    .run = full_like_run,
};
