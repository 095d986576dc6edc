/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reductions.std_dev: standard deviations along axes, with given means. */
#include "ops/reductions/reduction.h"

static const hr_arg_def std_dev_arg_defs[] = {HR_REDUCTION_ARG_DEFS, HR_REDUCTION_DDOF_ARG,
                                              HR_ARG_END};

static hr_status std_dev_infer(hr_op_call *c, hr_error *error)
{
    return hr__reduction_about_mean(c, HR_REDUCTION_END_DEVIATION, error);
}

const hr_op_def hr_op_reductions_std_dev = {
    HR_REDUCTION_TABLE(std_dev, "Square root of the mean squared distance of the elements along "
                                "axes from the means given as second input. The second input must "
                                "have as many elements as the output, in any shape."),
    HR_REDUCTION_DATA_AND_MEAN,
};
