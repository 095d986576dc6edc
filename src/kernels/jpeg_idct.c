/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The accurate integer inverse DCT, with the arithmetic that libjpeg-turbo has on x86-64: products
 * and sums of two inputs wrap at 16 bits, what a pass gives saturates to 16 bits, unless only the
 * first row is there: then it wraps. Real images never come near these limits. */
#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"
#include "kernels/level.h"
#include "kernels/sse2.h"

#include <string.h>

static inline uint8_t sample(int16_t v)
{
    return (uint8_t)((v < -CENTER ? -CENTER : v > CENTER - 1 ? CENTER - 1 : v) + CENTER);
}

static inline int16_t scaled(int16_t coef, int16_t quant)
{
    return (int16_t)((uint32_t)coef * (uint32_t)quant);
}

static inline int16_t coef_at(const hr_jpeg_coefs *b, int at)
{
    int16_t v = b->coef[at];
    return (int16_t)(v + (b->ones_complement && v < 0 && at > 0));
}

static inline int16_t first_row(const hr_jpeg_coefs *b, int c)
{
    return (int16_t)((uint32_t)scaled(coef_at(b, c), b->quant[c]) << PASS1_BITS);
}

static inline void idct_row(uint8_t *dst, int32_t v[8])
{
    hr_jpeg_idct_1d(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7,
                    CONST_BITS + PASS1_BITS + 3);
    for (int i = 0; i < 8; i++)
        dst[i] = sample((int16_t)v[i]);
}

/* Only DC: every sample is the same. */
static inline void idct_dc(const hr_jpeg_coefs *b)
{
    int v = (first_row(b, 0) + (1 << (PASS1_BITS + 2))) >> (PASS1_BITS + 3);
    uint64_t eight = 0x0101010101010101u * sample((int16_t)v);
    for (int y = 0; y < 8; y++)
        memcpy(b->dst + (size_t)y * b->stride, &eight, 8);
}

