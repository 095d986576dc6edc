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

/* dst = a * (wr + i wi) */
#define STORE_TURNED(to, ar, ai, w)                                                                \
    do {                                                                                           \
        V((to) + l) = (ar) * (w)[0] - (ai) * (w)[1];                                               \
        V((to) + LANES + l) = (ar) * (w)[1] + (ai) * (w)[0];                                       \
    } while (0)

/* src: the first input of each butterfly; the others are `gap` floats apart. dst: the first output;
 * the others are `step` floats apart. */
static inline void butterflies_2(float *restrict dst, const float *restrict src, size_t gap,
                                 size_t step, int32_t count, const float *restrict w)
{
    for (int32_t t = 0; t < count; t++, dst += POINT, src += POINT)
        for (int l = 0; l < LANES; l += WIDTH) {
            lanes ar = V(src + l), ai = V(src + LANES + l), br = V(src + gap + l),
                  bi = V(src + gap + LANES + l);
            V(dst + l) = ar + br;
            V(dst + LANES + l) = ai + bi;
            STORE_TURNED(dst + step, ar - br, ai - bi, w);
        }
}

static inline void butterflies_3(float *restrict dst, const float *restrict src, size_t gap,
                                 size_t step, int32_t count, const float *restrict w)
{
    const float half_root = 0x1.bb67aep-1f; /* sqrt(3) / 2 */
    for (int32_t t = 0; t < count; t++, dst += POINT, src += POINT)
        for (int l = 0; l < LANES; l += WIDTH) {
            const float *b = src + gap, *c = b + gap;
            lanes ar = V(src + l), ai = V(src + LANES + l);
            lanes sr = V(b + l) + V(c + l), si = V(b + LANES + l) + V(c + LANES + l);
            lanes dr = half_root * (V(b + l) - V(c + l)),
                  di = half_root * (V(b + LANES + l) - V(c + LANES + l));
            lanes mr = ar - 0.5f * sr, mi = ai - 0.5f * si;
            V(dst + l) = ar + sr;
            V(dst + LANES + l) = ai + si;
            STORE_TURNED(dst + step, mr + di, mi - dr, w);
            STORE_TURNED(dst + 2 * step, mr - di, mi + dr, w + 2);
        }
}

static inline void butterflies_4(float *restrict dst, const float *restrict src, size_t gap,
                                 size_t step, int32_t count, const float *restrict w)
{
    for (int32_t t = 0; t < count; t++, dst += POINT, src += POINT)
        for (int l = 0; l < LANES; l += WIDTH) {
            const float *b = src + gap, *c = b + gap, *d = c + gap;
            lanes acr = V(src + l) + V(c + l), aci = V(src + LANES + l) + V(c + LANES + l);
            lanes amr = V(src + l) - V(c + l), ami = V(src + LANES + l) - V(c + LANES + l);
            lanes bdr = V(b + l) + V(d + l), bdi = V(b + LANES + l) + V(d + LANES + l);
            lanes bmr = V(b + l) - V(d + l), bmi = V(b + LANES + l) - V(d + LANES + l);
            V(dst + l) = acr + bdr;
            V(dst + LANES + l) = aci + bdi;
            STORE_TURNED(dst + step, amr + bmi, ami - bmr, w);
            STORE_TURNED(dst + 2 * step, acr - bdr, aci - bdi, w + 2);
            STORE_TURNED(dst + 3 * step, amr - bmi, ami + bmr, w + 4);
        }
}

static inline void butterflies_5(float *restrict dst, const float *restrict src, size_t gap,
                                 size_t step, int32_t count, const float *restrict w)
{
    const float c1 = 0x1.3c6ef4p-2f, c2 = -0x1.9e377ap-1f; /* cos(2 pi / 5), cos(4 pi / 5) */
    const float s1 = 0x1.e6f0e2p-1f, s2 = 0x1.2cf23p-1f;   /* sin of the same */
    for (int32_t t = 0; t < count; t++, dst += POINT, src += POINT)
        for (int l = 0; l < LANES; l += WIDTH) {
            const float *b = src + gap, *c = b + gap, *d = c + gap, *e = d + gap;
            lanes ar = V(src + l), ai = V(src + LANES + l);
            lanes ber = V(b + l) + V(e + l), bei = V(b + LANES + l) + V(e + LANES + l);
            lanes bmr = V(b + l) - V(e + l), bmi = V(b + LANES + l) - V(e + LANES + l);
            lanes cdr = V(c + l) + V(d + l), cdi = V(c + LANES + l) + V(d + LANES + l);
            lanes cmr = V(c + l) - V(d + l), cmi = V(c + LANES + l) - V(d + LANES + l);
            lanes pr = ar + c1 * ber + c2 * cdr, pi = ai + c1 * bei + c2 * cdi;
            lanes qr = ar + c2 * ber + c1 * cdr, qi = ai + c2 * bei + c1 * cdi;
            lanes ur = s1 * bmr + s2 * cmr, ui = s1 * bmi + s2 * cmi;
            lanes vr = s2 * bmr - s1 * cmr, vi = s2 * bmi - s1 * cmi;
            V(dst + l) = ar + ber + cdr;
            V(dst + LANES + l) = ai + bei + cdi;
            STORE_TURNED(dst + step, pr + ui, pi - ur, w);
            STORE_TURNED(dst + 2 * step, qr + vi, qi - vr, w + 2);
            STORE_TURNED(dst + 3 * step, qr - vi, qi + vr, w + 4);
            STORE_TURNED(dst + 4 * step, pr - ui, pi + ur, w + 6);
        }
}

