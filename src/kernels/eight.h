/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Eight pixels of one or three interleaved channels, from and to a vector of floats per channel.
 * For the levels that have AVX2. */
#pragma once

#include "core/rounding.h"
#include "kernels/level.h"

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Half away from zero, as round_byte, for values that fit 32 bits: packing saturates. */
static inline __m256i eight_whole(__m256 v)
{
    return _mm256_cvttps_epi32(_mm256_add_ps(v, _mm256_set1_ps(ROUND_BELOW_HALF)));
}

/* Writes exactly the pixels, rounded and saturated. `channels`: 1 or 3. */
static inline __attribute__((always_inline)) void eight_store_u8(uint8_t *dst, const __m256 *v,
                                                                 const int32_t channels)
{
    __m256i zero = _mm256_setzero_si256(), first = eight_whole(v[0]);
    __m256i low = _mm256_packs_epi32(first, channels == 3 ? eight_whole(v[1]) : zero);
    __m256i high = channels == 3 ? _mm256_packs_epi32(eight_whole(v[2]), zero) : zero;
    __m256i planes = _mm256_packus_epi16(low, high);
    if (channels == 1) {
        __m128i pixels =
            _mm_unpacklo_epi32(_mm256_castsi256_si128(planes), _mm256_extracti128_si256(planes, 1));
        _mm_storel_epi64((__m128i *)dst, pixels);
        return;
    }
    const __m256i order = _mm256_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1, 0,
                                           4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1);
    const __m256i dwords = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    __m256i pixels = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(planes, order), dwords);
    _mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(pixels));
    _mm_storel_epi64((__m128i *)(dst + 16), _mm256_extracti128_si256(pixels, 1));
}

/* Writes exactly the pixels. `channels`: 1 or 3. */
static inline __attribute__((always_inline)) void eight_store_f32(float *dst, const __m256 *v,
                                                                  const int32_t channels)
{
    if (channels == 1) {
        _mm256_storeu_ps(dst, v[0]);
        return;
    }
    /* In each half: a0 b0 a2 b2, c0 a1 c2 a3, b1 c1 b3 c3. */
    __m256 ab = _mm256_shuffle_ps(v[0], v[1], _MM_SHUFFLE(2, 0, 2, 0));
    __m256 ca = _mm256_shuffle_ps(v[2], v[0], _MM_SHUFFLE(3, 1, 2, 0));
    __m256 bc = _mm256_shuffle_ps(v[1], v[2], _MM_SHUFFLE(3, 1, 3, 1));
    /* In each half: a0 b0 c0 a1, b1 c1 a2 b2, c2 a3 b3 c3. */
    __m256 first = _mm256_shuffle_ps(ab, ca, _MM_SHUFFLE(2, 0, 2, 0));
    __m256 second = _mm256_shuffle_ps(bc, ab, _MM_SHUFFLE(3, 1, 2, 0));
    __m256 third = _mm256_shuffle_ps(ca, bc, _MM_SHUFFLE(3, 1, 3, 1));
    _mm256_storeu_ps(dst, _mm256_permute2f128_ps(first, second, 0x20));
    _mm256_storeu_ps(dst + 8, _mm256_permute2f128_ps(third, first, 0x30));
    _mm256_storeu_ps(dst + 16, _mm256_permute2f128_ps(second, third, 0x31));
}

/* Reads exactly eight pixels of three channels. */
static inline void eight_load_f32(__m256 *v, const float *src)
{
    const __m256 first = _mm256_loadu_ps(src), second = _mm256_loadu_ps(src + 8),
                 third = _mm256_loadu_ps(src + 16);
    /* In each half: a0 b0 c0 a1, b1 c1 a2 b2, c2 a3 b3 c3. */
    const __m256 x = _mm256_permute2f128_ps(first, second, 0x30);
    const __m256 y = _mm256_permute2f128_ps(first, third, 0x21);
    const __m256 z = _mm256_permute2f128_ps(second, third, 0x30);
    /* In each half: a2 b2 a3 b3, b0 c0 b1 c1. */
    const __m256 ab = _mm256_shuffle_ps(y, z, _MM_SHUFFLE(2, 1, 3, 2));
    const __m256 bc = _mm256_shuffle_ps(x, y, _MM_SHUFFLE(1, 0, 2, 1));
    v[0] = _mm256_shuffle_ps(x, ab, _MM_SHUFFLE(2, 0, 3, 0));
    v[1] = _mm256_shuffle_ps(bc, ab, _MM_SHUFFLE(3, 1, 2, 0));
    v[2] = _mm256_shuffle_ps(bc, z, _MM_SHUFFLE(3, 0, 3, 1));
}

#endif
