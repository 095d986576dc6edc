/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.min: the smallest element. */
#include "ops/reductions/reduction.h"

static const hr_arg_def min_arg_defs[] = {HR_REDUCTION_ARG_DEFS, HR_ARG_END};

static hr_status min_infer(hr_op_call *c, hr_error *error)
{
    const hr_dtype own = c->in[0].dtype;

    return hr__reduction_describe(c, own, &own, 1, error);
}

static hr_status min_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_tensor *out = &calls[i].out[0];
        hr_reduced r;
        HR_TRY(hr__reduction_run(&calls[i], HR_REDUCE_MIN, NULL, &r, error));
        hr_convert(out->data, out->dtype, r.acc, r.type, r.n);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_min = {
    HR_OP_ABI,
    .name = "reductions.min",
    .doc = "The smallest element along axes. NaN does not count; where there are no elements the "
           "result is the "
           "type's largest finite value.",
    .devices = "cpu|gpu",
    .args = min_arg_defs,
    .args_size = sizeof(hr_reduction_args),
    .in = {{.name = "data"}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"output"}},
    .out_count = 1,
    .check = hr__reduction_check,
    .infer = min_infer,
    .run_cpu = min_run,
};
