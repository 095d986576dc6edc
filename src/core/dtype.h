/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Element types: properties, and conversion with one rounding rule (half away from zero, then
 * saturate; NaN becomes 0), the same at every CPU level. headrace/host.inc declares most of it. */
#pragma once

#include "core/error.h"

/* IMAGE_TYPE, DATA_TYPE, INTERP_TYPE */
static inline bool hr_dtype_is_enum(hr_dtype dtype)
{
    return dtype >= HR_DTYPE_IMAGE_TYPE && dtype <= HR_DTYPE_INTERP_TYPE;
}

/* The type whose elements have the same bytes and meaning as numbers. Of the enumerations, only
 * DATA_TYPE has a negative value (NO_TYPE). */
static inline hr_dtype hr_dtype_number(hr_dtype dtype)
{
    if (!hr_dtype_is_enum(dtype))
        return dtype;
    return dtype == HR_DTYPE_DATA_TYPE ? HR_DTYPE_INT32 : HR_DTYPE_UINT32;
}

/* The name in messages that scripts match: "uint8", "double", "DALIInterpType". */
const char *hr_dtype_dali_name(hr_dtype dtype);

/* Round half away from zero to u8 with saturation; NaN is 0. */
static inline uint8_t hr_round_u8(float v)
{
    if (!(v > 0.0f))
        return 0;
    if (v >= 255.0f)
        return 255;
    uint8_t whole = (uint8_t)v;
    /* v + 0.5f would itself be rounded: 0.49999997f would become 1. */
    return (uint8_t)(whole + (v - (float)whole >= 0.5f));
}
