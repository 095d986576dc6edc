/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Float filters. Every output is ((c0 * v0) + c1 * v1) + ..., in this order and without FMA at
 * every level, so loops run over outputs in parallel, never over taps. */
#include "kernels/level.h"

#if defined(HR_LEVEL_v4)
enum { LANES = 16 };
#elif defined(HR_LEVEL_v3)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { VECTORS = 6 }; /* sums in registers */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* The values of tap k: rows[k], or `step` elements after those of the tap before. */
static inline __attribute__((always_inline)) const float *
tap_row(const float *const *rows, const float *src, size_t step, int32_t k)
{
    return rows != NULL ? rows[k] : src + (size_t)k * step;
}

/* `count` vectors of outputs from element `at` on; a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void sum_vectors(float *dst, const float *const *rows,
                                                              const float *src, size_t step,
                                                              const float *coef, int32_t taps,
                                                              size_t at, const int count)
{
    lanes sum[VECTORS];
    const float *row = tap_row(rows, src, step, 0) + at;
    for (int i = 0; i < count; i++)
        sum[i] = coef[0] * *(const lanes *)(row + i * LANES);
    for (int32_t k = 1; k < taps; k++) {
        row = tap_row(rows, src, step, k) + at;
        for (int i = 0; i < count; i++)
            sum[i] += coef[k] * *(const lanes *)(row + i * LANES);
    }
    for (int i = 0; i < count; i++)
        *(lanes *)(dst + at + i * LANES) = sum[i];
}

static inline __attribute__((always_inline)) void sum_taps(float *dst, const float *const *rows,
                                                           const float *src, size_t step,
                                                           const float *coef, int32_t taps,
                                                           size_t n)
{
    size_t at = 0;
    for (; at + VECTORS * LANES <= n; at += VECTORS * LANES)
        sum_vectors(dst, rows, src, step, coef, taps, at, VECTORS);
    for (; at + LANES <= n; at += LANES)
        sum_vectors(dst, rows, src, step, coef, taps, at, 1);
    for (; at < n; at++) {
        float sum = coef[0] * tap_row(rows, src, step, 0)[at];
        for (int32_t k = 1; k < taps; k++)
            sum += coef[k] * tap_row(rows, src, step, k)[at];
        dst[at] = sum;
    }
}

void HR_LEVELED(hr__vfilter_f32)(float *dst, const float *const *rows, const float *coef,
                                 int32_t taps, size_t n)
{
    sum_taps(dst, rows, NULL, 0, coef, taps, n);
}

static void filter_outputs(float *dst, const float *src, const hr_filter_float *f, int32_t channels,
                           int32_t first, int32_t end)
{
    dst += (size_t)first * (size_t)channels;
    for (int32_t x = first; x < end; x++) {
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

void HR_LEVELED(hr__hfilter_f32)(float *dst, const float *src, const hr_filter_float *f,
                                 int32_t channels)
{
    int32_t from = f->even_from, to = f->even_to;
    size_t step = (size_t)channels;
    if (to <= from) {
        filter_outputs(dst, src, f, channels, 0, f->out);
        return;
    }
    filter_outputs(dst, src, f, channels, 0, from);
    sum_taps(dst + (size_t)from * step, NULL, src + (size_t)f->start[from] * step, step,
             f->coef + (size_t)from * (size_t)f->stride, f->taps, (size_t)(to - from) * step);
    filter_outputs(dst, src, f, channels, to, f->out);
}
