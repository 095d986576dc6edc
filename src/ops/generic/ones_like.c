/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ones_like: ones in the shape of another tensor. */
#include "ops/generic/fill.h"

static hr_status ones_like_infer(hr_op_call *c, hr_error *error)
{
    return hr__number_like_infer(c, 1.0, error);
}

static hr_status ones_like_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    return hr__fill_number(c, 1.0);
}

const hr_op_def hr_op_ones_like = {
    HR_NUMBER_LIKE_TABLE(ones_like),
    .doc = "A tensor of ones in the shape and layout of the input.",
};
