/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Truncates numbers and wraps them to the range of a type. */
#include "ops/common/wrap.h"

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

void hr__value_cut(float value, hr_dtype dtype, void *element)
{
    bool beyond = dtype == HR_DTYPE_UINT64 && value >= 0x1p63f;
    int64_t whole = isfinite(value) ? hr_element_int(&value, HR_DTYPE_FLOAT, 0) : 0;

    if (!hr_dtype_is_integer(dtype) || beyond)
        hr_convert(element, dtype, &value, HR_DTYPE_FLOAT, 1);
    else if (hr_dtype_size(dtype) == 1)
        *(uint8_t *)element = (uint8_t)whole;
    else if (hr_dtype_size(dtype) == 2)
        *(uint16_t *)element = (uint16_t)whole;
    else if (hr_dtype_size(dtype) == 4)
        *(uint32_t *)element = (uint32_t)whole;
    else
        *(int64_t *)element = whole;
}
