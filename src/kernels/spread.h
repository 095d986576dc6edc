/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Vectors of interleaved u8 pixels: each channel of SPREAD_STEP pixels as a vector of floats. For
 * the levels that have such vectors. */
#ifndef HR_KERNELS_SPREAD_H
#define HR_KERNELS_SPREAD_H

#include "kernels/level.h"

#include <string.h>

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Shuffle positions that spread channel `c` of four pixels into four dwords; the last pixel first
 * if mirrored. */
#define SPREAD_AT(pixel) (char)((mirror ? 3 - (pixel) : (pixel)) * channels + c)

/* Inlined with constant channels, so that it is a constant. */
static inline __attribute__((always_inline)) __m128i spread_positions(int32_t channels, int32_t c,
                                                                      int mirror)
{
    return _mm_setr_epi8(SPREAD_AT(0), -1, -1, -1, SPREAD_AT(1), -1, -1, -1, SPREAD_AT(2), -1, -1,
                         -1, SPREAD_AT(3), -1, -1, -1);
}

#endif

#if defined(HR_LEVEL_v4)

enum { SPREAD_STEP = 16 }; /* pixels */

typedef __m512 hr_floats_vector;
typedef __m512i hr_pixels_vector;

typedef struct spreader {
    __m512i quads; /* which dwords make the four pixels of each 128-bit lane */
    __m512i bytes[4];
    __mmask16 load; /* the dwords that sixteen pixels have */
} spreader;

static inline __attribute__((always_inline)) void spreader_init(spreader *s, int32_t channels,
                                                                int mirror)
{
    const __m512i lane = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i within = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    __m512i from = mirror ? _mm512_sub_epi32(_mm512_set1_epi32(3), lane) : lane;
    s->quads = _mm512_add_epi32(_mm512_mullo_epi32(from, _mm512_set1_epi32(channels)), within);
    for (int32_t c = 0; c < channels; c++)
        s->bytes[c] = _mm512_broadcast_i32x4(spread_positions(channels, c, mirror));
    s->load = (__mmask16)((1u << (4 * channels)) - 1);
}

static inline hr_pixels_vector load_pixels(const spreader *s, const uint8_t *src)
{
    return _mm512_permutexvar_epi32(s->quads, _mm512_maskz_loadu_epi32(s->load, src));
}

static inline hr_floats_vector channel_floats(const spreader *s, hr_pixels_vector pixels, int32_t c)
{
    return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(pixels, s->bytes[c]));
}

/* Pixels at the end of a source row for which a full load would read beyond the row. */
static inline size_t end_pixels(int32_t channels)
{
    (void)channels;
    return 0;
}

#elif defined(HR_LEVEL_v3)

enum { SPREAD_STEP = 8 }; /* pixels */

typedef __m256 hr_floats_vector;
typedef __m256i hr_pixels_vector;

typedef struct spreader {
    __m256i bytes[4];
    size_t low, high; /* byte offsets of the four pixels of each 128-bit lane */
} spreader;

static inline __attribute__((always_inline)) void spreader_init(spreader *s, int32_t channels,
                                                                int mirror)
{
    for (int32_t c = 0; c < channels; c++)
        s->bytes[c] = _mm256_broadcastsi128_si256(spread_positions(channels, c, mirror));
    s->low = mirror ? 4 * (size_t)channels : 0;
    s->high = mirror ? 0 : 4 * (size_t)channels;
}

static inline hr_pixels_vector load_pixels(const spreader *s, const uint8_t *src)
{
    __m128i low = _mm_loadu_si128((const __m128i *)(src + s->low));
    __m128i high = _mm_loadu_si128((const __m128i *)(src + s->high));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static inline hr_floats_vector channel_floats(const spreader *s, hr_pixels_vector pixels, int32_t c)
{
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, s->bytes[c]));
}

static inline size_t end_pixels(int32_t channels)
{
    return ((size_t)(16 - 4 * channels) + (size_t)channels - 1) / (size_t)channels;
}

#endif
#endif
