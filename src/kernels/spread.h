/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Vectors of interleaved u8 pixels: each channel of SPREAD_STEP pixels as a vector of floats.
 * Exactly these pixels are read. HR_SPREAD is defined for the levels that have such vectors. */
#pragma once

#include "kernels/level.h"
#include "kernels/sse2.h"

#include <string.h>

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

#define HR_SPREAD

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
    int32_t channels;
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
    s->channels = channels;
}

/* Plain loads: masked ones from memory that is not in the cache take twice as long. */
static inline __m512i sixteen_pixels(const uint8_t *src, int32_t channels)
{
    if (channels == 1)
        return _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)src));
    if (channels == 4)
        return _mm512_loadu_si512(src);
    __m512i low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)src));
    if (channels == 2)
        return low;
    return _mm512_inserti32x4(low, _mm_loadu_si128((const __m128i *)(src + 32)), 2);
}

static inline hr_pixels_vector load_pixels(const spreader *s, const uint8_t *src)
{
    return _mm512_permutexvar_epi32(s->quads, sixteen_pixels(src, s->channels));
}

static inline hr_floats_vector channel_floats(const spreader *s, hr_pixels_vector pixels, int32_t c)
{
    return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(pixels, s->bytes[c]));
}

#elif defined(HR_LEVEL_v3)

enum { SPREAD_STEP = 8 }; /* pixels */

typedef __m256 hr_floats_vector;
typedef __m256i hr_pixels_vector;

/* A 128-bit lane holds four pixels, loaded with those before or behind them. */
typedef struct spreader {
    __m256i bytes[4];
    size_t low, high; /* byte offsets of what the lanes load */
    bool half;        /* eight pixels have eight bytes */
} spreader;

static inline __attribute__((always_inline)) void spreader_init(spreader *s, int32_t channels,
                                                                int mirror)
{
    const size_t four = 4 * (size_t)channels, loaded = channels == 1 ? 8 : 16;
    const __m128i last = _mm_set1_epi32((int32_t)(loaded - four)); /* where the last four are */
    const __m128i none = _mm_setzero_si128();

    for (int32_t c = 0; c < channels; c++) {
        __m256i each = _mm256_broadcastsi128_si256(spread_positions(channels, c, mirror));
        each = _mm256_add_epi32(each, mirror ? _mm256_set_m128i(none, last)
                                             : _mm256_set_m128i(last, none));
        s->bytes[c] = each;
    }
    s->half = channels == 1;
    s->low = mirror ? 2 * four - loaded : 0;
    s->high = mirror ? 0 : 2 * four - loaded;
}

static inline hr_pixels_vector load_pixels(const spreader *s, const uint8_t *src)
{
    if (s->half)
        return _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)src));
    __m128i low = _mm_loadu_si128((const __m128i *)(src + s->low));
    __m128i high = _mm_loadu_si128((const __m128i *)(src + s->high));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static inline hr_floats_vector channel_floats(const spreader *s, hr_pixels_vector pixels, int32_t c)
{
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, s->bytes[c]));
}

#elif defined(HR_SSE2)

#define HR_SPREAD

enum { SPREAD_STEP = 4 }; /* pixels */

typedef __m128 hr_floats_vector;
typedef __m128i hr_pixels_vector;

typedef struct spreader {
    size_t step; /* bytes of a pixel */
} spreader;

/* For one or three channels, not mirrored. */
static inline __attribute__((always_inline)) void spreader_init(spreader *s, int32_t channels,
                                                                int mirror)
{
    (void)mirror;
    s->step = (size_t)channels;
}

static inline __m128i spread_dword(const uint8_t *src)
{
    int32_t bytes;
    memcpy(&bytes, src, 4);
    return _mm_cvtsi32_si128(bytes);
}

/* A pixel per dword. */
static inline hr_pixels_vector load_pixels(const spreader *s, const uint8_t *src)
{
    if (s->step == 1) {
        __m128i words = _mm_unpacklo_epi8(spread_dword(src), _mm_setzero_si128());
        return _mm_unpacklo_epi16(words, _mm_setzero_si128());
    }
    __m128i first = _mm_unpacklo_epi32(spread_dword(src), spread_dword(src + 3));
    __m128i last = _mm_srli_epi32(spread_dword(src + 8), 8);
    return _mm_unpacklo_epi64(first, _mm_unpacklo_epi32(spread_dword(src + 6), last));
}

static inline hr_floats_vector channel_floats(const spreader *s, hr_pixels_vector pixels, int32_t c)
{
    (void)s;
    __m128i low = _mm_srli_epi32(pixels, 8 * c);
    return _mm_cvtepi32_ps(_mm_and_si128(low, _mm_set1_epi32(255)));
}

#endif
