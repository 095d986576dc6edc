/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Per-pixel steps: matrices over channels, and tables. All levels do the operations of
 * hr_matrix_row in the same order, without FMA. */
#include "core/rounding.h"
#include "kernels/eight.h"
#include "kernels/spread.h"

static inline __attribute__((always_inline)) void matrix_each(uint8_t *dst, const uint8_t *src,
                                                              size_t n, const hr_matrix *m)
{
    for (size_t i = 0; i < n; i++, src += m->in, dst += m->out) {
        float v[HR_MATRIX_MAX] = {0};
        for (int32_t c = 0; c < m->in; c++)
            v[c] = (float)src[c];
        for (int32_t c = 0; c < m->out; c++)
            dst[c] = round_byte(hr_matrix_row(m, c, v));
    }
}

static void matrix_bytes(uint8_t *dst, const uint8_t *src, size_t n, const hr_matrix *m)
{
    hr_matrix colour = *m;
    colour.in = colour.out = 3; /* the compiler sees how many channels there are */
    if (m->in == 3 && m->out == 3)
        matrix_each(dst, src, n, &colour);
    else
        matrix_each(dst, src, n, m);
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Three channels to `out`, 1 or 3. Returns how many pixels were made. */
static inline __attribute__((always_inline)) size_t
matrix_eights(float *dst, const float *src, size_t n, const hr_matrix *m, const int32_t out)
{
    __m256 weight[3][3], add[3];
    size_t i = 0;

    for (int32_t c = 0; c < out; c++) {
        add[c] = _mm256_set1_ps(m->add[c]);
        for (int32_t k = 0; k < 3; k++)
            weight[c][k] = _mm256_set1_ps(m->m[c][k]);
    }
    for (; i + 8 <= n; i += 8) {
        __m256 v[3], sum[3];
        eight_load_f32(v, src + 3 * i);
        for (int32_t c = 0; c < out; c++) {
            sum[c] =
                _mm256_add_ps(_mm256_mul_ps(weight[c][0], v[0]), _mm256_mul_ps(weight[c][1], v[1]));
            sum[c] = _mm256_add_ps(sum[c], _mm256_mul_ps(weight[c][2], v[2]));
            sum[c] = _mm256_add_ps(sum[c], add[c]);
        }
        eight_store_f32(dst + (size_t)out * i, sum, out);
    }
    return i;
}

#else

static size_t matrix_eights(float *dst, const float *src, size_t n, const hr_matrix *m, int32_t out)
{
    return (void)dst, (void)src, (void)n, (void)m, (void)out, 0;
}

#endif

void HR_LEVELED(hr__matrix_f32)(float *dst, const float *src, size_t n, const hr_matrix *m)
{
    size_t done = 0;

    if (m->in == 3 && m->out == 3)
        done = matrix_eights(dst, src, n, m, 3);
    else if (m->in == 3 && m->out == 1)
        done = matrix_eights(dst, src, n, m, 1);
    src += done * (size_t)m->in;
    dst += done * (size_t)m->out;
    for (size_t i = done; i < n; i++, src += m->in, dst += m->out)
        for (int32_t c = 0; c < m->out; c++)
            dst[c] = hr_matrix_row(m, c, src);
}

/* ---- bytes that are only moved ---- */

/* Which channel each of the three results is; false: not all of them are single channels. */
static bool is_move(const hr_matrix *m, size_t from[3])
{
    if (m->out != 3)
        return false;
    for (int32_t c = 0; c < 3; c++) {
        int32_t ones = 0;
        for (int32_t k = 0; k < m->in; k++) {
            if (m->m[c][k] != 0.0f && m->m[c][k] != 1.0f)
                return false;
            ones += m->m[c][k] == 1.0f;
            from[c] = m->m[c][k] == 1.0f ? (size_t)k : from[c];
        }
        if (ones != 1 || m->add[c] != 0.0f)
            return false;
    }
    return true;
}

/* Five pixels of the result from the 16 bytes that begin at their source; one byte is left over. */
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

#define MOVES_IN 3 /* channels of the source: at most */

typedef struct mover {
    __m128i order;
} mover;

static inline void mover_init(mover *v, const uint8_t at[16])
{
    v->order = _mm_loadu_si128((const __m128i *)at);
}

static inline __m128i moved(const mover *v, __m128i pixels)
{
    return _mm_shuffle_epi8(pixels, v->order);
}

#elif defined(HR_SSE2)

#define MOVES_IN 3
#define MOVES_LEAST 3 /* a byte goes to another place in its pixel, two places away at most */

typedef struct mover {
    __m128i mask[5]; /* what comes from two places before, one before, the same place, ... */
} mover;

static inline void mover_init(mover *v, const uint8_t at[16])
{
    for (int32_t k = 0; k < 5; k++) {
        uint8_t mask[16];
        for (int32_t i = 0; i < 16; i++)
            mask[i] = at[i] - i == k - 2 ? 0xff : 0;
        v->mask[k] = _mm_loadu_si128((const __m128i *)mask);
    }
}

static inline __m128i moved(const mover *v, __m128i pixels)
{
    __m128i low = _mm_or_si128(_mm_and_si128(_mm_slli_si128(pixels, 2), v->mask[0]),
                               _mm_and_si128(_mm_slli_si128(pixels, 1), v->mask[1]));
    __m128i high = _mm_or_si128(_mm_and_si128(_mm_srli_si128(pixels, 1), v->mask[3]),
                                _mm_and_si128(_mm_srli_si128(pixels, 2), v->mask[4]));
    return _mm_or_si128(_mm_or_si128(low, high), _mm_and_si128(pixels, v->mask[2]));
}

#endif

#ifndef MOVES_LEAST
#define MOVES_LEAST 1
#endif

static void move_bytes(uint8_t *dst, const uint8_t *src, size_t n, size_t in, const size_t from[3])
{
    size_t i = 0;
#if defined(MOVES_IN)
    if (in >= MOVES_LEAST && in <= MOVES_IN) {
        uint8_t at[16];
        mover v;
        for (size_t b = 0; b < 15; b++)
            at[b] = (uint8_t)(b / 3 * in + from[b % 3]);
        at[15] = 15; /* the next pixels overwrite it */
        mover_init(&v, at);
        for (; (n - i) * in >= 16 && (n - i) * 3 >= 16; i += 5)
            _mm_storeu_si128((__m128i *)(dst + 3 * i),
                             moved(&v, _mm_loadu_si128((const __m128i *)(src + in * i))));
    }
#endif
    for (; i < n; i++)
        for (size_t c = 0; c < 3; c++)
            dst[3 * i + c] = src[in * i + from[c]];
}

/* ---- bytes ---- */

#if defined(HR_LEVEL_v4)

#define SET_FLOATS _mm512_set1_ps
#define ADD_FLOATS _mm512_add_ps
#define MUL_FLOATS _mm512_mul_ps

/* Half away from zero, as round_byte, for values that fit 32 bits: packing saturates. */
static inline __m512i whole(__m512 v)
{
    return _mm512_cvttps_epi32(_mm512_add_ps(v, _mm512_set1_ps(ROUND_BELOW_HALF)));
}

/* Stores interleaved pixels of one or three channels. */
static inline __attribute__((always_inline)) void store_pixels(uint8_t *dst, const __m512 *v,
                                                               const int32_t count)
{
    __m512i zero = _mm512_setzero_si512(), first = whole(v[0]);
    __m512i low = _mm512_packs_epi32(first, count > 1 ? whole(v[1]) : zero);
    __m512i high = count > 1 ? _mm512_packs_epi32(whole(v[2]), zero) : zero;
    __m512i planes = _mm512_packus_epi16(low, high);
    if (count == 1) { /* the first dword of each lane */
        __m512i dwords = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        planes = _mm512_permutexvar_epi32(dwords, planes);
        _mm_storeu_si128((__m128i *)dst, _mm512_castsi512_si128(planes));
        return;
    }
    __m128i order = _mm_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1);
    __m512i dwords = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0);
    __m512i pixels = _mm512_shuffle_epi8(planes, _mm512_broadcast_i32x4(order));
    pixels = _mm512_permutexvar_epi32(dwords, pixels);
    _mm256_storeu_si256((__m256i *)dst, _mm512_castsi512_si256(pixels));
    _mm_storeu_si128((__m128i *)(dst + 32), _mm512_extracti32x4_epi32(pixels, 2));
}

