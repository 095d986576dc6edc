/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* IEEE half floats in plain C, with the results of F16C and of AArch64 bit for bit: rounding to
 * nearest even; NaNs become quiet and keep the upper payload bits. */
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)

static inline uint16_t half_from_float(float value)
{
    __fp16 half = (__fp16)value;
    uint16_t bits;
    memcpy(&bits, &half, sizeof(bits));
    return bits;
}

static inline float half_to_float(uint16_t half)
{
    __fp16 value;
    memcpy(&value, &half, sizeof(value));
    return (float)value;
}

#else

static inline uint16_t half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x477ff000u) /* rounds to 2^16 or beyond */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x33000000u) /* below half of the smallest denormal */
        return (uint16_t)sign;
    uint32_t shift = 13, mantissa = magnitude - 0x38000000u; /* exponent bias 127 -> 15 */
    if (magnitude < 0x38800000u) {
        shift = 126 - (magnitude >> 23);
        mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    }
    uint32_t half = mantissa >> shift;
    uint32_t rest = mantissa & ((1u << shift) - 1), tie = 1u << (shift - 1);
    half += rest > tie || (rest == tie && (half & 1));
    return (uint16_t)(sign | half);
}

static inline float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 31, mantissa = half & 0x3ffu, bits;
    if (exponent == 31) {
        bits = 0x7f800000u | (mantissa << 13) | (mantissa != 0 ? 0x400000u : 0);
    } else if (exponent != 0) {
        bits = ((exponent + 112) << 23) | (mantissa << 13);
    } else if (mantissa != 0) {
        uint32_t up = (uint32_t)__builtin_clz(mantissa) - 21; /* moves the top bit to bit 10 */
        bits = ((113 - up) << 23) | ((mantissa << up & 0x3ffu) << 13);
    } else {
        bits = 0;
    }
    bits |= sign;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

#endif
