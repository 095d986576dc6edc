/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The encoder's half of JPEG up to the quantised coefficients, with libjpeg's arithmetic: colours,
 * chroma at half size, the accurate integer DCT. */
#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"
#include "kernels/level.h"
#include "kernels/sse2.h"

#include <string.h>

void HR_LEVELED(hr__jpeg_rgb_ycc)(uint8_t *restrict y, uint8_t *restrict cb, uint8_t *restrict cr,
                                  const uint8_t *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t r = src[3 * i], g = src[3 * i + 1], b = src[3 * i + 2];
        y[i] = (uint8_t)hr_jpeg_luma(r, g, b);
        cb[i] = (uint8_t)hr_jpeg_blue(r, g, b);
        cr[i] = (uint8_t)hr_jpeg_red(r, g, b);
    }
}

void HR_LEVELED(hr__jpeg_half)(uint8_t *restrict dst, const uint8_t *restrict upper,
                               const uint8_t *restrict lower, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t left = (uint16_t)(upper[2 * i] + lower[2 * i]);
        uint16_t right = (uint16_t)(upper[2 * i + 1] + lower[2 * i + 1]);
        uint16_t round = (uint16_t)(1 + (i & 1));
        dst[i] = (uint8_t)((uint16_t)(left + right + round) >> 2);
    }
}

#if defined(HR_SSE2)

/* The eight rows of a block, or, turned, its columns. */
typedef struct block {
    __m128i v[8];
} block;

static inline __m128i pair(int first, int second)
{
    return _mm_set1_epi32((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16));
}

/* Eight sums a * by_a + b * by_b, as 32 bits in two halves. */
typedef struct sums {
    __m128i low, high;
} sums;

static inline sums products(__m128i a, __m128i b, int by_a, int by_b)
{
    return (sums){_mm_madd_epi16(_mm_unpacklo_epi16(a, b), pair(by_a, by_b)),
                  _mm_madd_epi16(_mm_unpackhi_epi16(a, b), pair(by_a, by_b))};
}

static inline sums plus(sums a, sums b)
{
    return (sums){_mm_add_epi32(a.low, b.low), _mm_add_epi32(a.high, b.high)};
}

static inline __m128i rounded(sums s, int shift)
{
    const __m128i half = _mm_set1_epi32(1 << (shift - 1));
    return _mm_packs_epi32(_mm_srai_epi32(_mm_add_epi32(s.low, half), shift),
                           _mm_srai_epi32(_mm_add_epi32(s.high, half), shift));
}

static inline __m128i scaled(__m128i sum, bool last)
{
    const __m128i half = _mm_set1_epi16(1 << (PASS1_BITS - 1));
    return last ? _mm_srai_epi16(_mm_add_epi16(sum, half), PASS1_BITS)
                : _mm_slli_epi16(sum, PASS1_BITS);
}

/* hr_jpeg_fdct_1d of eight columns: no sum of two inputs exceeds 16 bits. */
static inline __attribute__((always_inline)) void fdct(block *b, bool last)
{
    const int shift = last ? CONST_BITS + PASS1_BITS : CONST_BITS - PASS1_BITS;
    __m128i *x = b->v, a[4], d[4];
    for (int i = 0; i < 4; i++) {
        a[i] = _mm_add_epi16(x[i], x[7 - i]);
        d[i] = _mm_sub_epi16(x[i], x[7 - i]);
    }
    __m128i sum = _mm_add_epi16(a[0], a[3]), middle = _mm_add_epi16(a[1], a[2]);
    __m128i c0 = _mm_sub_epi16(a[0], a[3]), c1 = _mm_sub_epi16(a[1], a[2]);
    __m128i z3 = _mm_add_epi16(d[3], d[1]), z4 = _mm_add_epi16(d[2], d[0]);
    sums odd3 = products(z3, z4, ODD_3_3, ODD_3_4), odd4 = products(z3, z4, ODD_4_3, ODD_4_4);
    x[0] = scaled(_mm_add_epi16(sum, middle), last);
    x[4] = scaled(_mm_sub_epi16(sum, middle), last);
    x[2] = rounded(products(c1, c0, EVEN_3_6, EVEN_3_2), shift);
    x[6] = rounded(products(c1, c0, EVEN_2_6, EVEN_2_2), shift);
    x[1] = rounded(plus(products(d[0], d[3], ODD_3_1, ODD_3_7), odd4), shift);
    x[3] = rounded(plus(products(d[1], d[2], ODD_2_3, ODD_2_5), odd3), shift);
    x[5] = rounded(plus(products(d[2], d[1], ODD_1_5, ODD_1_3), odd4), shift);
    x[7] = rounded(plus(products(d[3], d[0], ODD_0_7, ODD_0_1), odd3), shift);
}