#elif defined(HR_LEVEL_v3)

#define SET_FLOATS _mm256_set1_ps
#define ADD_FLOATS _mm256_add_ps
#define MUL_FLOATS _mm256_mul_ps
#define whole eight_whole
#define store_pixels eight_store_u8

#elif defined(HR_SPREAD)

#define SET_FLOATS _mm_set1_ps
#define ADD_FLOATS _mm_add_ps
#define MUL_FLOATS _mm_mul_ps

static inline __m128i whole(__m128 v)
{
    return _mm_cvttps_epi32(_mm_add_ps(v, _mm_set1_ps(ROUND_BELOW_HALF)));
}

/* Stores interleaved pixels of one or three channels. */
static inline __attribute__((always_inline)) void store_pixels(uint8_t *dst, const __m128 *v,
                                                               const int32_t count)
{
    __m128i zero = _mm_setzero_si128(), first = whole(v[0]);
    __m128i low = _mm_packs_epi32(first, count > 1 ? whole(v[1]) : zero);
    __m128i high = count > 1 ? _mm_packs_epi32(whole(v[2]), zero) : zero;
    __m128i planes = _mm_packus_epi16(low, high);
    int32_t last = _mm_cvtsi128_si32(planes);

    if (count > 1) {
        /* A pixel per dword, then two pixels as the low six bytes of a qword. */
        __m128i pairs = _mm_unpacklo_epi8(planes, _mm_srli_si128(planes, 4));
        __m128i thirds = _mm_unpacklo_epi8(_mm_srli_si128(planes, 8), zero);
        __m128i pixels = _mm_unpacklo_epi16(pairs, thirds);
        __m128i odd = _mm_slli_epi64(_mm_srli_epi64(pixels, 32), 24);
        pixels = _mm_or_si128(_mm_and_si128(pixels, _mm_set1_epi64x(0xffffff)), odd);
        __m128i second = _mm_srli_si128(pixels, 8);
        __m128i eight = _mm_or_si128(pixels, _mm_slli_epi64(second, 48));
        _mm_storel_epi64((__m128i *)dst, eight);
        last = _mm_cvtsi128_si32(_mm_srli_epi64(second, 16));
        dst += 8;
    }
    memcpy(dst, &last, 4);
}

