/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* zeros: a tensor of zeros. */
#include "ops/generic/fill.h"

typedef struct zeros_args {
    hr_fill_args fill;
    int32_t dtype;
} zeros_args;

static hr_status zeros_infer(hr_op_call *c, hr_error *error)
{
    const zeros_args *a = c->args;

    HR_TRY(hr__fill_infer(c, &a->fill, a->dtype, error));
    return hr__fill_number_infer(c, 0.0, error);
}

static hr_status zeros_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__fill_number(c, 0.0);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_zeros = {
    HR_OP_ABI,
    .name = "zeros",
    .doc = "A tensor of zeros, of any shape and type.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(zeros_args, HR_FILL_ARG_DEFS(zeros_args, fill),
            HR_ARG(zeros_args, dtype, DTYPE, 0, "INT32", "Type of the output.")),
    .infer = zeros_infer,
    .run = zeros_run,
};
