/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.rms: roots of means of squares along axes. */
#include "ops/reductions/reduction.h"

#include <math.h>

static const hr_arg_def rms_arg_defs[] = {
    HR_REDUCTION_ARG_DEFS,
    HR_REDUCTION_DTYPE_ARG("Type of the output: FLOAT, also if not given, or the input's, which is "
                           "cut off towards 0."),
    HR_ARG_END};

static hr_status rms_infer(hr_op_call *c, hr_error *error)
{
    const hr_dtype allowed[] = {HR_DTYPE_FLOAT, c->in[0].dtype};

    return hr__reduction_describe(c, (hr_dtype)((const hr_reduction_args *)c->args)->dtype, allowed,
                                  2, error);
}

static hr_status rms_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_tensor *out = &calls[i].out[0];
        hr_reduced r;
        HR_TRY(hr__reduction_squares(&calls[i], &r, error));
        hr__reduced_mean(&r, out->dtype);
        double *v = hr__reduced_doubles(&r);
        for (size_t k = 0; k < r.n; k++)
            v[k] = out->dtype == HR_DTYPE_FLOAT ? sqrt(v[k]) : floor(sqrt(v[k]));
        hr_convert(out->data, out->dtype, v, HR_DTYPE_FLOAT64, r.n);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_rms = {
    HR_OP_ABI,
    .name = "reductions.rms",
    .doc = "Square root of the mean of the squares of the elements along axes.",
    .devices = "cpu|gpu",
    .args = rms_arg_defs,
    .args_size = sizeof(hr_reduction_args),
    .in = {{.name = "data"}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"output"}},
    .out_count = 1,
    .check = hr__reduction_check,
    .infer = rms_infer,
    .run_cpu = rms_run,
};
