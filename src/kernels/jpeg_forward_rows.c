/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of pixels as JPEG samples: colours, and chroma at half size, with libjpeg's rounding. */
#include "kernels/jpeg_shared.h"
#include "kernels/level.h"
#include "kernels/sse2.h"

#include <string.h>

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

typedef __m256i vec;
#define V(operation) _mm256_##operation
enum { PIXELS = 8 };

/* Pixels of 3 bytes, four in each half; reads 4 bytes more. */
static inline vec load_pixels(const uint8_t *src)
{
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)src);
    __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(src + 12));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Red and green of each pixel as a pair of 16 bits. */
static inline vec pick_red(vec pixels)
{
    const __m128i bytes = _mm_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1);
    return _mm256_shuffle_epi8(pixels, _mm256_broadcastsi128_si256(bytes));
}

/* Blue and green. */
static inline vec pick_blue(vec pixels)
{
    const __m128i bytes = _mm_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1);
    return _mm256_shuffle_epi8(pixels, _mm256_broadcastsi128_si256(bytes));
}

/* Stores what `whole` makes of four vectors of pixels. */
static inline void store_samples(uint8_t *dst, vec first, vec second)
{
    const vec order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    vec bytes = _mm256_packus_epi16(first, second);
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_permutevar8x32_epi32(bytes, order));
}

#elif defined(__SSE2__)

typedef __m128i vec;
#define V(operation) _mm_##operation
enum { PIXELS = 4 };

static inline int load_32(const uint8_t *src)
{
    int v;
    memcpy(&v, src, 4);
    return v;
}

/* Pixels of 3 bytes and one more, so a byte more is read. */
static inline vec load_pixels(const uint8_t *src)
{
    return _mm_setr_epi32(load_32(src), load_32(src + 3), load_32(src + 6), load_32(src + 9));
}

static inline vec pick_green(vec pixels)
{
    return _mm_and_si128(_mm_slli_epi32(pixels, 8), _mm_set1_epi32(0xFF0000));
}

/* Red and green of each pixel as a pair of 16 bits. */
static inline vec pick_red(vec pixels)
{
    return _mm_or_si128(_mm_and_si128(pixels, _mm_set1_epi32(0xFF)), pick_green(pixels));
}

/* Blue and green. */
static inline vec pick_blue(vec pixels)
{
    vec blue = _mm_and_si128(_mm_srli_epi32(pixels, 16), _mm_set1_epi32(0xFF));
    return _mm_or_si128(blue, pick_green(pixels));
}

/* Stores what `whole` makes of four vectors of pixels. */
static inline void store_samples(uint8_t *dst, vec first, vec second)
{
    _mm_storeu_si128((__m128i *)(void *)dst, _mm_packus_epi16(first, second));
}

#endif

#if defined(V)

/* Pairs of 16-bit factors. */
static inline vec pair(int first, int second)
{
    return V(set1_epi32)((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16));
}

/* 16 bits of fraction rounded off. */
static inline vec whole(vec low, vec high)
{
    return V(packs_epi32)(V(srai_epi32)(low, 16), V(srai_epi32)(high, 16));
}

static inline vec luma(vec red, vec blue)
{
    /* 38470 has 17 bits with its sign: half of it is with red, half with blue */
    vec a = V(madd_epi16)(red, pair(19595, 19235));
    vec b = V(madd_epi16)(blue, pair(7471, 38470 - 19235));
    return V(add_epi32)(V(add_epi32)(a, b), V(set1_epi32)(HALF));
}

/* One colour times 1/2, less the others times these factors. `own`: of the colour and green. The
 * sum is computed with the other sign, as 1/2 has no place in 16 bits, but -1/2 has. */
static inline vec chroma(vec own, vec other, int by_other, int by_green)
{
    const vec round = V(set1_epi32)(128 * ONE + HALF - 1);
    vec less = V(add_epi32)(V(madd_epi16)(own, pair(-HALF, by_green)),
                            V(madd_epi16)(other, pair(by_other, 0)));
    return V(sub_epi32)(round, less);
}

