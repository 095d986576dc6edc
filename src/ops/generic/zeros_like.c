/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* zeros_like: zeros in the shape of another tensor. */
#include "ops/generic/fill.h"

static hr_status zeros_like_infer(hr_op_call *c, hr_error *error)
{
    return hr__number_like_infer(c, 0.0, error);
}

static hr_status zeros_like_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    return hr__fill_number(c, 0.0);
}

const hr_op_def hr_op_zeros_like = {
    HR_NUMBER_LIKE_TABLE(zeros_like),
    .doc = "A tensor of zeros in the shape and layout of the input.",
};
