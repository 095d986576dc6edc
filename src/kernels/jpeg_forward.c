/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The forward DCT of JPEG and the quantisation, with libjpeg's arithmetic (the accurate integer
 * DCT). Vectors hold a row of one block, or of two blocks next to one another, in their halves. */
#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"
#include "kernels/level.h"
#include "kernels/sse2.h"

#include <string.h>

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

typedef __m256i vec;
#define V(operation) _mm256_##operation
enum { WIDE = 2 };

/* Eight samples of each block; `one`: of the first one, nothing else is read. */
static inline vec widen(const uint8_t *src, bool one)
{
    const __m128i *at = (const __m128i *)(const void *)src;
    return _mm256_cvtepu8_epi16(one ? _mm_loadl_epi64(at) : _mm_loadu_si128(at));
}

#elif defined(HR_SSE2)

typedef __m128i vec;
#define V(operation) _mm_##operation
enum { WIDE = 1 };

static inline vec widen(const uint8_t *src, bool one)
{
    (void)one;
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)src),
                             _mm_setzero_si128());
}

#else

enum { WIDE = 1 };

#endif

#if defined(V)

/* The eight rows of a block, or, turned, its columns. */
typedef struct block {
    vec v[8];
} block;

static inline vec pair(int first, int second)
{
    return V(set1_epi32)((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16));
}

/* Eight sums a * by_a + b * by_b, as 32 bits in two halves. */
typedef struct sums {
    vec low, high;
} sums;

static inline sums products(vec a, vec b, int by_a, int by_b)
{
    return (sums){V(madd_epi16)(V(unpacklo_epi16)(a, b), pair(by_a, by_b)),
                  V(madd_epi16)(V(unpackhi_epi16)(a, b), pair(by_a, by_b))};
}

static inline sums plus(sums a, sums b)
{
    return (sums){V(add_epi32)(a.low, b.low), V(add_epi32)(a.high, b.high)};
}

static inline vec rounded(sums s, int shift)
{
    const vec half = V(set1_epi32)(1 << (shift - 1));
    return V(packs_epi32)(V(srai_epi32)(V(add_epi32)(s.low, half), shift),
                          V(srai_epi32)(V(add_epi32)(s.high, half), shift));
}

static inline vec scaled(vec sum, bool last)
{
    const vec half = V(set1_epi16)(1 << (PASS1_BITS - 1));
    return last ? V(srai_epi16)(V(add_epi16)(sum, half), PASS1_BITS)
                : V(slli_epi16)(sum, PASS1_BITS);
}

/* hr_jpeg_fdct_1d of eight columns: no sum of two inputs exceeds 16 bits. */
static inline __attribute__((always_inline)) void fdct(block *b, bool last)
{
    const int shift = last ? CONST_BITS + PASS1_BITS : CONST_BITS - PASS1_BITS;
    vec *x = b->v, a[4], d[4];
    for (int i = 0; i < 4; i++) {
        a[i] = V(add_epi16)(x[i], x[7 - i]);
        d[i] = V(sub_epi16)(x[i], x[7 - i]);
    }
    vec sum = V(add_epi16)(a[0], a[3]), middle = V(add_epi16)(a[1], a[2]);
    vec c0 = V(sub_epi16)(a[0], a[3]), c1 = V(sub_epi16)(a[1], a[2]);
    vec z3 = V(add_epi16)(d[3], d[1]), z4 = V(add_epi16)(d[2], d[0]);
    sums odd3 = products(z3, z4, ODD_3_3, ODD_3_4), odd4 = products(z3, z4, ODD_4_3, ODD_4_4);
    x[0] = scaled(V(add_epi16)(sum, middle), last);
    x[4] = scaled(V(sub_epi16)(sum, middle), last);
    x[2] = rounded(products(c1, c0, EVEN_3_6, EVEN_3_2), shift);
    x[6] = rounded(products(c1, c0, EVEN_2_6, EVEN_2_2), shift);
    x[1] = rounded(plus(products(d[0], d[3], ODD_3_1, ODD_3_7), odd4), shift);
    x[3] = rounded(plus(products(d[1], d[2], ODD_2_3, ODD_2_5), odd3), shift);
    x[5] = rounded(plus(products(d[2], d[1], ODD_1_5, ODD_1_3), odd4), shift);
    x[7] = rounded(plus(products(d[3], d[0], ODD_0_7, ODD_0_1), odd3), shift);
}

