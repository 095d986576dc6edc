/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Inputs that are sequences of frames. */
#pragma once

#include "core/error.h"
#include "headrace/operator.h"

static inline hr_status hr__sequence_dims_check(const hr_tensor *in, hr_error *error)
{
    if (in->shape.ndim < 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Input must have at least two dimensions - outermost for sequence and at "
                       "least one for data elements. Got %d",
                       (int)in->shape.ndim);
    return HR_STATUS_OK;
}

static inline bool hr__sequence_layout(const hr_tensor *in)
{
    return !in->layout.name[0] || in->layout.name[0] == 'F';
}
