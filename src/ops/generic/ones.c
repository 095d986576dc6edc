/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ones: a tensor of ones. */
#include "ops/generic/fill.h"

typedef struct ones_args {
    hr_fill_args fill;
    int32_t dtype;
} ones_args;

static hr_status ones_infer(hr_op_call *c, hr_error *error)
{
    const ones_args *a = c->args;

    HR_TRY(hr__fill_infer(c, &a->fill, a->dtype, error));
    return hr__fill_number_infer(c, 1.0, error);
}

static hr_status ones_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__fill_number(c, 1.0);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_ones = {
    HR_OP_ABI,
    .name = "ones",
    .doc = "A tensor of ones, of any shape and type.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(ones_args, HR_FILL_ARG_DEFS(ones_args, fill),
            HR_ARG(ones_args, dtype, DTYPE, 0, "INT32", "Type of the output.")),
    .infer = ones_infer,
    .run = ones_run,
};