/* Two vectors of pixels. */
static inline void split_two(vec ycc[3], const uint8_t *src)
{
    vec low = load_pixels(src), high = load_pixels(src + 3 * PIXELS);
    vec red[2] = {pick_red(low), pick_red(high)}, blue[2] = {pick_blue(low), pick_blue(high)};
    ycc[0] = whole(luma(red[0], blue[0]), luma(red[1], blue[1]));
    ycc[1] = whole(chroma(blue[0], red[0], 11059, 21709), chroma(blue[1], red[1], 11059, 21709));
    ycc[2] = whole(chroma(red[0], blue[0], 5329, 27439), chroma(red[1], blue[1], 5329, 27439));
}

static inline void split(uint8_t *y, uint8_t *cb, uint8_t *cr, const uint8_t *src)
{
    vec first[3], second[3];
    split_two(first, src);
    split_two(second, src + 6 * PIXELS);
    store_samples(y, first[0], second[0]);
    store_samples(cb, first[1], second[1]);
    store_samples(cr, first[2], second[2]);
}

#endif

void HR_LEVELED(hr__jpeg_rgb_ycc)(uint8_t *restrict y, uint8_t *restrict cb, uint8_t *restrict cr,
                                  const uint8_t *restrict src, size_t n)
{
    size_t i = 0;
#if defined(V)
    for (; i + 4 * PIXELS + 2 <= n; i += 4 * PIXELS) /* at most 4 bytes more are read */
        split(y + i, cb + i, cr + i, src + 3 * i);
#endif
    for (; i < n; i++) {
        int32_t r = src[3 * i], g = src[3 * i + 1], b = src[3 * i + 2];
        y[i] = (uint8_t)hr_jpeg_luma(r, g, b);
        cb[i] = (uint8_t)hr_jpeg_blue(r, g, b);
        cr[i] = (uint8_t)hr_jpeg_red(r, g, b);
    }
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Sums of two samples next to each other, 16 of them. */
static inline __m256i pairs(const uint8_t *src)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)src);
    return _mm256_maddubs_epi16(v, _mm256_set1_epi8(1));
}

/* Rounded down and up in turn; 32 means of 16 sums each. */
static inline void store_means(uint8_t *dst, __m256i low, __m256i high, int shift)
{
    const __m256i round = pair(shift - 1, shift);
    low = _mm256_srli_epi16(_mm256_add_epi16(low, round), shift);
    high = _mm256_srli_epi16(_mm256_add_epi16(high, round), shift);
    __m256i turns = _mm256_packus_epi16(low, high);
    _mm256_storeu_si256((__m256i *)(void *)dst,
                        _mm256_permute4x64_epi64(turns, _MM_SHUFFLE(3, 1, 2, 0)));
}

#endif

void HR_LEVELED(hr__jpeg_half)(uint8_t *restrict dst, const uint8_t *restrict upper,
                               const uint8_t *restrict lower, size_t n)
{
    size_t i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    for (; i + 32 <= n; i += 32)
        store_means(dst + i, _mm256_add_epi16(pairs(upper + 2 * i), pairs(lower + 2 * i)),
                    _mm256_add_epi16(pairs(upper + 2 * i + 32), pairs(lower + 2 * i + 32)), 2);
#endif
    for (; i < n; i++) {
        uint16_t left = (uint16_t)(upper[2 * i] + lower[2 * i]);
        uint16_t right = (uint16_t)(upper[2 * i + 1] + lower[2 * i + 1]);
        uint16_t round = (uint16_t)(1 + (i & 1));
        dst[i] = (uint8_t)((uint16_t)(left + right + round) >> 2);
    }
}

void HR_LEVELED(hr__jpeg_half_across)(uint8_t *restrict dst, const uint8_t *restrict src, size_t n)
{
    size_t i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    for (; i + 32 <= n; i += 32)
        store_means(dst + i, pairs(src + 2 * i), pairs(src + 2 * i + 32), 1);
#endif
    for (; i < n; i++) {
        uint16_t both = (uint16_t)(src[2 * i] + src[2 * i + 1]);
        dst[i] = (uint8_t)((uint16_t)(both + (i & 1)) >> 1);
    }
}
