/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.variance: variances along axes about given means. */
#include "ops/reductions/reduction.h"

static const hr_arg_def variance_arg_defs[] = {HR_REDUCTION_ARG_DEFS, HR_REDUCTION_DDOF_ARG,
                                               HR_ARG_END};

static hr_status variance_infer(hr_op_call *c, hr_error *error)
{
    const hr_dtype allowed = HR_DTYPE_FLOAT;

    return hr__reduction_describe(c, allowed, &allowed, 1, error);
}

static hr_status variance_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_tensor *out = &calls[i].out[0];
        hr_reduced r;
        HR_TRY(hr__reduction_variance(&calls[i], &r, error));
        hr_convert(out->data, out->dtype, r.acc, r.type, r.n);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_variance = {
    HR_OP_ABI,
    .name = "reductions.variance",
    .doc = "Mean squared distance of the elements along axes to the means given as second input, "
           "which has "
           "an element for each of the output's; its shape does not matter.",
    .devices = "cpu|gpu",
    .args = variance_arg_defs,
    .args_size = sizeof(hr_reduction_args),
    .in = {{.name = "data"}, {.name = "mean"}},
    .in_min = 2,
    .in_max = 2,
    .out = {{"output"}},
    .out_count = 1,
    .check = hr__reduction_check,
    .infer = variance_infer,
    .run_cpu = variance_run,
};
