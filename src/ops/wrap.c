/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Cutting off and wrapping. */
#include "ops/wrap.h"

#include <math.h>

float hr__value_wrap(float value, hr_dtype dtype)
{
    double low = hr_dtype_min(dtype), range = hr_dtype_max(dtype) - low + 1.0;

    if (!hr_dtype_is_integer(dtype) || hr_dtype_size(dtype) > 4)
        return value;
    if (!isfinite(value))
        return 0.0f;
    double v = value < 0.0f ? ceil((double)value) : floor((double)value);
    return (float)(v - floor((v - low) / range) * range);
}