#endif

#if defined(HR_SPREAD)

/* Whether all results fit 32 bits by far. */
static bool is_small(const hr_matrix *m)
{
    for (int32_t i = 0; i < m->out; i++) {
        float most = fabsf(m->add[i]);
        for (int32_t k = 0; k < m->in; k++)
            most += 255.0f * fabsf(m->m[i][k]);
        if (!(most < 0x1p30f))
            return false;
    }
    return true;
}

/* A matrix, each number in all elements of a vector. */
typedef struct wide_matrix {
    hr_floats_vector m[3][3], add[3];
} wide_matrix;

static inline __attribute__((always_inline)) void matrix_step(uint8_t *dst, const uint8_t *src,
                                                              const spreader *s,
                                                              const wide_matrix *m,
                                                              const int32_t in, const int32_t out)
{
    hr_pixels_vector pixels = load_pixels(s, src);
    hr_floats_vector v[3], sum[3];

    for (int32_t c = 0; c < in; c++)
        v[c] = channel_floats(s, pixels, c);
    for (int32_t c = 0; c < out; c++) {
        sum[c] = MUL_FLOATS(m->m[c][0], v[0]);
        for (int32_t k = 1; k < in; k++)
            sum[c] = ADD_FLOATS(sum[c], MUL_FLOATS(m->m[c][k], v[k]));
        sum[c] = ADD_FLOATS(sum[c], m->add[c]);
    }
    store_pixels(dst, sum, out);
}

