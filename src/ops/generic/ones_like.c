/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ones_like: ones in the shape of another tensor. */
#include "ops/generic/fill.h"

typedef struct ones_like_args {
    int32_t dtype;
} ones_like_args;

static hr_status ones_like_infer(hr_op_call *c, hr_error *error)
{
    int32_t dtype = ((const ones_like_args *)c->args)->dtype;

    hr_tensor_describe(&c->out[0], dtype == HR_DTYPE_NONE ? c->in[0].dtype : (hr_dtype)dtype,
                       c->in[0].shape, c->in[0].layout.name);
    return hr__fill_number_infer(c, 1.0, error);
}

static hr_status ones_like_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__fill_number(c, 1.0);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_ones_like = {
    HR_OP_ABI,
    .name = "ones_like",
    .doc = "A tensor of ones in the shape and layout of the input.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP | HR_OP_COLUMNS | HR_OP_ANYWHERE,
    HR_ARGS(ones_like_args, HR_ARG(ones_like_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                                   "Type of the output. Default: that of the input.")),
    .in = HR_INPUTS({.name = "data_like"}),
    .infer = ones_like_infer,
    .run = ones_like_run,
};
