/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of pixels as JPEG samples: colours, and chroma at half size, with libjpeg's rounding. */
#include "kernels/jpeg_shared.h"
#include "kernels/level.h"

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Pairs of 16-bit factors. */
static inline __m256i pair(int first, int second)
{
    return _mm256_set1_epi32((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16));
}

/* Eight pixels of 3 bytes; reads 28 bytes. */
static inline __m256i load_8(const uint8_t *src)
{
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)src);
    __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(src + 12));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Red and green, or blue and green, of eight pixels as pairs of 16 bits. */
static inline __m256i pick(__m256i pixels, int first)
{
    const __m128i red = _mm_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1);
    const __m128i blue = _mm_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1);
    return _mm256_shuffle_epi8(pixels, _mm256_broadcastsi128_si256(first == 0 ? red : blue));
}

/* 16 bits of fraction rounded off, of 2 x 8 pixels: as 16 bits, those of each load in turns of four
 * pixels. */
static inline __m256i whole(__m256i low, __m256i high)
{
    return _mm256_packs_epi32(_mm256_srai_epi32(low, 16), _mm256_srai_epi32(high, 16));
}

static inline __m256i luma(__m256i red, __m256i blue)
{
    /* 38470 has 17 bits with its sign: half of it is with red, half with blue */
    __m256i a = _mm256_madd_epi16(red, pair(19595, 19235));
    __m256i b = _mm256_madd_epi16(blue, pair(7471, 38470 - 19235));
    return _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_set1_epi32(HALF));
}

/* One colour times 1/2, less the others times these factors. `own`: of the colour and green. The
 * sum is computed with the other sign, as 1/2 has no place in 16 bits, but -1/2 has. */
static inline __m256i chroma(__m256i own, __m256i other, int by_other, int by_green)
{
    const __m256i round = _mm256_set1_epi32(128 * ONE + HALF - 1);
    __m256i less = _mm256_add_epi32(_mm256_madd_epi16(own, pair(-HALF, by_green)),
                                    _mm256_madd_epi16(other, pair(by_other, 0)));
    return _mm256_sub_epi32(round, less);
}

/* 32 samples from what `whole` makes of four loads. */
static inline void store_32(uint8_t *dst, __m256i first, __m256i second)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_packus_epi16(first, second);
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_permutevar8x32_epi32(bytes, order));
}

static inline void split_32(uint8_t *y, uint8_t *cb, uint8_t *cr, const uint8_t *src)
{
    __m256i l[4], b[4], r[4];
    for (int i = 0; i < 4; i++) {
        __m256i pixels = load_8(src + 24 * i), red = pick(pixels, 0), blue = pick(pixels, 2);
        l[i] = luma(red, blue);
        b[i] = chroma(blue, red, 11059, 21709);
        r[i] = chroma(red, blue, 5329, 27439);
    }
    store_32(y, whole(l[0], l[1]), whole(l[2], l[3]));
    store_32(cb, whole(b[0], b[1]), whole(b[2], b[3]));
    store_32(cr, whole(r[0], r[1]), whole(r[2], r[3]));
}

#endif

void HR_LEVELED(hr__jpeg_rgb_ycc)(uint8_t *restrict y, uint8_t *restrict cb, uint8_t *restrict cr,
                                  const uint8_t *restrict src, size_t n)
{
    size_t i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    for (; i + 34 <= n; i += 32) /* 100 bytes are read */
        split_32(y + i, cb + i, cr + i, src + 3 * i);
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
