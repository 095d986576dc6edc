/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* full: a value or a tensor, broadcast to a given shape. */
#include "ops/generic/fill.h"

typedef struct full_args {
    hr_fill_args fill;
} full_args;

static const hr_arg_def full_arg_defs[] = {HR_FILL_ARG_DEFS(full_args, fill), HR_ARG_END};

static hr_status full_infer(hr_op_call *c, hr_error *error)
{
    const full_args *a = c->args;

    HR_TRY(hr__fill_infer(c, &a->fill, c->in[0].dtype, error));
    return hr__fill_tensor_infer(c, 0, error);
}

static hr_status full_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(hr__fill_tensor(&calls[i], &calls[i].in[0], error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_full = {
    HR_OP_ABI,
    .name = "full",
    .doc = "Broadcasts the input, a value or a tensor, to the given shape.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP,
    .args = full_arg_defs,
    .args_size = sizeof(full_args),
    .in = HR_INPUTS({.name = "fill_value"}),
    .infer = full_infer,
    .run_cpu = full_run,
};
