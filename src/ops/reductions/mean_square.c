/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.mean_square: means of squares along axes. */
#include "ops/reductions/reduction.h"

static const hr_arg_def mean_square_arg_defs[] = {
    HR_REDUCTION_ARG_DEFS,
    HR_REDUCTION_DTYPE_ARG(
        "Type of the output: FLOAT, also if not given, or for integers UINT64 or INT64, which is "
        "cut off towards 0."),
    HR_ARG_END};

static hr_status mean_square_infer(hr_op_call *c, hr_error *error)
{
    const hr_dtype allowed[] = {HR_DTYPE_FLOAT, hr__reduction_wide(c->in[0].dtype)};

    return hr__reduction_describe(c, (hr_dtype)((const hr_reduction_args *)c->args)->dtype, allowed,
                                  2, error);
}

static hr_status mean_square_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_tensor *out = &calls[i].out[0];
        hr_reduced r;
        HR_TRY(hr__reduction_squares(&calls[i], &r, error));
        hr__reduced_mean(&r, out->dtype);
        hr_convert(out->data, out->dtype, r.acc, r.type, r.n);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_mean_square = {
    HR_OP_ABI,
    .name = "reductions.mean_square",
    .doc = "Mean of the squares of the elements along axes.",
    .devices = "cpu|gpu",
    .args = mean_square_arg_defs,
    .args_size = sizeof(hr_reduction_args),
    .in = {{.name = "data"}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"output"}},
    .out_count = 1,
    .check = hr__reduction_check,
    .infer = mean_square_infer,
    .run_cpu = mean_square_run,
};
