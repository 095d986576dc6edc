/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Outputs of a windowed sinc. Partial sums are added in one order at all levels. */
#include "kernels/sinc.h"
#include "kernels/level.h"

#define LANES HR_SINC_LANES

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
enum { VECTORS = LANES / WIDTH };

typedef float lanes __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));

/* The sum of samples with the weights at `place` of the way from a row to the next one. */
static inline float weighted(const float *restrict row, const float *restrict steps, float place,
                             const float *restrict src, int32_t stride)
{
    lanes sum[VECTORS] = {{0}};
    float s[LANES];
    for (int32_t j = 0; j < stride; j += LANES)
        for (int v = 0; v < VECTORS; v++) {
            const int32_t at = j + v * WIDTH;
            sum[v] += *(const lanes *)(src + at) *
                      (*(const lanes *)(row + at) + place * *(const lanes *)(steps + at));
        }
    for (int v = 0; v < VECTORS; v++)
        *(lanes *)(s + v * WIDTH) = sum[v];
    return hr_sinc_sum(s);
}

void HR_LEVELED(hr__sinc)(float *dst, size_t stride, const hr_sinc_filter *f,
                          const hr_sinc_signal *in, int64_t count)
{
    for (int64_t begin = 0; begin < count; begin += HR_SINC_BLOCK) {
        const double whole = floor((double)begin * in->step);
        const int64_t end = begin + HR_SINC_BLOCK < count ? begin + HR_SINC_BLOCK : count;
        float at = (float)((double)begin * in->step - whole);
        for (int64_t n = begin; n < end; n++, at += (float)in->step) {
            const hr_sinc_place p = hr_sinc_place_of(whole, at, in->samples);
            const size_t offset = (size_t)p.row * (size_t)f->stride;
            dst[(size_t)n * stride] = weighted(f->phases + offset, f->steps + offset, p.part,
                                               in->src + p.from, f->stride);
        }
    }
}
