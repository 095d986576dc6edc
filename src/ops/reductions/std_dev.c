/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.std_dev: standard deviations along axes about given means. */
#include "ops/reductions/reduction.h"

#include <math.h>

static const hr_arg_def std_dev_arg_defs[] = {HR_REDUCTION_ARG_DEFS, HR_REDUCTION_DDOF_ARG,
                                              HR_ARG_END};

static hr_status std_dev_infer(hr_op_call *c, hr_error *error)
{
    const hr_dtype allowed = HR_DTYPE_FLOAT;

    return hr__reduction_describe(c, allowed, &allowed, 1, error);
}

static hr_status std_dev_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_tensor *out = &calls[i].out[0];
        hr_reduced r;
        HR_TRY(hr__reduction_variance(&calls[i], &r, error));
        double *v = r.acc;
        for (size_t k = 0; k < r.n; k++)
            v[k] = sqrt(v[k]);
        hr_convert(out->data, out->dtype, v, HR_DTYPE_FLOAT64, r.n);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_std_dev = {
    HR_OP_ABI,
    .name = "reductions.std_dev",
    .doc = "Root of the mean squared distance of the elements along axes to the means given as "
           "second input, "
           "which has an element for each of the output's; its shape does not matter.",
    .devices = "cpu|gpu",
    .args = std_dev_arg_defs,
    .args_size = sizeof(hr_reduction_args),
    .in = {{.name = "data"}, {.name = "mean"}},
    .in_min = 2,
    .in_max = 2,
    .out = {{"output"}},
    .out_count = 1,
    .check = hr__reduction_check,
    .infer = std_dev_infer,
    .run_cpu = std_dev_run,
};
