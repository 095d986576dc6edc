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