static inline __attribute__((always_inline)) void matrix_vectors(uint8_t *dst, const uint8_t *src,
                                                                 size_t n, const hr_matrix *m,
                                                                 const int32_t in,
                                                                 const int32_t out)
{
    uint8_t from[SPREAD_STEP * 4] = {0}; /* load_pixels might load as much */
    uint8_t to[SPREAD_STEP * 3];
    wide_matrix wide;
    spreader s;
    size_t i = 0;

    for (int32_t c = 0; c < out; c++) {
        wide.add[c] = SET_FLOATS(m->add[c]);
        for (int32_t k = 0; k < in; k++)
            wide.m[c][k] = SET_FLOATS(m->m[c][k]);
    }
    spreader_init(&s, in, 0);
    for (; i + SPREAD_STEP <= n; i += SPREAD_STEP)
        matrix_step(dst + i * (size_t)out, src + i * (size_t)in, &s, &wide, in, out);
    if (i == n)
        return;
    memcpy(from, src + i * (size_t)in, (n - i) * (size_t)in);
    matrix_step(to, from, &s, &wide, in, out);
    memcpy(dst + i * (size_t)out, to, (n - i) * (size_t)out);
}

#endif

void HR_LEVELED(hr__matrix_u8)(uint8_t *dst, const uint8_t *src, size_t n, const hr_matrix *m)
{
    size_t from[3] = {0};

    if (is_move(m, from)) {
        move_bytes(dst, src, n, (size_t)m->in, from);
        return;
    }
#if defined(HR_SPREAD)
    if (m->in == 3 && m->out == 3 && is_small(m))
        matrix_vectors(dst, src, n, m, 3, 3);
    else if (m->in == 3 && m->out == 1 && is_small(m))
        matrix_vectors(dst, src, n, m, 3, 1);
    else if (m->in == 1 && m->out == 3 && is_small(m))
        matrix_vectors(dst, src, n, m, 1, 3);
    else
#endif
        matrix_bytes(dst, src, n, m);
}

/* ---- elements ---- */

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Eight or sixteen elements, rounded. */
#if defined(HR_LEVEL_v4)
static inline __m512i affine_whole(const uint8_t *src, __m512 mul, __m512 add)
{
    __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)src));
    return whole(_mm512_add_ps(_mm512_mul_ps(mul, _mm512_cvtepi32_ps(bytes)), add));
}
#else
static inline __m256i affine_whole(const uint8_t *src, __m256 mul, __m256 add)
{
    __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)src));
    return whole(_mm256_add_ps(_mm256_mul_ps(mul, _mm256_cvtepi32_ps(bytes)), add));
}
#endif

/* For results that fit 32 bits. */
static size_t affine_vectors(uint8_t *dst, const uint8_t *src, size_t n, float mul, float add)
{
    size_t i = 0;
#if defined(HR_LEVEL_v4)
    const __m512 a = _mm512_set1_ps(mul), b = _mm512_set1_ps(add);
    for (; i + 16 <= n; i += 16) {
        __m512i v = _mm512_max_epi32(affine_whole(src + i, a, b), _mm512_setzero_si512());
        _mm_storeu_si128((__m128i *)(dst + i), _mm512_cvtusepi32_epi8(v));
    }
#else
    const __m256 a = _mm256_set1_ps(mul), b = _mm256_set1_ps(add);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (; i + 32 <= n; i += 32) {
        __m256i low =
            _mm256_packs_epi32(affine_whole(src + i, a, b), affine_whole(src + i + 8, a, b));
        __m256i high =
            _mm256_packs_epi32(affine_whole(src + i + 16, a, b), affine_whole(src + i + 24, a, b));
        __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(dst + i), bytes);
    }
