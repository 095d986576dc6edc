/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The arguments `axes` and `axis_names`: which dimensions an operator works on. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

#define HR_AXES_ARG_DEFS(S)                                                                        \
    HR_ARG(S, axes, INTS, HR_ARG_OPTIONAL, NULL,                                                   \
           "The axes to process; negative numbers count from the end. Default: all axes, if "      \
           "`axis_names` is not given either.",                                                    \
           .excludes = "axis_names"),                                                              \
        HR_ARG(S, axis_names, LAYOUT, HR_ARG_OPTIONAL, NULL,                                       \
               "The axes to process, as letters of the layout of the input. Not together with "    \
               "`axes`.")

/* The axes as bits. HR_STATUS_INDEX for an axis that the tensor does not have. */
hr_status hr__axes_mask(hr_ints axes, const char *axis_names, const hr_tensor *in, uint32_t *mask,
                        hr_error *error);
