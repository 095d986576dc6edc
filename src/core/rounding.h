/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The one rounding rule of conversions (half away from zero, then saturation; NaN becomes 0), and
 * half floats (nearest even). */
#pragma once

#include "core/bits.h"

#include <math.h>
#include <stdint.h>

/* ---- half precision ---- */

HR_SHARED float half_read(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff, bits;
    if (rest >= 0x7c00)
        bits = 0x7f800000 | (rest & 0x3ff) << 13;
    else if (rest >= 0x400)
        bits = (rest << 13) + ((127u - 15u) << 23);
    else
        bits = bits_of_f32((float)rest * 0x1p-24f);
    return bits_as_f32(bits | sign);
}

HR_SHARED uint16_t half_of_float(float value)
{
    uint32_t bits = bits_of_f32(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (bits >= 0x477ff000) /* 65520 and above: closer to 2^16, which a half cannot hold */
        return (uint16_t)(sign | 0x7c00);
    /* Below 2^-14: subnormal, a multiple of 2^-24. That is the last bit of floats in [0.5, 1), so
     * the addition rounds, to even. */
    if (bits < 0x38800000)
        return (uint16_t)(sign | (bits_of_f32(bits_as_f32(bits) + 0x1p-1f) - 0x3f000000));
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits - ((127u - 15u) << 23)) >> 13));
}

/* Through a float whose last bit records that bits were lost ("round to odd"), so that it rounds
 * only once. */
HR_SHARED uint16_t half_of_double(double value)
{
    float near = (float)value;
    uint32_t bits = bits_of_f32(near);
    if ((double)near == value || (bits & 0x7f800000) == 0x7f800000)
        return half_of_float(near);
    if (fabs((double)near) > fabs(value))
        bits--;
    return half_of_float(bits_as_f32(bits | 1));
}

/* ---- to integers ---- */

/* For integer types of at most 32 bits. */
HR_SHARED int64_t round_clamp(double v, double min, double max)
{
    if (!(v >= min))
        return v < min ? (int64_t)min : 0;
    if (v >= max)
        return (int64_t)max;
    int64_t whole = (int64_t)v;
    double rest = v - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

HR_SHARED int64_t round_clamp_i64(double v)
{
    if (v >= 0x1p63)
        return INT64_MAX;
    if (v <= -0x1p63)
        return INT64_MIN;
    return round_clamp(v, -0x1p63, 0x1p63);
}

HR_SHARED uint64_t round_clamp_u64(double v)
{
    if (!(v >= 0.5))
        return 0;
    if (v >= 0x1p64)
        return UINT64_MAX;
    if (v < 0x1p62)
        return (uint64_t)round_clamp(v, 0, 0x1p62);
    return (uint64_t)v; /* a double this large is an integer */
}

/* In float, which vectorises; exact for types of up to 16 bits. */
HR_SHARED int32_t round_clamp_f(float v, float lo, float hi)
{
    float inside = v > lo ? (v < hi ? v : hi) : (v <= lo ? lo : 0.0f);
    int32_t whole = (int32_t)inside;
    float rest = inside - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* The largest float below 0.5: added to v >= 0, it makes truncation round half up, where 0.5 itself
 * would also round 0.49999997 up. */
#define ROUND_BELOW_HALF 0x1.fffffep-2f

/* round_clamp_f(v, 0, 255). */
HR_SHARED uint8_t round_byte(float v)
{
    float inside = v > 0.0f ? v : 0.0f;
    return (uint8_t)(int32_t)((inside < 255.0f ? inside : 255.0f) + ROUND_BELOW_HALF);
}

/* Truncates; values that no integer type can hold are returned unchanged. */
HR_SHARED double cut_off(double v)
{
    return v > -0x1p63 && v < 0x1p63 ? (double)(int64_t)v : v;
}

/* Integer to integer: all but the upper half of uint64_t fit int64_t. */
HR_SHARED int64_t clamp_i(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

HR_SHARED uint64_t clamp_u(uint64_t v, uint64_t hi)
{
    return v > hi ? hi : v;
}