#endif
    return i;
}

#endif

void HR_LEVELED(hr__affine_u8)(uint8_t *dst, const uint8_t *src, size_t n, float mul, float add)
{
    size_t i = 0;
#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
    if (255.0f * fabsf(mul) + fabsf(add) < 0x1p30f)
        i = affine_vectors(dst, src, n, mul, add);
#endif
    for (; i < n; i++)
        dst[i] = round_byte(mul * (float)src[i] + add);
}

void HR_LEVELED(hr__affine_f32)(float *dst, const float *src, size_t n, float mul, float add)
{
    size_t i = 0;
#if defined(HR_LEVEL_v4)
    for (; i + 16 <= n; i += 16) {
        __m512 product = _mm512_mul_ps(_mm512_set1_ps(mul), _mm512_loadu_ps(src + i));
        _mm512_storeu_ps(dst + i, _mm512_add_ps(product, _mm512_set1_ps(add)));
    }
#elif defined(HR_LEVEL_v3)
    for (; i + 8 <= n; i += 8) {
        __m256 product = _mm256_mul_ps(_mm256_set1_ps(mul), _mm256_loadu_ps(src + i));
        _mm256_storeu_ps(dst + i, _mm256_add_ps(product, _mm256_set1_ps(add)));
    }
#endif
    for (; i < n; i++)
        dst[i] = mul * src[i] + add;
}

/* ---- tables ---- */

#if defined(HR_LEVEL_v4)

/* For CPUs of this level that also have VBMI: nearly all. Two lookups of 128 bytes each. */
__attribute__((target("avx512vbmi"))) static size_t look_up_vbmi(uint8_t *dst, const uint8_t *src,
                                                                 size_t n, const uint8_t *table)
{
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
    const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512i v = _mm512_loadu_si512(src + i);
        __m512i low = _mm512_permutex2var_epi8(a, v, b), high = _mm512_permutex2var_epi8(c, v, d);
        _mm512_storeu_si512(dst + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high));
    }
    return i;
}

#endif

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

static inline __m256i sixteenth(const uint8_t *table, int k)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * k)));
}

/* Looks up the low four bits in each sixteenth of the table, and selects among the results by the
 * high four bits, one after the other. A shuffle gives 0 where the sign of the position is set,
 * which selects by the highest bit. */
static size_t look_up_vectors(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(src + i)), found[8];
        __m256i low = _mm256_and_si256(v, _mm256_set1_epi8((char)0x8f));
        __m256i high = _mm256_xor_si256(low, _mm256_set1_epi8((char)0x80));
        for (int k = 0; k < 8; k++)
            found[k] = _mm256_or_si256(_mm256_shuffle_epi8(sixteenth(table, k), low),
                                       _mm256_shuffle_epi8(sixteenth(table, k + 8), high));
        for (int bit = 4, left = 4; bit < 7; bit++, left /= 2) {
            __m256i odd = _mm256_slli_epi16(v, 7 - bit); /* the sign selects */
            for (int k = 0; k < left; k++)
                found[k] = _mm256_blendv_epi8(found[2 * k], found[2 * k + 1], odd);
        }
        _mm256_storeu_si256((__m256i *)(dst + i), found[0]);
    }
    return i;
}

#endif

void HR_LEVELED(hr__table_u8)(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table)
{
    size_t i = 0;
#if defined(HR_LEVEL_v4)
    bool vbmi = __builtin_cpu_supports("avx512vbmi");
    i = (vbmi ? look_up_vbmi : look_up_vectors)(dst, src, n, table);
#elif defined(HR_LEVEL_v3)
    i = look_up_vectors(dst, src, n, table);
#endif
    for (; i < n; i++)
        dst[i] = table[src[i]];
}