/* Only the first row of coefficients: all rows of samples are the same. */
static inline void idct_flat(const hr_jpeg_coefs *b)
{
    int32_t row[8];
    for (int c = 0; c < 8; c++)
        row[c] = first_row(b, c);
    idct_row(b->dst, row);
    for (int y = 1; y < 8; y++)
        memcpy(b->dst + (size_t)y * b->stride, b->dst, 8);
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

static inline __m256i pair(int first, int second)
{
    return _mm256_set1_epi32((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16));
}

/* One dimension of all eight columns. Inputs 0 and 4 in two halves, the others interleaved in
 * pairs, columns 0-3 in the lower half; outputs as 32 bits. */
static inline __attribute__((always_inline)) void idct_8(__m256i out[8], __m256i v04, __m256i v17,
                                                         __m256i v53, __m256i v26, int shift)
{
    __m128i v0 = _mm256_castsi256_si128(v04), v4 = _mm256_extracti128_si256(v04, 1);
    __m256i round = _mm256_set1_epi32(1 << (shift - 1));
    __m256i even0 = _mm256_cvtepi16_epi32(_mm_add_epi16(v0, v4));
    __m256i even1 = _mm256_cvtepi16_epi32(_mm_sub_epi16(v0, v4));
    even0 = _mm256_add_epi32(_mm256_slli_epi32(even0, CONST_BITS), round);
    even1 = _mm256_add_epi32(_mm256_slli_epi32(even1, CONST_BITS), round);
    __m256i even2 = _mm256_madd_epi16(v26, pair(EVEN_2_2, EVEN_2_6));
    __m256i even3 = _mm256_madd_epi16(v26, pair(EVEN_3_2, EVEN_3_6));
    __m256i z43 = _mm256_add_epi16(v17, v53);
    __m256i odd3 = _mm256_madd_epi16(z43, pair(ODD_3_4, ODD_3_3));
    __m256i odd4 = _mm256_madd_epi16(z43, pair(ODD_4_4, ODD_4_3));
    __m256i even[4] = {_mm256_add_epi32(even0, even3), _mm256_add_epi32(even1, even2),
                       _mm256_sub_epi32(even1, even2), _mm256_sub_epi32(even0, even3)};
    __m256i odd[4] = {
        _mm256_add_epi32(_mm256_madd_epi16(v17, pair(ODD_3_1, ODD_3_7)), odd4),
        _mm256_add_epi32(_mm256_madd_epi16(v53, pair(ODD_2_5, ODD_2_3)), odd3),
        _mm256_add_epi32(_mm256_madd_epi16(v53, pair(ODD_1_5, ODD_1_3)), odd4),
        _mm256_add_epi32(_mm256_madd_epi16(v17, pair(ODD_0_1, ODD_0_7)), odd3),
    };
    for (int i = 0; i < 4; i++) {
        out[i] = _mm256_srai_epi32(_mm256_add_epi32(even[i], odd[i]), shift);
        out[7 - i] = _mm256_srai_epi32(_mm256_sub_epi32(even[i], odd[i]), shift);
    }
}

/* Outputs of the columns become inputs of the rows: columns c and c + 4 share a vector. */
static inline void transpose(__m256i v[4], const __m256i in[8])
{
    __m256i p04 = _mm256_packs_epi32(in[0], in[4]), p15 = _mm256_packs_epi32(in[1], in[5]);
    __m256i p26 = _mm256_packs_epi32(in[2], in[6]), p37 = _mm256_packs_epi32(in[3], in[7]);
    __m256i r01 = _mm256_unpacklo_epi16(p04, p15), r45 = _mm256_unpackhi_epi16(p04, p15);
    __m256i r23 = _mm256_unpacklo_epi16(p26, p37), r67 = _mm256_unpackhi_epi16(p26, p37);
    __m256i a = _mm256_unpacklo_epi32(r01, r23), b = _mm256_unpacklo_epi32(r45, r67);
    __m256i c = _mm256_unpackhi_epi32(r01, r23), d = _mm256_unpackhi_epi32(r45, r67);
    v[0] = _mm256_unpacklo_epi64(a, b);
    v[1] = _mm256_unpackhi_epi64(a, b);
    v[2] = _mm256_unpacklo_epi64(c, d);
    v[3] = _mm256_unpackhi_epi64(c, d);
}

static inline void store_rows(uint8_t *dst, size_t stride, const __m256i out[8])
{
    const __m256i turn = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0,
                                          4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i center = _mm256_set1_epi8((char)CENTER);
    __m256i a =
        _mm256_packs_epi16(_mm256_packs_epi32(out[0], out[1]), _mm256_packs_epi32(out[2], out[3]));
    __m256i b =
        _mm256_packs_epi16(_mm256_packs_epi32(out[4], out[5]), _mm256_packs_epi32(out[6], out[7]));
    a = _mm256_shuffle_epi8(_mm256_add_epi8(a, center), turn);
    b = _mm256_shuffle_epi8(_mm256_add_epi8(b, center), turn);
    __m256i r0145 = _mm256_unpacklo_epi32(a, b), r2367 = _mm256_unpackhi_epi32(a, b);
    const __m128i rows[4] = {_mm256_castsi256_si128(r0145), _mm256_castsi256_si128(r2367),
                             _mm256_extracti128_si256(r0145, 1),
                             _mm256_extracti128_si256(r2367, 1)};
    for (int i = 0; i < 4; i++) {
        _mm_storel_epi64((__m128i *)dst, rows[i]);
        _mm_storeh_pd((double *)(void *)(dst + stride), _mm_castsi128_pd(rows[i]));
        dst += 2 * stride;
    }
}

static inline void idct(const hr_jpeg_coefs *b)
{
    if (b->last == 0) {
        idct_dc(b);
        return;
    }
    const __m256i *in = (const __m256i *)(const void *)b->coef;
    const __m256i *by = (const __m256i *)(const void *)b->quant;
    /* no array that is copied in a loop: gcc makes 16-byte moves through memory of it */
    __m256i v04 = _mm256_load_si256(in), v17 = _mm256_load_si256(in + 1);
    __m256i v53 = _mm256_load_si256(in + 2), v26 = _mm256_load_si256(in + 3);
    __m256i v[4], out[8], below = _mm256_or_si256(_mm256_or_si256(v17, v53), v26);
    below = _mm256_or_si256(below, _mm256_permute2x128_si256(v04, v04, 0x81));
    if (_mm256_testz_si256(below, below)) {
        idct_flat(b);
        return;
    }
    if (b->ones_complement) {
        const __m256i but_first =
            _mm256_setr_epi16(0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        v04 = _mm256_sub_epi16(v04, _mm256_and_si256(_mm256_srai_epi16(v04, 15), but_first));
        v17 = _mm256_sub_epi16(v17, _mm256_srai_epi16(v17, 15));
        v53 = _mm256_sub_epi16(v53, _mm256_srai_epi16(v53, 15));
        v26 = _mm256_sub_epi16(v26, _mm256_srai_epi16(v26, 15));
    }
    v04 = _mm256_mullo_epi16(v04, _mm256_load_si256(by));
    v17 = _mm256_mullo_epi16(v17, _mm256_load_si256(by + 1));
    v53 = _mm256_mullo_epi16(v53, _mm256_load_si256(by + 2));
    v26 = _mm256_mullo_epi16(v26, _mm256_load_si256(by + 3));
    idct_8(out, v04, v17, v53, v26, CONST_BITS - PASS1_BITS);
    transpose(v, out);
    const __m256i interleave =
        _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0, 1, 8, 9, 2, 3, 10,
                         11, 4, 5, 12, 13, 6, 7, 14, 15);
    __m256i y15 = _mm256_permute4x64_epi64(v[1], _MM_SHUFFLE(3, 1, 2, 0));
    __m256i y26 = _mm256_permute4x64_epi64(v[2], _MM_SHUFFLE(3, 1, 2, 0));
    __m256i y73 = _mm256_permute4x64_epi64(v[3], _MM_SHUFFLE(1, 3, 0, 2));
    idct_8(out, v[0], _mm256_unpacklo_epi16(y15, y73), _mm256_unpackhi_epi16(y15, y73),
           _mm256_shuffle_epi8(y26, interleave), CONST_BITS + PASS1_BITS + 3);
    store_rows(b->dst, b->stride, out);
}

#elif defined(HR_SSE2)

static inline __m128i pair(int first, int second)
{
    return _mm_set1_epi32((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16));
}

/* One dimension of four columns: 0 + 4 and 0 - 4 in the upper halves of 32 bits, the others
 * interleaved in pairs. */
static inline __attribute__((always_inline)) void idct_4(__m128i out[8], __m128i sum,
                                                         __m128i difference, __m128i v17,
                                                         __m128i v53, __m128i v26, int shift)
{
    __m128i round = _mm_set1_epi32(1 << (shift - 1));
    __m128i even0 = _mm_add_epi32(_mm_srai_epi32(sum, 16 - CONST_BITS), round);
    __m128i even1 = _mm_add_epi32(_mm_srai_epi32(difference, 16 - CONST_BITS), round);
    __m128i even2 = _mm_madd_epi16(v26, pair(EVEN_2_2, EVEN_2_6));
    __m128i even3 = _mm_madd_epi16(v26, pair(EVEN_3_2, EVEN_3_6));
    __m128i z43 = _mm_add_epi16(v17, v53);
    __m128i odd3 = _mm_madd_epi16(z43, pair(ODD_3_4, ODD_3_3));
    __m128i odd4 = _mm_madd_epi16(z43, pair(ODD_4_4, ODD_4_3));
    __m128i even[4] = {_mm_add_epi32(even0, even3), _mm_add_epi32(even1, even2),
                       _mm_sub_epi32(even1, even2), _mm_sub_epi32(even0, even3)};
    __m128i odd[4] = {_mm_add_epi32(_mm_madd_epi16(v17, pair(ODD_3_1, ODD_3_7)), odd4),
                      _mm_add_epi32(_mm_madd_epi16(v53, pair(ODD_2_5, ODD_2_3)), odd3),
                      _mm_add_epi32(_mm_madd_epi16(v53, pair(ODD_1_5, ODD_1_3)), odd4),
                      _mm_add_epi32(_mm_madd_epi16(v17, pair(ODD_0_1, ODD_0_7)), odd3)};
    for (int i = 0; i < 4; i++) {
        out[i] = _mm_srai_epi32(_mm_add_epi32(even[i], odd[i]), shift);
        out[7 - i] = _mm_srai_epi32(_mm_sub_epi32(even[i], odd[i]), shift);
    }
}

/* Eight columns; pairs as two halves each. The output is turned: out[c] holds column c. */
static inline __attribute__((always_inline)) void idct_8(__m128i out[8], __m128i v0, __m128i v4,
                                                         const __m128i v17[2], const __m128i v53[2],
                                                         const __m128i v26[2], int shift)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i sum = _mm_add_epi16(v0, v4), difference = _mm_sub_epi16(v0, v4);
    __m128i low[8], high[8], a[8], b[8];
    idct_4(low, _mm_unpacklo_epi16(zero, sum), _mm_unpacklo_epi16(zero, difference), v17[0], v53[0],
           v26[0], shift);
    idct_4(high, _mm_unpackhi_epi16(zero, sum), _mm_unpackhi_epi16(zero, difference), v17[1],
           v53[1], v26[1], shift);
    for (int i = 0; i < 8; i++)
        a[i] = _mm_packs_epi32(low[i], high[i]);
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) { /* rows 4 i to 4 i + 3, columns 0-1, 2-3, 4-5, 6-7 */
        a[4 * i] = _mm_unpacklo_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 1] = _mm_unpackhi_epi32(b[4 * i], b[4 * i + 2]);
        a[4 * i + 2] = _mm_unpacklo_epi32(b[4 * i + 1], b[4 * i + 3]);
        a[4 * i + 3] = _mm_unpackhi_epi32(b[4 * i + 1], b[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        out[2 * i] = _mm_unpacklo_epi64(a[i], a[4 + i]);
        out[2 * i + 1] = _mm_unpackhi_epi64(a[i], a[4 + i]);
    }
}

