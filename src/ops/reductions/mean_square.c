/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.mean_square: means of squares along axes. */
#include "ops/reductions/reduction.h"

static const hr_arg_def mean_square_arg_defs[] = {
    HR_REDUCTION_ARG_DEFS,
    HR_REDUCTION_DTYPE_ARG("Type of the output: FLOAT (default), or for integers UINT64 or INT64, "
                           "to which results are truncated towards 0."),
    HR_ARG_END};

static hr_status mean_square_infer(hr_op_call *c, hr_error *error)
{
    const hr_reduction_args *args = c->args;
    const hr_dtype allowed[] = {HR_DTYPE_FLOAT, hr__reduction_wide(c->in[0].dtype)};

    HR_TRY(hr__reduction_describe(c, args->dtype, allowed, 2, error));
    hr__reduction_how(c, hr__reduction_squares(c), HR_REDUCTION_END_MEAN);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_mean_square = {
    HR_REDUCTION_TABLE(mean_square, "Mean of the squares of the elements along axes."),
    HR_REDUCTION_DATA,
};
