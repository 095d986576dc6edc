/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions of arrays of floats, with the bits of core/mathx.h. Each loop uses the short functions
 * if all values are in their domain; otherwise mathx.h computes every value. */
#include "core/mathx_short.h"
#include "kernels/level.h"

#include <float.h>

void HR_LEVELED(hr__sqrt_f32)(float *restrict dst, const float *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++) /* rounding the double's root to float gives the same */
        dst[i] = sqrtf(src[i]);
}

static bool within(const float *x, size_t n, float low, float high)
{
    int32_t beyond = 0;

    for (size_t i = 0; i < n; i++)
        beyond |= !((x[i] >= low) & (x[i] <= high)); /* also true for NaN */
    return beyond == 0;
}

void HR_LEVELED(hr__exp_f32)(float *restrict dst, const float *restrict src, size_t n)
{
    if (!within(src, n, -700.0f, 700.0f)) {
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)mathx_exp((double)src[i]);
        return;
    }
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)mathx_short_exp((double)src[i]);
}

void HR_LEVELED(hr__log_f32)(float *restrict dst, const float *restrict src, size_t n, double base)
{
    if (!within(src, n, FLT_MIN, FLT_MAX)) {
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)(mathx_log((double)src[i]) / base);
        return;
    }
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)(mathx_short_log((double)src[i]) / base);
}

#define ONE(name, function, low, high)                                                             \
    case MATHX_SHORT_##name:                                                                       \
        for (size_t i = 0; i < n; i++)                                                             \
            beyond |= !mathx_short_##function##_takes((double)x[i]);                               \
        for (size_t i = 0; i < n && !beyond; i++)                                                  \
            dst[i] = (float)mathx_short_##function((double)x[i]);                                  \
        return !beyond;
#define TWO(name, function)                                                                        \
    case MATHX_SHORT_##name:                                                                       \
        for (size_t i = 0; i < n; i++)                                                             \
            beyond |= !mathx_short_##function##_takes((double)x[i], (double)y[i]);                 \
        for (size_t i = 0; i < n && !beyond; i++)                                                  \
            dst[i] = (float)mathx_short_##function((double)x[i], (double)y[i]);                    \
        return !beyond;

bool HR_LEVELED(hr__short_f32)(int function, float *restrict dst, const float *x, const float *y,
                               size_t n)
{
    int32_t beyond = 0;

    switch (function) {
        MATHX_SHORT_ONE(ONE)
        MATHX_SHORT_TWO(TWO)
    default:
        return false;
    }
}