/* Two rows of samples. */
static inline void store_two(uint8_t *dst, size_t stride, __m128i first, __m128i second)
{
    __m128i v = _mm_add_epi8(_mm_packs_epi16(first, second), _mm_set1_epi8((char)CENTER));
    _mm_storel_epi64((__m128i *)(void *)dst, v);
    _mm_storel_epi64((__m128i *)(void *)(dst + stride), _mm_unpackhi_epi64(v, v));
}

static inline void idct(const hr_jpeg_coefs *b)
{
    const __m128i *in = (const __m128i *)(const void *)b->coef;
    const __m128i *by = (const __m128i *)(const void *)b->quant;
    if (b->last == 0) {
        idct_dc(b);
        return;
    }
    __m128i below = in[1], v[8], x[8];
    for (int i = 2; i < 8; i++)
        below = _mm_or_si128(below, in[i]);
    if (hr_bytes_zero(below)) {
        idct_flat(b);
        return;
    }
    __m128i all = _mm_set1_epi16((int16_t)-b->ones_complement), less = _mm_insert_epi16(all, 0, 0);
    for (int i = 0; i < 8; i++) {
        less = _mm_and_si128(_mm_srai_epi16(in[i], 15), i == 0 ? less : all);
        v[i] = _mm_mullo_epi16(_mm_sub_epi16(in[i], less), by[i]);
    }
    idct_8(x, v[0], v[1], v + 2, v + 4, v + 6, CONST_BITS - PASS1_BITS);
    const __m128i v17[2] = {_mm_unpacklo_epi16(x[1], x[7]), _mm_unpackhi_epi16(x[1], x[7])};
    const __m128i v53[2] = {_mm_unpacklo_epi16(x[5], x[3]), _mm_unpackhi_epi16(x[5], x[3])};
    const __m128i v26[2] = {_mm_unpacklo_epi16(x[2], x[6]), _mm_unpackhi_epi16(x[2], x[6])};
    idct_8(v, x[0], x[4], v17, v53, v26, CONST_BITS + PASS1_BITS + 3);
    for (size_t i = 0; i < 4; i++)
        store_two(b->dst + 2 * i * b->stride, b->stride, v[2 * i], v[2 * i + 1]);
}