static inline __attribute__((always_inline)) void transpose(block *b)
{
    vec *x = b->v, t[8];
    for (int step = 0; step < 3; step++) { /* each one turns halves of half the size */
        for (int i = 0; i < 4; i++) {
            t[2 * i] = V(unpacklo_epi16)(x[i], x[i + 4]);
            t[2 * i + 1] = V(unpackhi_epi16)(x[i], x[i + 4]);
        }
        for (int i = 0; i < 8; i++)
            x[i] = t[i];
    }
}

static inline __attribute__((always_inline)) void transform(block *b, const uint8_t *src,
                                                            size_t stride, bool one)
{
    for (int i = 0; i < 8; i++)
        b->v[i] = V(sub_epi16)(widen(src + (size_t)i * stride, one), V(set1_epi16)(CENTER));
    transpose(b);
    fdct(b, false);
    transpose(b);
    fdct(b, true);
}

#endif

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* The same eight for each block. */
static inline vec of_row(const uint16_t *table, int row)
{
    const __m128i *at = (const __m128i *)(const void *)(table + 8 * row);
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(at));
}

/* The coefficients of two blocks; `one`: of the first one. */
static inline __attribute__((always_inline)) void
forward(block *b, const uint8_t *src, size_t stride, const hr_jpeg_quantiser *q, bool one)
{
    transform(b, src, stride, one);
    for (int i = 0; i < 8; i++) {
        vec n = _mm256_add_epi16(_mm256_abs_epi16(b->v[i]), of_row(q->half, i));
        n = _mm256_mulhi_epu16(n, of_row(q->factor, i));
        n = _mm256_mulhi_epu16(n, of_row(q->scale, i));
        b->v[i] = _mm256_sign_epi16(n, b->v[i]);
    }
}

static inline void store_one(int16_t *coef, vec v)
{
    _mm_storeu_si128((__m128i *)(void *)coef, _mm256_castsi256_si128(v));
}

static inline void forward_one(int16_t x[64], const uint8_t *src, size_t stride,
                               const hr_jpeg_quantiser *q)
{
    block b;
    forward(&b, src, stride, q, true);
    for (int i = 0; i < 8; i++)
        store_one(x + 8 * i, b.v[i]);
}

#if defined(HR_LEVEL_v4)

/* Half of the coefficients of a block in zigzag order, from four rows of both blocks twice; `at`:
 * where they are in natural order, more for the second block. */
static inline __m512i turned(const __m512i rows[4], __m512i natural, int more)
{
    /* 16 elements of a row, 8 of each block: the position is 16 * row + column */
    __m512i row = _mm512_andnot_si512(_mm512_set1_epi16(7), natural);
    __m512i at = _mm512_add_epi16(_mm512_add_epi16(row, natural), _mm512_set1_epi16((short)more));
    return _mm512_mask_mov_epi16(_mm512_permutex2var_epi16(rows[0], at, rows[1]),
                                 _mm512_cmpgt_epi16_mask(natural, _mm512_set1_epi16(31)),
                                 _mm512_permutex2var_epi16(rows[2], at, rows[3]));
}

static inline void store_turned(int16_t *coef, const block *b)
{
    static const _Alignas(64) int16_t zigzag[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};
    __m512i rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = _mm512_inserti64x4(_mm512_castsi256_si512(b->v[2 * i]), b->v[2 * i + 1], 1);
    for (int i = 0; i < 4; i++) {
        __m512i natural = _mm512_load_si512(zigzag + 32 * (i % 2));
        _mm512_storeu_si512(coef + 32 * i, turned(rows, natural, i / 2 * 8));
    }
}

#else

/* By row: the bytes of a row for the 64 coefficients in zigzag order; -1: from another row. */
#define BYTES(natural, row)                                                                        \
    ((natural) / 8 == (row) ? (natural) % 8 * 2 : -1),                                             \
        ((natural) / 8 == (row) ? (natural) % 8 * 2 + 1 : -1)
#define FROM_0(natural) BYTES(natural, 0)
#define FROM_1(natural) BYTES(natural, 1)
#define FROM_2(natural) BYTES(natural, 2)
#define FROM_3(natural) BYTES(natural, 3)
#define FROM_4(natural) BYTES(natural, 4)
#define FROM_5(natural) BYTES(natural, 5)
#define FROM_6(natural) BYTES(natural, 6)
#define FROM_7(natural) BYTES(natural, 7)

