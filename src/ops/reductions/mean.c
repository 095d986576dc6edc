/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.mean: means along axes. */
#include "ops/reductions/reduction.h"

static const hr_arg_def mean_arg_defs[] = {
    HR_REDUCTION_ARG_DEFS,
    HR_REDUCTION_DTYPE_ARG("Type of the output: FLOAT (default) or that of the input, to which "
                           "results are truncated towards 0."),
    HR_ARG_END};

static hr_status mean_infer(hr_op_call *c, hr_error *error)
{
    const hr_reduction_args *args = c->args;
    const hr_dtype in = c->in[0].dtype, allowed[] = {HR_DTYPE_FLOAT, in};

    HR_TRY(hr__reduction_describe(c, args->dtype, allowed, 2, error));
    bool exact =
        hr_dtype_is_integer(in) && (hr_dtype_size(in) < 8 || c->out[0].dtype != HR_DTYPE_FLOAT);
    hr__reduction_how(c, exact ? HR_REDUCE_SUM : HR_REDUCE_TOTAL, HR_REDUCTION_END_MEAN);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_mean = {
    HR_REDUCTION_TABLE(mean, "Mean of the elements along axes. NaN if there are no elements."),
    HR_REDUCTION_DATA,
};
