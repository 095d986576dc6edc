/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.sum: sums along axes. */
#include "ops/reductions/reduction.h"

static const hr_arg_def sum_arg_defs[] = {
    HR_REDUCTION_ARG_DEFS,
    HR_REDUCTION_DTYPE_ARG("Type of the output. Not given: UINT64 or INT64 for integers. Of "
                           "integers of up to 32 bits also the input's type or FLOAT."),
    HR_ARG_END};

static hr_status sum_infer(hr_op_call *c, hr_error *error)
{
    const hr_dtype in = c->in[0].dtype, allowed[] = {hr__reduction_wide(in), in, HR_DTYPE_FLOAT};
    const bool choice = hr_dtype_is_integer(in) && hr_dtype_size(in) < 8;

    return hr__reduction_describe(c, (hr_dtype)((const hr_reduction_args *)c->args)->dtype, allowed,
                                  choice ? 3 : 1, error);
}

/* What fits of each number, as C converts. */
static void store_wrapped(hr_tensor *out, const uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        switch (hr_dtype_size(out->dtype)) {
        case 1:
            ((uint8_t *)out->data)[i] = (uint8_t)v[i];
            break;
        case 2:
            ((uint16_t *)out->data)[i] = (uint16_t)v[i];
            break;
        case 4:
            ((uint32_t *)out->data)[i] = (uint32_t)v[i];
            break;
        default:
            ((uint64_t *)out->data)[i] = v[i];
        }
    }
}

static hr_status sum_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_tensor *out = &calls[i].out[0];
        hr_reduced r;
        bool real = hr_dtype_is_float(calls[i].in[0].dtype);
        HR_TRY(
            hr__reduction_run(&calls[i], real ? HR_REDUCE_TOTAL : HR_REDUCE_SUM, NULL, &r, error));
        if (out->dtype == HR_DTYPE_FLOAT)
            hr_convert(out->data, out->dtype, r.acc, r.type, r.n);
        else
            store_wrapped(out, r.acc, r.n);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_sum = {
    HR_OP_ABI,
    .name = "reductions.sum",
    .doc = "Adds elements along axes. Sums of integers are exact, and wrap where `dtype` does not "
           "hold them.",
    .devices = "cpu|gpu",
    .args = sum_arg_defs,
    .args_size = sizeof(hr_reduction_args),
    .in = {{.name = "data"}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"output"}},
    .out_count = 1,
    .check = hr__reduction_check,
    .infer = sum_infer,
    .run_cpu = sum_run,
};