static const int8_t bytes_from[8][128] = {{HR_JPEG_ZIGZAG(FROM_0)}, {HR_JPEG_ZIGZAG(FROM_1)},
                                          {HR_JPEG_ZIGZAG(FROM_2)}, {HR_JPEG_ZIGZAG(FROM_3)},
                                          {HR_JPEG_ZIGZAG(FROM_4)}, {HR_JPEG_ZIGZAG(FROM_5)},
                                          {HR_JPEG_ZIGZAG(FROM_6)}, {HR_JPEG_ZIGZAG(FROM_7)}};

/* Coefficients 8 `part` to 8 `part` + 7 in zigzag order, which are in these rows. */
static inline __attribute__((always_inline)) void store_part(int16_t *coef, const block *b,
                                                             int part, int first, int last)
{
    vec v = _mm256_setzero_si256();
    for (int r = first; r <= last; r++) {
        const __m128i *bytes = (const __m128i *)(const void *)(bytes_from[r] + 16 * part);
        vec turn = _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes));
        v = _mm256_or_si256(v, _mm256_shuffle_epi8(b->v[r], turn));
    }
    store_one(coef + 8 * part, v);
    _mm_storeu_si128((__m128i *)(void *)(coef + 64 + 8 * part), _mm256_extracti128_si256(v, 1));
}

static inline void store_turned(int16_t *coef, const block *b)
{
    store_part(coef, b, 0, 0, 2);
    store_part(coef, b, 1, 0, 4);
    store_part(coef, b, 2, 1, 6);
    store_part(coef, b, 3, 0, 3);
    store_part(coef, b, 4, 4, 7);
    store_part(coef, b, 5, 1, 6);
    store_part(coef, b, 6, 3, 7);
    store_part(coef, b, 7, 5, 7);
}

#endif

static inline void forward_zigzag(int16_t *coef, const uint8_t *src, size_t stride,
                                  const hr_jpeg_quantiser *q)
{
    block b;
    forward(&b, src, stride, q, false);
    store_turned(coef, &b);
}

#else

/* hr_jpeg_quantised, in loops of one product each, which become instructions for 16 bits. */
static inline void quantise(int16_t *restrict x, const hr_jpeg_quantiser *restrict q)
{
    uint16_t n[64];
    for (int i = 0; i < 64; i++)
        n[i] = (uint16_t)((x[i] < 0 ? -x[i] : x[i]) + q->half[i]);
    for (int i = 0; i < 64; i++)
        n[i] = (uint16_t)((uint32_t)n[i] * q->factor[i] >> 16);
    for (int i = 0; i < 64; i++)
        n[i] = (uint16_t)((uint32_t)n[i] * q->scale[i] >> 16);
    for (int i = 0; i < 64; i++)
        x[i] = (int16_t)(x[i] < 0 ? -n[i] : n[i]);
}

static inline void forward_one(int16_t x[64], const uint8_t *src, size_t stride,
                               const hr_jpeg_quantiser *q)
{
#if defined(V)
    block b;
    transform(&b, src, stride, true);
    for (int i = 0; i < 8; i++)
        _mm_storeu_si128((__m128i *)(void *)(x + 8 * i), b.v[i]);
#else
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
            x[8 * r + c] = (int16_t)column[r];
    }
#endif
    quantise(x, q);
}

static inline void forward_zigzag(int16_t *coef, const uint8_t *src, size_t stride,
                                  const hr_jpeg_quantiser *q)
{
    static const uint8_t natural[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};
    int16_t x[64];
    forward_one(x, src, stride, q);
#pragma GCC unroll 64
    for (int i = 0; i < 64; i++)
        coef[i] = x[natural[i]];
}

#endif

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
    int16_t x[64];
    forward_one(x, src, stride, q);
    memcpy(coef, x, 8 * sizeof *x);
    memcpy(coef + 8, x + 32, 8 * sizeof *x);
    weave(coef + 16, x + 8, x + 56);
    weave(coef + 32, x + 40, x + 24);
    weave(coef + 48, x + 16, x + 48);
}

void HR_LEVELED(hr__jpeg_fdct_row)(int16_t *coef, const uint8_t *src, size_t stride,
                                   const hr_jpeg_quantiser *q, size_t n)
{
    for (size_t i = 0; i < n; i += WIDE)
        forward_zigzag(coef + 64 * i, src + 8 * i, stride, q);
}