#else

static inline void idct(const hr_jpeg_coefs *b)
{
    int32_t v[64], below = 0;
    if (b->last == 0) {
        idct_dc(b);
        return;
    }
    for (int i = 8; i < 64; i++)
        below |= b->coef[i];
    if (below == 0) {
        idct_flat(b);
        return;
    }
    for (int c = 0; c < 8; c++) {
        for (int r = 0; r < 8; r++)
            v[8 * r + c] =
                scaled(coef_at(b, HR_JPEG_POSITION(r, c)), b->quant[HR_JPEG_POSITION(r, c)]);
        hr_jpeg_idct_1d(v + c, v + c + 8, v + c + 16, v + c + 24, v + c + 32, v + c + 40,
                        v + c + 48, v + c + 56, CONST_BITS - PASS1_BITS);
    }
    for (int r = 0; r < 8; r++)
        idct_row(b->dst + (size_t)r * b->stride, v + 8 * r);
}

#endif

void HR_LEVELED(hr__jpeg_idct)(const hr_jpeg_coefs *b)
{
    idct(b);
}

#if !defined(HR_LEVEL_v4)

void HR_LEVELED(hr__jpeg_idct_two)(const hr_jpeg_coefs *blocks)
{
    HR_LEVELED(hr__jpeg_idct)(&blocks[0]);
    HR_LEVELED(hr__jpeg_idct)(&blocks[1]);
}

#else

