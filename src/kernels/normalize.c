/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Storing u8 pixels as (v - mean[c]) * mul[c] in float32: a subtraction, then a multiplication,
 * each rounded. */
#include "kernels/half.h"
#include "kernels/spread.h"

/* Outputs [from, to) of a row of n pixels, one by one: whole rows at the base level, the ends of
 * rows at the others. */
static void planes_f32(float *dst, size_t plane, const uint8_t *src, size_t n, int32_t channels,
                       const float *mean, const float *mul, int mirror, size_t from, size_t to)
{
    size_t step = (size_t)channels;
    for (size_t c = 0; c < step; c++) {
        float *restrict out = dst + c * plane;
        const uint8_t *restrict in = src + c;
        float sub = mean[c], by = mul[c];
        if (mirror)
            for (size_t i = from; i < to; i++)
                out[i] = ((float)in[(n - 1 - i) * step] - sub) * by;
        else
            for (size_t i = from; i < to; i++)
                out[i] = ((float)in[i * step] - sub) * by;
    }
}

static void planes_f16(uint16_t *dst, size_t plane, const uint8_t *src, size_t n, int32_t channels,
                       const float *mean, const float *mul, int mirror, size_t from, size_t to)
{
    size_t step = (size_t)channels;
    for (size_t c = 0; c < step; c++) {
        for (size_t i = from; i < to; i++) {
            size_t at = mirror ? n - 1 - i : i;
            float v = ((float)src[at * step + c] - mean[c]) * mul[c];
            dst[c * plane + i] = half_from_float(v);
        }
    }
}

#if defined(HR_LEVEL_v4)

static inline hr_floats_vector scaled(hr_floats_vector v, float mean, float mul)
{
    return _mm512_mul_ps(_mm512_sub_ps(v, _mm512_set1_ps(mean)), _mm512_set1_ps(mul));
}

static inline void store_f32(float *dst, __m512 v)
{
    _mm512_storeu_ps(dst, v);
}

static inline void store_f16(uint16_t *dst, __m512 v)
{
    _mm256_storeu_si256((__m256i *)dst, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

#elif defined(HR_LEVEL_v3)

static inline hr_floats_vector scaled(hr_floats_vector v, float mean, float mul)
{
    return _mm256_mul_ps(_mm256_sub_ps(v, _mm256_set1_ps(mean)), _mm256_set1_ps(mul));
}

static inline void store_f32(float *dst, __m256 v)
{
    _mm256_storeu_ps(dst, v);
}

static inline void store_f16(uint16_t *dst, __m256 v)
{
    _mm_storeu_si128((__m128i *)dst, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

#endif

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

#define PLANES(type, suffix)                                                                       \
    static inline __attribute__((always_inline)) void vector_##suffix(                             \
        type *dst, size_t plane, const uint8_t *src, size_t n, const int32_t channels,             \
        const float *mean, const float *mul, int mirror)                                           \
    {                                                                                              \
        spreader s;                                                                                \
        size_t i = 0;                                                                              \
        spreader_init(&s, channels, mirror);                                                       \
        for (; i + SPREAD_STEP <= n; i += SPREAD_STEP) {                                           \
            size_t at = mirror ? n - SPREAD_STEP - i : i;                                          \
            const uint8_t *from = src + at * (size_t)channels;                                     \
            hr_pixels_vector v = load_pixels(&s, from);                                            \
            for (int32_t c = 0; c < channels; c++) {                                               \
                hr_floats_vector out = scaled(channel_floats(&s, v, c), mean[c], mul[c]);          \
                store_##suffix(dst + (size_t)c * plane + i, out);                                  \
            }                                                                                      \
        }                                                                                          \
        planes_##suffix(dst, plane, src, n, channels, mean, mul, mirror, i, n);                    \
    }
PLANES(float, f32)
PLANES(uint16_t, f16)

void HR_LEVELED(hr__norm_u8_chw_f32)(float *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    if (channels == 3)
        vector_f32(dst, plane, src, n, 3, mean, mul, mirror);
    else if (channels == 1)
        vector_f32(dst, plane, src, n, 1, mean, mul, mirror);
    else
        vector_f32(dst, plane, src, n, channels == 2 ? 2 : 4, mean, mul, mirror);
}

void HR_LEVELED(hr__norm_u8_chw_f16)(uint16_t *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    if (channels == 3)
        vector_f16(dst, plane, src, n, 3, mean, mul, mirror);
    else if (channels == 1)
        vector_f16(dst, plane, src, n, 1, mean, mul, mirror);
    else
        vector_f16(dst, plane, src, n, channels == 2 ? 2 : 4, mean, mul, mirror);
}

#else

void HR_LEVELED(hr__norm_u8_chw_f32)(float *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    planes_f32(dst, plane, src, n, channels, mean, mul, mirror, 0, n);
}

void HR_LEVELED(hr__norm_u8_chw_f16)(uint16_t *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    planes_f16(dst, plane, src, n, channels, mean, mul, mirror, 0, n);
}

#endif

enum { PATTERN = 48 }; /* elements: whole pixels of 1, 2, 3 or 4 channels */

void HR_LEVELED(hr__norm_u8_hwc_f32)(float *dst, int32_t out_channels, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    size_t step = (size_t)channels, out_step = (size_t)out_channels, i = 0;
    if (step == out_step && !mirror) {
        float sub[PATTERN], by[PATTERN];
        for (size_t j = 0; j < PATTERN; j++) {
            sub[j] = mean[j % step];
            by[j] = mul[j % step];
        }
        for (; i + PATTERN / step <= n; i += PATTERN / step) {
            const uint8_t *restrict from = src + i * step;
            float *restrict out = dst + i * step;
            for (size_t j = 0; j < PATTERN; j++)
                out[j] = ((float)from[j] - sub[j]) * by[j];
        }
    }
    for (; i < n; i++) {
        const uint8_t *from = src + (mirror ? n - 1 - i : i) * step;
        float *out = dst + i * out_step;
        for (size_t c = 0; c < step; c++)
            out[c] = ((float)from[c] - mean[c]) * mul[c];
        for (size_t c = step; c < out_step; c++)
            out[c] = 0.0f;
    }
}
