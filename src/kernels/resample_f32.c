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
enum { VECTORS = 6, VECTORS_OF_TWO = 4 }; /* sums in registers, of each filter */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef float four __attribute__((vector_size(4 * sizeof(float)), aligned(4), may_alias));

/* The values of tap k: rows[k], or `step` elements after those of the tap before. */
static inline __attribute__((always_inline)) const float *
tap_row(const float *const *rows, const float *src, size_t step, int32_t k)
{
    return rows != NULL ? rows[k] : src + (size_t)k * step;
}

/* `count` vectors of outputs from element `at` on; a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void
sum_vectors(float *dst, const float *add, const float *const *rows, const float *src, size_t step,
            const float *coef, int32_t taps, size_t at, const int count)
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
    for (int i = 0; i < count; i++) {
        if (add != NULL)
            sum[i] += *(const lanes *)(add + at + i * LANES);
        *(lanes *)(dst + at + i * LANES) = sum[i];
    }
}

static inline __attribute__((always_inline)) void
sum_taps(float *dst, const float *add, const float *const *rows, const float *src, size_t step,
         const float *coef, int32_t taps, size_t n)
{
    size_t at = 0;
    for (; at + VECTORS * LANES <= n; at += VECTORS * LANES)
        sum_vectors(dst, add, rows, src, step, coef, taps, at, VECTORS);
    for (; at + LANES <= n; at += LANES)
        sum_vectors(dst, add, rows, src, step, coef, taps, at, 1);
    for (; at < n; at++) {
        float sum = coef[0] * tap_row(rows, src, step, 0)[at];
        for (int32_t k = 1; k < taps; k++)
            sum += coef[k] * tap_row(rows, src, step, k)[at];
        dst[at] = add != NULL ? add[at] + sum : sum;
    }
}

void HR_LEVELED(hr__vfilter_f32)(float *dst, const float *const *rows, const float *coef,
                                 int32_t taps, size_t n)
{
    sum_taps(dst, NULL, rows, NULL, 0, coef, taps, n);
}

/* As sum_vectors, for two filters. */
static inline __attribute__((always_inline)) void sum_two(float *const *dst,
                                                          const float *const *rows,
                                                          const float *const *coef, int32_t taps,
                                                          size_t at, const int count)
{
    lanes a[VECTORS_OF_TWO], b[VECTORS_OF_TWO];
    for (int i = 0; i < count; i++) {
        const lanes v = *(const lanes *)(rows[0] + at + i * LANES);
        a[i] = coef[0][0] * v;
        b[i] = coef[1][0] * v;
    }
    for (int32_t k = 1; k < taps; k++)
        for (int i = 0; i < count; i++) {
            const lanes v = *(const lanes *)(rows[k] + at + i * LANES);
            a[i] += coef[0][k] * v;
            b[i] += coef[1][k] * v;
        }
    for (int i = 0; i < count; i++) {
        *(lanes *)(dst[0] + at + i * LANES) = a[i];
        *(lanes *)(dst[1] + at + i * LANES) = b[i];
    }
}

void HR_LEVELED(hr__vfilter_two_f32)(float *const *dst, const float *const *rows,
                                     const float *const *coef, int32_t taps, size_t n)
{
    size_t at = 0;
    for (; at + VECTORS_OF_TWO * LANES <= n; at += VECTORS_OF_TWO * LANES)
        sum_two(dst, rows, coef, taps, at, VECTORS_OF_TWO);
    for (; at + LANES <= n; at += LANES)
        sum_two(dst, rows, coef, taps, at, 1);
    for (; at < n; at++)
        for (int i = 0; i < 2; i++) {
            float sum = coef[i][0] * rows[0][at];
            for (int32_t k = 1; k < taps; k++)
                sum += coef[i][k] * rows[k][at];
            dst[i][at] = sum;
        }
}

static inline __attribute__((always_inline)) four load_pixel(const float *from, int32_t channels)
{
    return (four){from[0], from[1], from[2], channels == 4 ? from[3] : 0.0f};
}

/* Outputs first .. end - 1 of 3 or 4 channels: a constant wherever this is inlined. All taps but
 * the last are read as vectors of four, whose excess belongs to the next tap. */
static inline __attribute__((always_inline)) void
filter_pixels(float *dst, const float *add, const float *src, const hr_filter_float *f,
              const int32_t channels, int32_t first, int32_t end)
{
    const int32_t last = f->taps - 1;
    size_t at = (size_t)first * (size_t)channels;
    for (int32_t x = first; x < end; x++, at += (size_t)channels) {
        const float *from = src + (size_t)f->start[x] * (size_t)channels;
        const float *coef = f->coef + (size_t)x * (size_t)f->stride;
        four sum;
        if (last == 0) {
            sum = coef[0] * load_pixel(from, channels);
        } else {
            sum = coef[0] * *(const four *)from;
            for (int32_t k = 1; k < last; k++)
                sum += coef[k] * *(const four *)(from + (size_t)k * (size_t)channels);
            sum += coef[last] * load_pixel(from + (size_t)last * (size_t)channels, channels);
        }
        if (add != NULL)
            sum += load_pixel(add + at, channels);
        for (int32_t c = 0; c < channels; c++)
            dst[at + (size_t)c] = sum[c];
    }
}

static void filter_outputs(float *dst, const float *add, const float *src, const hr_filter_float *f,
                           int32_t channels, int32_t first, int32_t end)
{
    size_t at = (size_t)first * (size_t)channels;
    if (channels == 3) {
        filter_pixels(dst, add, src, f, 3, first, end);
        return;
    }
    if (channels == 4) {
        filter_pixels(dst, add, src, f, 4, first, end);
        return;
    }
    for (int32_t x = first; x < end; x++) {
        const float *from = src + (size_t)f->start[x] * (size_t)channels;
        const float *coef = f->coef + (size_t)x * (size_t)f->stride;
        for (int32_t c = 0; c < channels; c++, at++) {
            float sum = coef[0] * from[c];
            for (int32_t k = 1; k < f->taps; k++)
                sum += coef[k] * from[(size_t)k * (size_t)channels + (size_t)c];
            dst[at] = add != NULL ? add[at] + sum : sum;
        }
    }
}

/* The outputs with the same coefficients. */
static inline __attribute__((always_inline)) void
filter_even(float *dst, const float *add, const float *src, const hr_filter_float *f, size_t step)
{
    const size_t from = (size_t)f->even_from, n = (size_t)f->even_to - from;
    sum_taps(dst + from * step, add, NULL, src + (size_t)f->start[from] * step, step,
             f->coef + from * (size_t)f->stride, f->taps, n * step);
}

void HR_LEVELED(hr__hfilter_f32)(float *dst, const float *add, const float *src,
                                 const hr_filter_float *f, int32_t channels)
{
    int32_t from = f->even_from, to = f->even_to;
    size_t step = (size_t)channels;
    if (to <= from) {
        filter_outputs(dst, add, src, f, channels, 0, f->out);
        return;
    }
    filter_outputs(dst, add, src, f, channels, 0, from);
    if (add != NULL)
        filter_even(dst, add + (size_t)from * step, src, f, step);
    else
        filter_even(dst, NULL, src, f, step);
    filter_outputs(dst, add, src, f, channels, to, f->out);
}
