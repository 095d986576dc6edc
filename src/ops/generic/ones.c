/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ones: a tensor of ones. */
#include "ops/generic/fill.h"

static hr_status ones_infer(hr_op_call *c, hr_error *error)
{
    return hr__number_infer(c, 1.0, error);
}

static hr_status ones_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    return hr__fill_number(c, 1.0);
}

const hr_op_def hr_op_ones = {
    HR_NUMBER_TABLE(ones),
    .doc = "A tensor of ones, of any shape and type.",
};
