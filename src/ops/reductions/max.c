/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.max: the largest element. */
#include "ops/reductions/reduction.h"

static const hr_arg_def max_arg_defs[] = {HR_REDUCTION_ARG_DEFS, HR_ARG_END};

static hr_status max_infer(hr_op_call *c, hr_error *error)
{
    HR_TRY(hr__reduction_describe(c, HR_DTYPE_NONE, &c->in[0].dtype, 1, error));
    hr__reduction_how(c, HR_REDUCE_MAX, HR_REDUCTION_END_VALUE);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reductions_max = {
    HR_REDUCTION_TABLE(max, "The largest element along axes. NaN is ignored. If there are no "
                            "elements, the result is the smallest finite value of the type."),
    HR_REDUCTION_DATA,
};
