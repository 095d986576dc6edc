/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.sum: sums along axes. */
#include "ops/reductions/reduction.h"

static const hr_arg_def sum_arg_defs[] = {
    HR_REDUCTION_ARG_DEFS,
    HR_REDUCTION_DTYPE_ARG(
        "Type of the output. Default: UINT64 or INT64 for integers, FLOAT for FLOAT. For integers "
        "of up to 32 bits, the type of the input and FLOAT are also allowed."),
    HR_ARG_END};

static hr_status sum_infer(hr_op_call *c, hr_error *error)
{
    const hr_reduction_args *args = c->args;
    const hr_dtype in = c->in[0].dtype, allowed[] = {hr__reduction_wide(in), in, HR_DTYPE_FLOAT};
    const bool choice = hr_dtype_is_integer(in) && hr_dtype_size(in) < 8;

    HR_TRY(hr__reduction_describe(c, args->dtype, allowed, choice ? 3 : 1, error));
    hr__reduction_how(c, hr_dtype_is_float(in) ? HR_REDUCE_TOTAL : HR_REDUCE_SUM,
                      HR_REDUCTION_END_VALUE);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_sum = {
    HR_REDUCTION_TABLE(sum, "Sum of the elements along axes. Sums of integers are exact; they wrap "
                            "if `dtype` cannot represent them."),
    HR_REDUCTION_DATA,
};