/* Output k of one butterfly of any radix, before the twiddle. */
static inline void sum_point(float *restrict re, float *restrict im, const float *restrict src,
                             size_t gap, const hr_fft_pass *p, int32_t k)
{
    for (int l = 0; l < LANES; l += WIDTH) {
        V(re + l) = V(src + l);
        V(im + l) = V(src + LANES + l);
    }
    for (int32_t j = 1, turn = k; j < p->radix; j++) {
        const float *a = src + (size_t)j * gap;
        float wr = p->roots[2 * turn], wi = p->roots[2 * turn + 1];
        for (int l = 0; l < LANES; l += WIDTH) {
            V(re + l) += V(a + l) * wr - V(a + LANES + l) * wi;
            V(im + l) += V(a + l) * wi + V(a + LANES + l) * wr;
        }
        turn = turn + k < p->radix ? turn + k : turn + k - p->radix;
    }
}

static void butterflies_any(float *restrict dst, const float *restrict src, size_t gap, size_t step,
                            int32_t count, const float *restrict w, const hr_fft_pass *p)
{
    float re[LANES], im[LANES];
    for (int32_t t = 0; t < count; t++, dst += POINT, src += POINT)
        for (int32_t k = 0; k < p->radix; k++) {
            const float one[2] = {1.0f, 0.0f}, *turn = k > 0 ? w + 2 * (k - 1) : one;
            float *to = dst + (size_t)k * step;
            sum_point(re, im, src, gap, p, k);
            for (int l = 0; l < LANES; l += WIDTH)
                STORE_TURNED(to, V(re + l), V(im + l), turn);
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
        const float wr = factors[2 * i], wi = factors[2 * i + 1];
        for (int l = 0; l < LANES; l += WIDTH) {
            lanes re = V(src + l) * wr - V(src + LANES + l) * wi;
            lanes im = V(src + l) * wi + V(src + LANES + l) * wr;
            V(dst + l) = re;
            V(dst + LANES + l) = im * sign;
        }
    }
}

static inline void norm_row(float *restrict dst, const float *re, const float *im, bool root)
{
    if (root)
        for (int l = 0; l < LANES; l++)
            dst[l] = sqrtf(re[l] * re[l] + im[l] * im[l]);
    else
        for (int l = 0; l < LANES; l += WIDTH)
            V(dst + l) = V(re + l) * V(re + l) + V(im + l) * V(im + l);
}

void HR_LEVELED(hr__fft_norms)(float *restrict dst, const float *restrict src, size_t n,
                               int32_t result)
{
    for (size_t k = 0; k < n; k++)
        norm_row(dst + k * LANES, src + k * POINT, src + k * POINT + LANES,
                 result == HR_FFT_RESULT_MAGNITUDE);
}

void HR_LEVELED(hr__fft_real_norms)(float *restrict dst, const float *restrict src,
                                    const float *restrict turns, size_t half, int32_t result)
{
    for (size_t k = 0; k <= half; k++) {
        const float *a = src + (k < half ? k : 0) * POINT, *b = src + (k ? half - k : 0) * POINT;
        const float wr = turns[2 * k], wi = turns[2 * k + 1];
        float re[LANES], im[LANES];
        for (int l = 0; l < LANES; l += WIDTH) {
            lanes er = 0.5f * (V(a + l) + V(b + l)),
                  ei = 0.5f * (V(a + LANES + l) - V(b + LANES + l));
            lanes or = 0.5f * (V(a + LANES + l) + V(b + LANES + l)),
                  oi = 0.5f * (V(b + l) - V(a + l));
            V(re + l) = er + (or *wr - oi * wi);
            V(im + l) = ei + (or *wi + oi * wr);
        }
        norm_row(dst + k * LANES, re, im, result == HR_FFT_RESULT_MAGNITUDE);
    }
}
