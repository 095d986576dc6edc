/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* zeros: a tensor of zeros. */
#include "ops/generic/fill.h"

static hr_status zeros_infer(hr_op_call *c, hr_error *error)
{
    return hr__number_infer(c, 0.0, error);
}

static hr_status zeros_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    return hr__fill_number(c, 0.0);
}

const hr_op_def hr_op_zeros = {
    HR_NUMBER_TABLE(zeros),
    .doc = "A tensor of zeros, of any shape and type.",
};