static inline __attribute__((always_inline)) void transpose(block *b)
{
    __m128i *x = b->v, t[8];
    for (int step = 0; step < 3; step++) { /* each one turns halves of half the size */
        for (int i = 0; i < 4; i++) {
            t[2 * i] = _mm_unpacklo_epi16(x[i], x[i + 4]);
            t[2 * i + 1] = _mm_unpackhi_epi16(x[i], x[i + 4]);
        }
        for (int i = 0; i < 8; i++)
            x[i] = t[i];
    }
}

static inline void load(block *b, const uint8_t *src, size_t stride)
{
    for (int i = 0; i < 8; i++) {
        __m128i row = _mm_loadl_epi64((const __m128i *)(const void *)(src + (size_t)i * stride));
        b->v[i] =
            _mm_sub_epi16(_mm_unpacklo_epi8(row, _mm_setzero_si128()), _mm_set1_epi16(CENTER));
    }
}

static inline void store(int16_t (*x)[8], const block *b)
{
    for (int i = 0; i < 8; i++)
        _mm_storeu_si128((__m128i *)(void *)x[i], b->v[i]);
}

static inline void transform(int16_t (*x)[8], const uint8_t *src, size_t stride)
{
    block b;
    load(&b, src, stride);
    transpose(&b);
    fdct(&b, false);
    transpose(&b);
    fdct(&b, true);
    store(x, &b);
}

#else

static inline void transform(int16_t (*x)[8], const uint8_t *src, size_t stride)
{
    int32_t v[8][8], column[8];
    for (size_t r = 0; r < 8; r++) {
        for (size_t c = 0; c < 8; c++)
            v[r][c] = src[r * stride + c] - CENTER;
        hr_jpeg_fdct_1d(v[r], false);
    }
    for (int c = 0; c < 8; c++) {
        for (int r = 0; r < 8; r++)
            column[r] = v[r][c];
        hr_jpeg_fdct_1d(column, true);
        for (int r = 0; r < 8; r++)
            x[r][c] = (int16_t)column[r];
    }
}

#endif

/* Rounded half away from zero. The float quotient is exact enough: half a unit is added, so that it
 * is never near an integer. */
static inline void quantise(int16_t *x, const hr_jpeg_quantiser *q)
{
    for (int i = 0; i < 64; i++) {
        int16_t negative = (int16_t)(x[i] >> 15);
        int32_t magnitude = (x[i] ^ negative) - negative;
        int32_t whole = (int32_t)(((float)magnitude + q->half[i]) * q->inverse[i]);
        x[i] = (int16_t)((whole ^ negative) - negative);
    }
}

static inline void weave(int16_t *dst, const int16_t *a, const int16_t *b)
{
    for (int c = 0; c < 8; c++) {
        dst[2 * c] = a[c];
        dst[2 * c + 1] = b[c];
    }
}

void HR_LEVELED(hr__jpeg_fdct)(int16_t *coef, const uint8_t *src, size_t stride,
                               const hr_jpeg_quantiser *q)
{
    int16_t x[8][8];
    transform(x, src, stride);
    quantise(x[0], q);
    memcpy(coef, x[0], sizeof x[0]);
    memcpy(coef + 8, x[4], sizeof x[4]);
    weave(coef + 16, x[1], x[7]);
    weave(coef + 32, x[5], x[3]);
    weave(coef + 48, x[2], x[6]);
}
