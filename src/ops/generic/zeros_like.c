/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* zeros_like: zeros in the shape of another tensor. */
#include "ops/generic/fill.h"

typedef struct zeros_like_args {
    int32_t dtype;
} zeros_like_args;

static const hr_arg_def zeros_like_arg_defs[] = {
    HR_ARG(zeros_like_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
           "Type of the output. Default: that of the input."),
    HR_ARG_END};

static hr_status zeros_like_infer(hr_op_call *c, hr_error *error)
{
    int32_t dtype = ((const zeros_like_args *)c->args)->dtype;

    hr_tensor_describe(&c->out[0], dtype == HR_DTYPE_NONE ? c->in[0].dtype : (hr_dtype)dtype,
                       c->in[0].shape, c->in[0].layout.name);
    return hr__fill_number_infer(c, 0.0, error);
}

static hr_status zeros_like_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++)
        hr__fill_number(&calls[i], 0.0);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_zeros_like = {
    HR_OP_ABI,
    .name = "zeros_like",
    .doc = "A tensor of zeros in the shape and layout of the input.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP | HR_OP_COLUMNS | HR_OP_ANYWHERE,
    .args = zeros_like_arg_defs,
    .args_size = sizeof(zeros_like_args),
    .in = HR_INPUTS({.name = "data_like"}),
    .infer = zeros_like_infer,
    .run_cpu = zeros_like_run,
};
