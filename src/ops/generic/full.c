/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* full: a value or a tensor, broadcast to a given shape. */
#include "ops/generic/fill.h"

typedef struct full_args {
    hr_fill_args fill;
} full_args;

static hr_status full_infer(hr_op_call *c, hr_error *error)
{
    const full_args *a = c->args;

    HR_TRY(hr__fill_infer(c, &a->fill, c->in[0].dtype, error));
    return hr__fill_tensor_infer(c, 0, error);
}

static hr_status full_run(hr_op_call *c, hr_error *error)
{
    return hr__fill_tensor(c, &c->in[0], error);
}

const hr_op_def hr_op_full = {
    HR_OP("full"),
    .doc = "Broadcasts the input, a value or a tensor, to the given shape.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP,
    HR_ARGS(full_args, HR_FILL_ARG_DEFS(full_args, fill)),
    .in = HR_INPUTS({.name = "fill_value"}),
    .infer = full_infer,
    .run = full_run,
};
