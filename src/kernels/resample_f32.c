/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Float resampling. Every output is ((c0 * v0) + c1 * v1) + ..., in this order and without FMA at
 * every level, so loops run over outputs in parallel, never over taps. */
#include "kernels/level.h"

enum { BLOCK = 256 }; /* floats: the sums fit the L1 cache */

void HR_LEVELED(hr__vfilter_f32)(float *dst, const float *const *rows, const float *coef,
                                 int32_t taps, size_t n)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        float *restrict out = dst + at;
        const float *restrict first = rows[0] + at;
        for (size_t i = 0; i < count; i++)
            out[i] = coef[0] * first[i];
        for (int32_t k = 1; k < taps; k++) {
            const float *restrict row = rows[k] + at;
            float c = coef[k];
            for (size_t i = 0; i < count; i++)
                out[i] += c * row[i];
        }
    }
}

void HR_LEVELED(hr__hfilter_f32)(float *dst, const float *src, const hr_filter_float *f,
                                 int32_t channels)
{
    for (int32_t x = 0; x < f->out; x++) {
        const float *from = src + (size_t)f->start[x] * (size_t)channels;
        const float *coef = f->coef + (size_t)x * (size_t)f->stride;
        for (int32_t c = 0; c < channels; c++) {
            float sum = coef[0] * from[c];
            for (int32_t k = 1; k < f->taps; k++)
                sum += coef[k] * from[(size_t)k * (size_t)channels + (size_t)c];
            *dst++ = sum;
        }
    }
}
