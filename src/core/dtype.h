/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Element types: properties, and conversion with one rounding rule (half away from zero, then
 * saturate; NaN becomes 0), the same at every CPU level. */
#ifndef HR_CORE_DTYPE_H
#define HR_CORE_DTYPE_H

#include "core/error.h"

bool hr_dtype_is_float(hr_dtype dtype);
bool hr_dtype_is_signed(hr_dtype dtype);  /* true for floats */
bool hr_dtype_is_integer(hr_dtype dtype); /* false for BOOL */
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
/* Range of an integer type as doubles (UINT8: 0..255); floats: -inf..inf. */
double hr_dtype_min(hr_dtype dtype);
double hr_dtype_max(hr_dtype dtype);

float hr_half_to_float(uint16_t half);
uint16_t hr_half_from_float(float value); /* nearest even; overflow to inf; NaN stays NaN */

/* Converts `count` elements as DALI's `cast` does. src and dst must not overlap, unless they are
 * equal and the elements have the same size. */
void hr_convert(void *dst, hr_dtype dst_type, const void *src, hr_dtype src_type, size_t count);
/* The same, but floats are truncated when converted to integers. */
void hr_convert_cut(void *dst, hr_dtype dst_type, const void *src, hr_dtype src_type, size_t count);
double hr_element_double(const void *data, hr_dtype dtype, size_t i); /* one element, as a double */
/* Floats truncate and saturate. */
int64_t hr_element_int(const void *data, hr_dtype dtype, size_t i);

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

#endif
