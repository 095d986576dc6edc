/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Converts rows between element types, and reverses rows. */
#include "core/rounding.h"
#include "kernels/half.h"
#include "kernels/level.h"

void HR_LEVELED(hr__u8_to_f32)(float *restrict dst, const uint8_t *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)src[i];
}

void HR_LEVELED(hr__i16_to_f32)(float *restrict dst, const int16_t *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)src[i];
}

void HR_LEVELED(hr__u16_to_f32)(float *restrict dst, const uint16_t *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)src[i];
}

void HR_LEVELED(hr__f32_to_u8)(uint8_t *dst, const float *src, size_t n)
{
    size_t i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    /* round_byte; a NaN as the first operand of the maximum gives 0. */
    const __m256 most = _mm256_set1_ps(255.0f), half = _mm256_set1_ps(ROUND_BELOW_HALF);
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_max_ps(_mm256_loadu_ps(src + i), _mm256_setzero_ps());
        __m256i whole = _mm256_cvttps_epi32(_mm256_add_ps(_mm256_min_ps(v, most), half));
        __m128i pair =
            _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
        _mm_storel_epi64((__m128i *)(dst + i), _mm_packus_epi16(pair, pair));
    }
#endif
    for (; i < n; i++)
        dst[i] = round_byte(src[i]);
}

void HR_LEVELED(hr__f32_to_f16)(uint16_t *dst, const float *src, size_t n)
{
    size_t i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        dst[i] = half_from_float(src[i]);
}

void HR_LEVELED(hr__f16_to_f32)(float *dst, const uint16_t *src, size_t n)
{
    size_t i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
#endif
    for (; i < n; i++)
        dst[i] = half_to_float(src[i]);
}

void HR_LEVELED(hr__mirror_u8)(uint8_t *restrict dst, const uint8_t *restrict src, size_t n,
                               int32_t channels)
{
    size_t step = (size_t)channels, i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    /* Reverses the whole pixels in the 16 bytes that end at pixel n - i. The bytes stored after
     * them are overwritten by the next store. */
    size_t pixels = 16 / step;
    int8_t at[16];
    for (size_t b = 0; b < 16; b++)
        at[b] = (int8_t)(b < pixels * step ? 16 - (b / step + 1) * step + b % step : 0);
    const __m128i order = _mm_loadu_si128((const __m128i *)at);
    for (; (n - i) * step >= 16; i += pixels) {
        __m128i v = _mm_loadu_si128((const __m128i *)(src + (n - i) * step - 16));
        _mm_storeu_si128((__m128i *)(dst + i * step), _mm_shuffle_epi8(v, order));
    }
#endif
    for (; i < n; i++)
        for (size_t c = 0; c < step; c++)
            dst[i * step + c] = src[(n - 1 - i) * step + c];
}