/* Two blocks: the first one in the lower halves of all vectors, the second one above it. */

static inline __m512i pair_512(int first, int second)
{
    return _mm512_set1_epi32((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16));
}

/* idct_8 twice. */
static inline __attribute__((always_inline)) void idct_16(__m512i out[8], __m512i v04, __m512i v17,
                                                          __m512i v53, __m512i v26, int shift)
{
    __m256i v0 = _mm512_castsi512_si256(_mm512_shuffle_i64x2(v04, v04, _MM_SHUFFLE(2, 0, 2, 0)));
    __m256i v4 = _mm512_castsi512_si256(_mm512_shuffle_i64x2(v04, v04, _MM_SHUFFLE(3, 1, 3, 1)));
    __m512i round = _mm512_set1_epi32(1 << (shift - 1));
    __m512i even0 = _mm512_cvtepi16_epi32(_mm256_add_epi16(v0, v4));
    __m512i even1 = _mm512_cvtepi16_epi32(_mm256_sub_epi16(v0, v4));
    even0 = _mm512_add_epi32(_mm512_slli_epi32(even0, CONST_BITS), round);
    even1 = _mm512_add_epi32(_mm512_slli_epi32(even1, CONST_BITS), round);
    __m512i even2 = _mm512_madd_epi16(v26, pair_512(EVEN_2_2, EVEN_2_6));
    __m512i even3 = _mm512_madd_epi16(v26, pair_512(EVEN_3_2, EVEN_3_6));
    __m512i z43 = _mm512_add_epi16(v17, v53);
    __m512i odd3 = _mm512_madd_epi16(z43, pair_512(ODD_3_4, ODD_3_3));
    __m512i odd4 = _mm512_madd_epi16(z43, pair_512(ODD_4_4, ODD_4_3));
    __m512i even[4] = {_mm512_add_epi32(even0, even3), _mm512_add_epi32(even1, even2),
                       _mm512_sub_epi32(even1, even2), _mm512_sub_epi32(even0, even3)};
    __m512i odd[4] = {
        _mm512_add_epi32(_mm512_madd_epi16(v17, pair_512(ODD_3_1, ODD_3_7)), odd4),
        _mm512_add_epi32(_mm512_madd_epi16(v53, pair_512(ODD_2_5, ODD_2_3)), odd3),
        _mm512_add_epi32(_mm512_madd_epi16(v53, pair_512(ODD_1_5, ODD_1_3)), odd4),
        _mm512_add_epi32(_mm512_madd_epi16(v17, pair_512(ODD_0_1, ODD_0_7)), odd3),
    };
    for (int i = 0; i < 4; i++) {
        out[i] = _mm512_srai_epi32(_mm512_add_epi32(even[i], odd[i]), (unsigned)shift);
        out[7 - i] = _mm512_srai_epi32(_mm512_sub_epi32(even[i], odd[i]), (unsigned)shift);
    }
}

static inline void transpose_512(__m512i v[4], const __m512i in[8])
{
    __m512i p04 = _mm512_packs_epi32(in[0], in[4]), p15 = _mm512_packs_epi32(in[1], in[5]);
    __m512i p26 = _mm512_packs_epi32(in[2], in[6]), p37 = _mm512_packs_epi32(in[3], in[7]);
    __m512i r01 = _mm512_unpacklo_epi16(p04, p15), r45 = _mm512_unpackhi_epi16(p04, p15);
    __m512i r23 = _mm512_unpacklo_epi16(p26, p37), r67 = _mm512_unpackhi_epi16(p26, p37);
    __m512i a = _mm512_unpacklo_epi32(r01, r23), b = _mm512_unpacklo_epi32(r45, r67);
    __m512i c = _mm512_unpackhi_epi32(r01, r23), d = _mm512_unpackhi_epi32(r45, r67);
    v[0] = _mm512_unpacklo_epi64(a, b);
    v[1] = _mm512_unpackhi_epi64(a, b);
    v[2] = _mm512_unpacklo_epi64(c, d);
    v[3] = _mm512_unpackhi_epi64(c, d);
}

/* Rows 0, 1, then 2, 3, 4, 5, 6, 7 in the quarters. */
static inline void store_quarters(uint8_t *dst, size_t stride, __m256i r0145, __m256i r2367)
{
    const __m128i rows[4] = {_mm256_castsi256_si128(r0145), _mm256_castsi256_si128(r2367),
                             _mm256_extracti128_si256(r0145, 1),
                             _mm256_extracti128_si256(r2367, 1)};
    for (int i = 0; i < 4; i++) {
        _mm_storel_epi64((__m128i *)dst, rows[i]);
        _mm_storeh_pd((double *)(void *)(dst + stride), _mm_castsi128_pd(rows[i]));
        dst += 2 * stride;
    }
}

