/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The passes of Fourier transforms, with the lanes in vectors: gcc leaves plain loops scalar. */
#include "kernels/fft.h"
#include "kernels/level.h"

#include <math.h>

#define LANES HR_FFT_LANES
#define POINT HR_FFT_POINT

#if defined(HR_LEVEL_v4)
enum { WIDTH = 16 };
#elif defined(HR_LEVEL_v3)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif

typedef float lanes __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));
#define V(p) (*(lanes *)(uintptr_t)(p))

#define HR_FFT_VALUE lanes
#include "kernels/fft_point.h"

static inline fft_point load(const float *from)
{
    fft_point v = {V(from), V(from + LANES)};
    return v;
}

static inline void store(float *to, fft_point v)
{
    V(to) = v.re;
    V(to + LANES) = v.im;
}

/* src: the first input of each butterfly; the others are `gap` floats apart. dst: the first output;
 * the others are `step` floats apart. */
#define BUTTERFLIES(radix)                                                                         \
    static inline void butterflies_##radix(float *restrict dst, const float *restrict src,         \
                                           size_t gap, size_t step, int32_t count,                 \
                                           const float *restrict w)                                \
    {                                                                                              \
        for (int32_t t = 0; t < count; t++, dst += POINT, src += POINT)                            \
            for (int l = 0; l < LANES; l += WIDTH) {                                               \
                fft_point v[radix];                                                                \
                for (size_t j = 0; j < radix; j++)                                                 \
                    v[j] = load(src + j * gap + l);                                                \
                fft_butterfly_##radix(v);                                                          \
                store(dst + l, v[0]);                                                              \
                for (size_t k = 1; k < radix; k++)                                                 \
                    store(dst + k * step + l, fft_turned(v[k], w[2 * k - 2], w[2 * k - 1]));       \
            }                                                                                      \
    }
BUTTERFLIES(2)
BUTTERFLIES(3)
BUTTERFLIES(4)
BUTTERFLIES(5)

static void butterflies_any(float *restrict dst, const float *restrict src, size_t gap, size_t step,
                            int32_t count, const float *restrict w, const hr_fft_pass *p)
{
    for (int32_t t = 0; t < count; t++, dst += POINT, src += POINT)
        for (int32_t k = 0; k < p->radix; k++) {
            const float wr = k > 0 ? w[2 * k - 2] : 1.0f, wi = k > 0 ? w[2 * k - 1] : 0.0f;
            for (int l = 0; l < LANES; l += WIDTH) {
                fft_point sum = load(src + l);
                for (int32_t j = 1, turn = k; j < p->radix; j++) {
                    const float *root = p->roots + 2 * (size_t)turn;
                    fft_point v = fft_turned(load(src + (size_t)j * gap + l), root[0], root[1]);
                    sum.re += v.re;
                    sum.im += v.im;
                    turn = turn + k < p->radix ? turn + k : turn + k - p->radix;
                }
                store(dst + (size_t)k * step + l, fft_turned(sum, wr, wi));
            }
        }
}

void HR_LEVELED(hr__fft_pass)(float *restrict dst, const float *restrict src, const hr_fft_pass *p)
{
    const size_t step = (size_t)p->stride * POINT, gap = step * (size_t)p->span;
    for (int32_t q = 0; q < p->span; q++) {
        const float *w = p->twiddles + 2 * (size_t)q * (size_t)(p->radix - 1);
        const float *from = src + (size_t)q * step;
        float *to = dst + (size_t)q * step * (size_t)p->radix;
        if (p->radix == 2)
            butterflies_2(to, from, gap, step, p->stride, w);
        else if (p->radix == 3)
            butterflies_3(to, from, gap, step, p->stride, w);
        else if (p->radix == 4)
            butterflies_4(to, from, gap, step, p->stride, w);
        else if (p->radix == 5)
            butterflies_5(to, from, gap, step, p->stride, w);
        else
            butterflies_any(to, from, gap, step, p->stride, w, p);
    }
}

/* Four samples of four signals at a time, so that reads and writes are vectors. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int four_of __attribute__((vector_size(16)));

static inline four pick(four a, four b, four_of which)
{
#if defined(__clang__)
    four r;
    for (int i = 0; i < 4; i++)
        r[i] = which[i] < 4 ? a[which[i]] : b[which[i] - 4];
    return r;
#else
    return __builtin_shuffle(a, b, which);
#endif
}

static inline void load_four(float *dst, size_t row, const float *const *x, size_t i, four w)
{
    const four_of low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5};
    const four_of second = {2, 3, 6, 7};
    four a = *(const four *)(x[0] + i) * w, b = *(const four *)(x[1] + i) * w;
    four c = *(const four *)(x[2] + i) * w, d = *(const four *)(x[3] + i) * w;
    four ab = pick(a, b, low), cd = pick(c, d, low);
    *(four *)(dst) = pick(ab, cd, first);
    *(four *)(dst + row) = pick(ab, cd, second);
    ab = pick(a, b, high);
    cd = pick(c, d, high);
    *(four *)(dst + 2 * row) = pick(ab, cd, first);
    *(four *)(dst + 3 * row) = pick(ab, cd, second);
}

void HR_LEVELED(hr__fft_load)(float *dst, size_t row, const float *const *signals,
                              const float *window, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four w = *(const four *)(window + i);
        for (int l = 0; l < LANES; l += 4)
            load_four(dst + i * row + l, row, signals + l, i, w);
    }
    for (; i < n; i++)
        for (int l = 0; l < LANES; l++)
            dst[i * row + (size_t)l] = signals[l][i] * window[i];
}

void HR_LEVELED(hr__fft_multiply)(float *restrict dst, const float *restrict src,
                                  const float *restrict factors, size_t n, bool conjugate)
{
    const float sign = conjugate ? -1.0f : 1.0f;
    for (size_t i = 0; i < n; i++, dst += POINT, src += POINT) {
        for (int l = 0; l < LANES; l += WIDTH) {
            fft_point v = fft_turned(load(src + l), factors[2 * i], factors[2 * i + 1]);
            v.im *= sign;
            store(dst + l, v);
        }
    }
}

static inline void norm_row(float *row, bool root)
{
    if (root)
        for (int l = 0; l < LANES; l++)
            row[l] = sqrtf(row[l]);
}

void HR_LEVELED(hr__fft_norms)(float *restrict dst, const float *restrict src, size_t n,
                               int32_t result)
{
    for (size_t k = 0; k < n; k++, dst += LANES, src += POINT) {
        for (int l = 0; l < LANES; l += WIDTH)
            V(dst + l) = fft_power(load(src + l));
        norm_row(dst, result == HR_FFT_RESULT_MAGNITUDE);
    }
}

void HR_LEVELED(hr__fft_real_norms)(float *restrict dst, const float *restrict src,
                                    const float *restrict turns, size_t half, int32_t result)
{
    for (size_t k = 0; k <= half; k++, dst += LANES) {
        const float *a = src + (k < half ? k : 0) * POINT, *b = src + (k ? half - k : 0) * POINT;
        for (int l = 0; l < LANES; l += WIDTH)
            V(dst + l) =
                fft_power(fft_real_bin(load(a + l), load(b + l), turns[2 * k], turns[2 * k + 1]));
        norm_row(dst, result == HR_FFT_RESULT_MAGNITUDE);
    }
}
