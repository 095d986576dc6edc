/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Three planes of bytes become pixels. */
#pragma once

#include "kernels/level.h"

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Where the bytes of pixel i of each plane go in 48 bytes: by part, plane. */
static const int8_t hr_spread[3][3][16] = {
    {{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
     {-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
     {-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1}},
    {{-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
     {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
     {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1}},
    {{-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1},
     {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1},
     {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}}};

/* One of the three parts of 16 pixels in each half. */
static inline __m256i hr_part_of(const int8_t at[3][16], __m256i a, __m256i b, __m256i c)
{
    const __m128i *p = (const __m128i *)(const void *)at;
    __m256i x = _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(_mm_loadu_si128(p)));
    __m256i y = _mm256_shuffle_epi8(b, _mm256_broadcastsi128_si256(_mm_loadu_si128(p + 1)));
    __m256i z = _mm256_shuffle_epi8(c, _mm256_broadcastsi128_si256(_mm_loadu_si128(p + 2)));
    return _mm256_or_si256(_mm256_or_si256(x, y), z);
}

/* 32 pixels of three planes become 96 bytes. */
static inline void hr_store_pixels(uint8_t *dst, __m256i a, __m256i b, __m256i c)
{
    __m256i x = hr_part_of(hr_spread[0], a, b, c), y = hr_part_of(hr_spread[1], a, b, c);
    __m256i z = hr_part_of(hr_spread[2], a, b, c), *out = (__m256i *)(void *)dst;
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(x, y, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(z, x, 0x30));
    _mm256_storeu_si256(out + 2, _mm256_permute2x128_si256(y, z, 0x31));
}

#endif
