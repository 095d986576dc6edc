/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions of many floats. Each is computed in double precision with the operations of
 * core/mathx_inline.h, in their order, so that the bits are those of one at a time; what has no
 * usual value (zeros, NaNs, what overflows) is left to that. */
#include "core/mathx_inline.h"
#include "kernels/level.h"

#include <float.h>

void HR_LEVELED(hr__sqrt_f32)(float *restrict dst, const float *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++) /* a double's root, rounded again, is the same float */
        dst[i] = sqrtf(src[i]);
}

static bool within(const float *x, size_t n, float low, float high)
{
    int32_t beyond = 0;

    for (size_t i = 0; i < n; i++)
        beyond |= !((x[i] >= low) & (x[i] <= high)); /* a NaN, too */
    return beyond == 0;
}

void HR_LEVELED(hr__exp_f32)(float *restrict dst, const float *restrict src, size_t n)
{
    if (!within(src, n, -700.0f, 700.0f)) {
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)mathx_exp((double)src[i]);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double k, y = mathx_exp_scaled((double)src[i], 0.0, &k);
        /* 2^k: in this sum k's integer lies in the lowest bits */
        uint64_t bits = (bits_of_f64(k + 0x1.8p52) + 1023) << 52;
        dst[i] = (float)(y * bits_as_f64(bits));
    }
}

void HR_LEVELED(hr__log_f32)(float *restrict dst, const float *restrict src, size_t n, double base)
{
    if (!within(src, n, FLT_MIN, FLT_MAX)) {
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)(mathx_log((double)src[i]) / base);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = bits_of_f64((double)src[i]);
        double m =
            bits_as_f64((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
        /* the exponent below 2^52's digits is a number */
        double k = bits_as_f64(bits >> 52 | UINT64_C(0x4330000000000000)) - 0x1p52 - 1023.0;
        k += m > MATHX_SQRT2 ? 1.0 : 0.0;
        m *= m > MATHX_SQRT2 ? 0.5 : 1.0;
        dst[i] = (float)(mathx_log_joined(m - 1.0, k) / base);
    }
}
