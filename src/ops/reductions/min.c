/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.min: the smallest element. */
#include "ops/reductions/reduction.h"

static const hr_arg_def min_arg_defs[] = {HR_REDUCTION_ARG_DEFS, HR_ARG_END};

static hr_status min_infer(hr_op_call *c, hr_error *error)
{
    HR_TRY(hr__reduction_describe(c, HR_DTYPE_NONE, &c->in[0].dtype, 1, error));
    hr__reduction_how(c, HR_REDUCE_MIN, HR_REDUCTION_END_VALUE);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_min = {
    HR_REDUCTION_TABLE(min, "The smallest element along axes. NaN is ignored. If there are no "
                            "elements, the result is the largest finite value of the type."),
    HR_REDUCTION_DATA,
};