static inline void store_blocks(const hr_jpeg_coefs blocks[2], const __m512i out[8])
{
    const __m512i turn =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i center = _mm512_set1_epi8((char)CENTER);
    __m512i a =
        _mm512_packs_epi16(_mm512_packs_epi32(out[0], out[1]), _mm512_packs_epi32(out[2], out[3]));
    __m512i b =
        _mm512_packs_epi16(_mm512_packs_epi32(out[4], out[5]), _mm512_packs_epi32(out[6], out[7]));
    a = _mm512_shuffle_epi8(_mm512_add_epi8(a, center), turn);
    b = _mm512_shuffle_epi8(_mm512_add_epi8(b, center), turn);
    __m512i r0145 = _mm512_unpacklo_epi32(a, b), r2367 = _mm512_unpackhi_epi32(a, b);
    store_quarters(blocks[0].dst, blocks[0].stride, _mm512_castsi512_si256(r0145),
                   _mm512_castsi512_si256(r2367));
    store_quarters(blocks[1].dst, blocks[1].stride, _mm512_extracti64x4_epi64(r0145, 1),
                   _mm512_extracti64x4_epi64(r2367, 1));
}

static inline __m512i load_two(const int16_t *a, const int16_t *b, int at)
{
    __m256i low = _mm256_load_si256((const __m256i *)(const void *)a + at);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low),
                              _mm256_load_si256((const __m256i *)(const void *)b + at), 1);
}

void HR_LEVELED(hr__jpeg_idct_two)(const hr_jpeg_coefs *blocks)
{
    const int16_t *a = blocks[0].coef, *b = blocks[1].coef;
    const int16_t *by_a = blocks[0].quant, *by_b = blocks[1].quant;
    __m512i v04 = load_two(a, b, 0), v17 = load_two(a, b, 1), v[4], out[8];
    __m512i v53 = load_two(a, b, 2), v26 = load_two(a, b, 3);
    /* places of which one is not zero, but for the first rows: 64-bit lanes 0, 1, 4, 5 of v04 */
    __m512i below = _mm512_or_si512(_mm512_or_si512(v17, v53), v26);
    below = _mm512_mask_or_epi64(below, 0xCC, below, v04);
    uint32_t full = _mm512_test_epi64_mask(below, below);
    if ((full & 0x0F) == 0 || (full & 0xF0) == 0) {
        HR_LEVELED(hr__jpeg_idct)(&blocks[0]);
        HR_LEVELED(hr__jpeg_idct)(&blocks[1]);
        return;
    }
    if (blocks[0].ones_complement) {
        v04 = _mm512_mask_sub_epi16(v04, 0xFFFEFFFE, v04, _mm512_srai_epi16(v04, 15));
        v17 = _mm512_sub_epi16(v17, _mm512_srai_epi16(v17, 15));
        v53 = _mm512_sub_epi16(v53, _mm512_srai_epi16(v53, 15));
        v26 = _mm512_sub_epi16(v26, _mm512_srai_epi16(v26, 15));
    }
    v04 = _mm512_mullo_epi16(v04, load_two(by_a, by_b, 0));
    v17 = _mm512_mullo_epi16(v17, load_two(by_a, by_b, 1));
    v53 = _mm512_mullo_epi16(v53, load_two(by_a, by_b, 2));
    v26 = _mm512_mullo_epi16(v26, load_two(by_a, by_b, 3));
    idct_16(out, v04, v17, v53, v26, CONST_BITS - PASS1_BITS);
    transpose_512(v, out);
    const __m512i interleave =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    __m512i y15 = _mm512_permutex_epi64(v[1], _MM_SHUFFLE(3, 1, 2, 0));
    __m512i y26 = _mm512_permutex_epi64(v[2], _MM_SHUFFLE(3, 1, 2, 0));
    __m512i y73 = _mm512_permutex_epi64(v[3], _MM_SHUFFLE(1, 3, 0, 2));
    idct_16(out, v[0], _mm512_unpacklo_epi16(y15, y73), _mm512_unpackhi_epi16(y15, y73),
            _mm512_shuffle_epi8(y26, interleave), CONST_BITS + PASS1_BITS + 3);
    store_blocks(blocks, out);
}

#endif
