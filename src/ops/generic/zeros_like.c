/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* zeros_like: zeros in the shape of another tensor. */
#include "ops/generic/fill.h"

typedef struct zeros_like_args {
    int32_t dtype;
} zeros_like_args;

static hr_status zeros_like_infer(hr_op_call *c, hr_error *error)
{
    int32_t dtype = ((const zeros_like_args *)c->args)->dtype;

    hr_tensor_describe(&c->out[0], dtype == HR_DTYPE_NONE ? c->in[0].dtype : (hr_dtype)dtype,
                       c->in[0].shape, c->in[0].layout.name);
    return hr__fill_number_infer(c, 0.0, error);
}

static hr_status zeros_like_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__fill_number(c, 0.0);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_zeros_like = {
    HR_OP_ABI,
    .name = "zeros_like",
    .doc = "A tensor of zeros in the shape and layout of the input.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP | HR_OP_COLUMNS | HR_OP_ANYWHERE,
    HR_ARGS(zeros_like_args, HR_ARG(zeros_like_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                                    "Type of the output. Default: that of the input.")),
    .in = HR_INPUTS({.name = "data_like"}),
    .infer = zeros_like_infer,
    .run = zeros_like_run,
};
