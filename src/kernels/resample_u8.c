/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fixed-point resampling of u8. Taps are processed in pairs: two pixels times two coefficients are
 * one multiply-add into 32 bits. The sums fit, because the |coefficients| of an output sum to less
 * than 2^15. The last rounding takes ties to even, as DALI's does except for the last few elements
 * of a row. Ties are common: every fourth pixel of an image that is doubled in one direction. */
#include "kernels/level.h"

#include <string.h>

#if defined(__aarch64__) && defined(__ARM_NEON)
#define HR_NEON
#include <arm_neon.h>
#endif

enum {
    V_SHIFT = HR_FIX_COEF_BITS - HR_FIX_ROW_BITS,
    H_SHIFT = HR_FIX_COEF_BITS + HR_FIX_ROW_BITS,
    H_BELOW_HALF =
        (1 << (H_SHIFT - 1)) - 1 /* plus one where the result would be odd: ties to even */
};

#if !defined(HR_LEVEL_v3) && !defined(HR_LEVEL_v4)

enum { BLOCK = 256 }; /* elements: the sums fit the L1 cache */

static uint8_t saturate_u8(int32_t v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

#if defined(HR_NEON)

/* 16 elements from `at` on. */
static inline void vfilter_16(int16_t *dst, const uint8_t *const *rows, const int16_t *coef,
                              int32_t taps, size_t at)
{
    int32x4_t s[4];
    for (int i = 0; i < 4; i++)
        s[i] = vdupq_n_s32(1 << (V_SHIFT - 1));
    for (int32_t k = 0; k < taps; k++) {
        uint8x16_t row = vld1q_u8(rows[k] + at);
        int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(row)));
        int16x8_t high = vreinterpretq_s16_u16(vmovl_high_u8(row));
        int16x8_t c = vdupq_n_s16(coef[k]);
        s[0] = vmlal_s16(s[0], vget_low_s16(low), vget_low_s16(c));
        s[1] = vmlal_high_s16(s[1], low, c);
        s[2] = vmlal_s16(s[2], vget_low_s16(high), vget_low_s16(c));
        s[3] = vmlal_high_s16(s[3], high, c);
    }
    vst1q_s16(dst + at, vqshrn_high_n_s32(vqshrn_n_s32(s[0], V_SHIFT), s[1], V_SHIFT));
    vst1q_s16(dst + at + 8, vqshrn_high_n_s32(vqshrn_n_s32(s[2], V_SHIFT), s[3], V_SHIFT));
}

void HR_LEVELED(hr__vfilter_u8)(int16_t *dst, const uint8_t *const *rows, const int16_t *coef,
                                int32_t taps, size_t n)
{
    for (size_t at = 0; at < n; at += 16)
        vfilter_16(dst, rows, coef, taps, at);
}

#else

static int16_t saturate_i16(int32_t v)
{
    return (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
}

void HR_LEVELED(hr__vfilter_u8)(int16_t *dst, const uint8_t *const *rows, const int16_t *coef,
                                int32_t taps, size_t n)
{
    int32_t sum[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < count; i++)
            sum[i] = 1 << (V_SHIFT - 1);
        for (int32_t k = 0; k < taps; k++) {
            const uint8_t *restrict row = rows[k] + at;
            int16_t c = coef[k];
            for (size_t i = 0; i < count; i++)
                sum[i] += c * (int16_t)row[i]; /* 16 x 16 bits: SSE2 has this multiplication */
        }
        int16_t *restrict out = dst + at;
        for (size_t i = 0; i < count; i++)
            out[i] = saturate_i16(sum[i] >> V_SHIFT);
    }
}

#endif

size_t HR_LEVELED(hr__hfilter_table_size)(const hr_filter_fix *f, int32_t channels)
{
    (void)f;
    (void)channels;
    return 0;
}

void HR_LEVELED(hr__hfilter_table)(void *table, const hr_filter_fix *f, int32_t channels)
{
    (void)table;
    (void)f;
    (void)channels;
}

/* The even outputs: element i is the sum of coef[k] * src[i + k * step]. */
static void hfilter_even(uint8_t *dst, const int16_t *src, const int16_t *coef, int32_t taps,
                         size_t step, size_t n)
{
    int32_t sum[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        memset(sum, 0, count * sizeof(*sum));
        for (int32_t k = 0; k < taps; k++) {
            const int16_t *restrict from = src + at + (size_t)k * step;
            int16_t c = coef[k];
            for (size_t i = 0; i < count; i++)
                sum[i] += c * from[i];
        }
        for (size_t i = 0; i < count; i++)
            dst[at + i] = saturate_u8((sum[i] + H_BELOW_HALF + (sum[i] >> H_SHIFT & 1)) >> H_SHIFT);
    }
}

#if defined(HR_NEON)

/* One output, of up to four channels. Reads four for each tap. */
static inline __attribute__((always_inline)) void hfilter_pixel(uint8_t *dst, const int16_t *src,
                                                                const int16_t *coef, int32_t taps,
                                                                const int32_t channels)
{
    int32x4_t sum = vdupq_n_s32(0);
    for (int32_t k = 0; k < taps; k++)
        sum = vmlal_n_s16(sum, vld1_s16(src + (size_t)k * (size_t)channels), coef[k]);
    int32x4_t odd = vandq_s32(vshrq_n_s32(sum, H_SHIFT), vdupq_n_s32(1));
    sum = vaddq_s32(vaddq_s32(sum, vdupq_n_s32(H_BELOW_HALF)), odd);
    int16x4_t words = vqmovn_s32(vshrq_n_s32(sum, H_SHIFT));
    uint8x8_t bytes = vqmovun_s16(vcombine_s16(words, words));
    uint32_t pixel = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
    for (int32_t c = 0; c < channels; c++)
        dst[c] = (uint8_t)(pixel >> 8 * c);
}

#else

static inline __attribute__((always_inline)) void hfilter_pixel(uint8_t *dst, const int16_t *src,
                                                                const int16_t *coef, int32_t taps,
                                                                const int32_t channels)
{
    for (int32_t c = 0; c < channels; c++) {
        int32_t sum = 0;
        for (int32_t k = 0; k < taps; k++)
            sum += coef[k] * src[k * channels + c];
        dst[c] = saturate_u8((sum + H_BELOW_HALF + (sum >> H_SHIFT & 1)) >> H_SHIFT);
    }
}

#endif

/* The outputs from .. to - 1. */
static inline __attribute__((always_inline)) void hfilter_some(uint8_t *dst, const int16_t *src,
                                                               const hr_filter_fix *f,
                                                               const int32_t channels, int32_t from,
                                                               int32_t to)
{
    for (int32_t x = from; x < to; x++)
        hfilter_pixel(dst + (size_t)x * (size_t)channels,
                      src + (size_t)f->start[x] * (size_t)channels,
                      f->coef + (size_t)x * (size_t)f->stride, f->taps, channels);
}

static void hfilter_outputs(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                            int32_t channels, int32_t from, int32_t to)
{
    if (channels == 3)
        hfilter_some(dst, src, f, 3, from, to);
    else if (channels == 1)
        hfilter_some(dst, src, f, 1, from, to);
    else
        hfilter_some(dst, src, f, channels, from, to);
}

void HR_LEVELED(hr__hfilter_u8)(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                                int32_t channels)
{
    const int32_t from = f->even_from, to = f->even_to;
    if (to <= from) {
        hfilter_outputs(dst, src, f, channels, 0, f->out);
        return;
    }
    const size_t step = (size_t)channels;
    hfilter_outputs(dst, src, f, channels, 0, from);
    hfilter_even(dst + (size_t)from * step, src + (size_t)f->start[from] * step,
                 f->coef + (size_t)from * (size_t)f->stride, f->taps, step,
                 (size_t)(to - from) * step);
    hfilter_outputs(dst, src, f, channels, to, f->out);
}

#else

static int32_t load_pair(const int16_t *coef)
{
    int32_t pair;
    memcpy(&pair, coef, sizeof(pair));
    return pair;
}

/* The last tap if their number is odd, paired with a zero. */
static int32_t load_single(const int16_t *coef)
{
    return (int32_t)(uint16_t)*coef;
}

/* ---- two output pixels per step, one in each 128-bit half ---- */

static size_t pixel_table_size(const hr_filter_fix *f)
{
    return ((size_t)f->out + 1) / 2 * ((size_t)f->stride / 2) * sizeof(__m256i);
}

/* Coefficient pairs of two neighbouring outputs, each repeated for four channels. */
static void pixel_table(int32_t *table, const hr_filter_fix *f)
{
    for (int32_t x = 0; x < f->out; x += 2) {
        const int16_t *left = f->coef + (size_t)x * (size_t)f->stride;
        const int16_t *right = x + 1 < f->out ? left + f->stride : left;
        for (int32_t k = 0; k < f->stride; k += 2, table += 8) {
            for (int32_t c = 0; c < 4; c++) {
                table[c] = load_pair(left + k);
                table[4 + c] = load_pair(right + k);
            }
        }
    }
}

/* Makes (tap, next tap) pairs for each channel of two neighbouring pixels. */
static __m256i pixel_shuffle(int32_t channels)
{
    int8_t at[16];
    for (int32_t c = 0; c < 4; c++) {
        for (int32_t b = 0; b < 2; b++) {
            at[c * 4 + b] = (int8_t)(c < channels ? 2 * c + b : -1);
            at[c * 4 + 2 + b] = (int8_t)(c < channels ? 2 * (c + channels) + b : -1);
        }
    }
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)at));
}

/* Two outputs as bytes: the channels of the first are in the low dword of the lower half, those of
 * the second in that of the upper half. */
static inline __m256i hfilter_two(const int16_t *left, const int16_t *right, const __m256i *table,
                                  int32_t pairs, __m256i shuffle, const int32_t channels)
{
    const __m256i half = _mm256_set1_epi32(H_BELOW_HALF);
    __m256i sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < pairs; k++) {
        __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)left));
        v = _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)right), 1);
        v = _mm256_madd_epi16(_mm256_shuffle_epi8(v, shuffle), _mm256_load_si256(table + k));
        sum = _mm256_add_epi32(sum, v);
        left += 2 * channels;
        right += 2 * channels;
    }
    __m256i odd = _mm256_srli_epi32(_mm256_slli_epi32(sum, 31 - H_SHIFT), 31);
    sum = _mm256_add_epi32(_mm256_add_epi32(sum, half), odd);
    sum = _mm256_srai_epi32(sum, H_SHIFT);
    sum = _mm256_packs_epi32(sum, sum);
    return _mm256_packus_epi16(sum, sum);
}

static inline __attribute__((always_inline)) void hfilter_pixels(uint8_t *dst, const int16_t *src,
                                                                 const hr_filter_fix *f,
                                                                 const __m256i *table,
                                                                 const int32_t channels)
{
    const __m256i shuffle = pixel_shuffle(channels);
    const int32_t pairs = f->stride / 2;
    int32_t x = 0;
    /* Stores 4 bytes per pixel while enough of the row follows to overwrite the excess. */
    for (; x + 5 < f->out; x += 2, dst += 2 * channels, table += pairs) {
        const int16_t *left = src + (size_t)f->start[x] * (size_t)channels;
        const int16_t *right = src + (size_t)f->start[x + 1] * (size_t)channels;
        __m256i out = hfilter_two(left, right, table, pairs, shuffle, channels);
        int32_t a = _mm256_extract_epi32(out, 0), b = _mm256_extract_epi32(out, 4);
        memcpy(dst, &a, 4);
        memcpy(dst + channels, &b, 4);
    }
    for (; x < f->out; x += 2, dst += 2 * channels, table += pairs) {
        bool two = x + 1 < f->out;
        const int16_t *left = src + (size_t)f->start[x] * (size_t)channels;
        const int16_t *right = src + (size_t)f->start[two ? x + 1 : x] * (size_t)channels;
        __m256i out = hfilter_two(left, right, table, pairs, shuffle, channels);
        int32_t a = _mm256_extract_epi32(out, 0), b = _mm256_extract_epi32(out, 4);
        memcpy(dst, &a, (size_t)channels);
        if (two)
            memcpy(dst + channels, &b, (size_t)channels);
    }
}

static void hfilter_wide(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                         const __m256i *table, int32_t channels)
{
    if (channels == 3)
        hfilter_pixels(dst, src, f, table, 3);
    else if (channels == 4)
        hfilter_pixels(dst, src, f, table, 4);
    else if (channels == 2)
        hfilter_pixels(dst, src, f, table, 2);
    else
        hfilter_pixels(dst, src, f, table, 1);
}

/* ---- even outputs: neighbouring elements in neighbouring lanes ---- */

static bool has_even(const hr_filter_fix *f)
{
    return f->even_to > f->even_from;
}

/* Outputs first .. first + count - 1 as a filter of their own. */
static hr_filter_fix part_of(const hr_filter_fix *f, int32_t first, int32_t count)
{
    return (hr_filter_fix){.out = count,
                           .taps = f->taps,
                           .stride = f->stride,
                           .start = f->start + first,
                           .coef = f->coef + (size_t)first * (size_t)f->stride};
}

/* The tables of the outputs before and after the even ones. */
static size_t even_table_size(const hr_filter_fix *f)
{
    hr_filter_fix left = part_of(f, 0, f->even_from);
    hr_filter_fix right = part_of(f, f->even_to, f->out - f->even_to);
    return pixel_table_size(&left) + pixel_table_size(&right);
}

static void even_table(void *table, const hr_filter_fix *f)
{
    hr_filter_fix left = part_of(f, 0, f->even_from);
    hr_filter_fix right = part_of(f, f->even_to, f->out - f->even_to);
    pixel_table(table, &left);
    pixel_table((int32_t *)((char *)table + pixel_table_size(&left)), &right);
}

static void hfilter_even(uint8_t *dst, const int16_t *src, const int16_t *coef, int32_t taps,
                         size_t step, size_t n);

static void hfilter_parts(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                          int32_t channels)
{
    hr_filter_fix left = part_of(f, 0, f->even_from);
    hr_filter_fix right = part_of(f, f->even_to, f->out - f->even_to);
    uintptr_t table = (uintptr_t)f->table; /* NULL if no output needs one */
    size_t step = (size_t)channels, from = (size_t)f->start[f->even_from] * step;
    hfilter_wide(dst, src, &left, (const __m256i *)table, channels);
    hfilter_even(dst + (size_t)f->even_from * step, src + from,
                 f->coef + (size_t)f->even_from * (size_t)f->stride, f->stride, step,
                 (size_t)(f->even_to - f->even_from) * step);
    hfilter_wide(dst + (size_t)f->even_to * step, src, &right,
                 (const __m256i *)(table + pixel_table_size(&left)), channels);
}

#endif

#if defined(HR_LEVEL_v3)

static inline __m256i round_rows(__m256i sum)
{
    __m256i odd = _mm256_srli_epi32(_mm256_slli_epi32(sum, 31 - H_SHIFT), 31);
    sum = _mm256_add_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(H_BELOW_HALF)), odd);
    return _mm256_srai_epi32(sum, H_SHIFT);
}

static void hfilter_even(uint8_t *dst, const int16_t *src, const int16_t *coef, int32_t taps,
                         size_t step, size_t n)
{
    for (size_t at = 0; at < n; at += 32) {
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (int32_t k = 0; k < taps; k += 2) {
            const int16_t *from = src + at + (size_t)k * step, *next = from + step;
            __m256i c = _mm256_set1_epi32(load_pair(coef + k));
            __m256i a = _mm256_loadu_si256((const __m256i *)from);
            __m256i b = _mm256_loadu_si256((const __m256i *)next);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), c));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), c));
            a = _mm256_loadu_si256((const __m256i *)(from + 16));
            b = _mm256_loadu_si256((const __m256i *)(next + 16));
            s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), c));
            s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), c));
        }
        __m256i p = _mm256_packs_epi32(round_rows(s0), round_rows(s1));
        __m256i q = _mm256_packs_epi32(round_rows(s2), round_rows(s3));
        __m256i out = _mm256_permute4x64_epi64(_mm256_packus_epi16(p, q), 0xd8);
        if (n - at >= 32) {
            _mm256_storeu_si256((__m256i *)(dst + at), out);
        } else {
            uint8_t rest[32];
            _mm256_storeu_si256((__m256i *)rest, out);
            memcpy(dst + at, rest, n - at);
        }
    }
}

void HR_LEVELED(hr__vfilter_u8)(int16_t *dst, const uint8_t *const *rows, const int16_t *coef,
                                int32_t taps, size_t n)
{
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << (V_SHIFT - 1));
    for (size_t at = 0; at < n; at += 32) {
        __m256i s0 = half, s1 = half, s2 = half, s3 = half;
        for (int32_t k = 0; k < taps; k += 2) {
            bool two = k + 1 < taps;
            __m256i a = _mm256_loadu_si256((const __m256i *)(rows[k] + at));
            __m256i b = _mm256_loadu_si256((const __m256i *)(rows[two ? k + 1 : k] + at));
            __m256i c = _mm256_set1_epi32(two ? load_pair(coef + k) : load_single(coef + k));
            __m256i lo = _mm256_unpacklo_epi8(a, b), hi = _mm256_unpackhi_epi8(a, b);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(lo, zero), c));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(lo, zero), c));
            s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(hi, zero), c));
            s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(hi, zero), c));
        }
        __m256i p =
            _mm256_packs_epi32(_mm256_srai_epi32(s0, V_SHIFT), _mm256_srai_epi32(s1, V_SHIFT));
        __m256i q =
            _mm256_packs_epi32(_mm256_srai_epi32(s2, V_SHIFT), _mm256_srai_epi32(s3, V_SHIFT));
        _mm256_storeu_si256((__m256i *)(dst + at), _mm256_permute2x128_si256(p, q, 0x20));
        _mm256_storeu_si256((__m256i *)(dst + at + 16), _mm256_permute2x128_si256(p, q, 0x31));
    }
}

size_t HR_LEVELED(hr__hfilter_table_size)(const hr_filter_fix *f, int32_t channels)
{
    (void)channels;
    return has_even(f) ? even_table_size(f) : pixel_table_size(f);
}

void HR_LEVELED(hr__hfilter_table)(void *table, const hr_filter_fix *f, int32_t channels)
{
    (void)channels;
    if (has_even(f))
        even_table(table, f);
    else
        pixel_table(table, f);
}

void HR_LEVELED(hr__hfilter_u8)(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                                int32_t channels)
{
    if (has_even(f))
        hfilter_parts(dst, src, f, channels);
    else
        hfilter_wide(dst, src, f, f->table, channels);
}

#elif defined(HR_LEVEL_v4)

static inline __m512i round_rows(__m512i sum)
{
    __m512i odd = _mm512_srli_epi32(_mm512_slli_epi32(sum, 31 - H_SHIFT), 31);
    sum = _mm512_add_epi32(_mm512_add_epi32(sum, _mm512_set1_epi32(H_BELOW_HALF)), odd);
    return _mm512_srai_epi32(sum, H_SHIFT);
}

static void hfilter_even(uint8_t *dst, const int16_t *src, const int16_t *coef, int32_t taps,
                         size_t step, size_t n)
{
    const __m512i zero = _mm512_setzero_si512();
    for (size_t at = 0; at < n; at += 64) {
        __m512i s0 = zero, s1 = zero, s2 = zero, s3 = zero;
        for (int32_t k = 0; k < taps; k += 2) {
            const int16_t *from = src + at + (size_t)k * step, *next = from + step;
            __m512i c = _mm512_set1_epi32(load_pair(coef + k));
            __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(next);
            s0 = _mm512_add_epi32(s0, _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), c));
            s1 = _mm512_add_epi32(s1, _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), c));
            a = _mm512_loadu_si512(from + 32);
            b = _mm512_loadu_si512(next + 32);
            s2 = _mm512_add_epi32(s2, _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), c));
            s3 = _mm512_add_epi32(s3, _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), c));
        }
        __m512i p = _mm512_packs_epi32(round_rows(s0), round_rows(s1));
        __m512i q = _mm512_packs_epi32(round_rows(s2), round_rows(s3));
        __m512i low = _mm512_castsi256_si512(_mm512_cvtusepi16_epi8(_mm512_max_epi16(p, zero)));
        __m512i out = _mm512_inserti64x4(low, _mm512_cvtusepi16_epi8(_mm512_max_epi16(q, zero)), 1);
        if (n - at >= 64)
            _mm512_storeu_si512(dst + at, out);
        else
            _mm512_mask_storeu_epi8(dst + at, ((__mmask64)1 << (n - at)) - 1, out);
    }
}

void HR_LEVELED(hr__vfilter_u8)(int16_t *dst, const uint8_t *const *rows, const int16_t *coef,
                                int32_t taps, size_t n)
{
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(1 << (V_SHIFT - 1));
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (size_t at = 0; at < n; at += 64) {
        __m512i s0 = half, s1 = half, s2 = half, s3 = half;
        for (int32_t k = 0; k < taps; k += 2) {
            bool two = k + 1 < taps;
            __m512i a = _mm512_loadu_si512(rows[k] + at);
            __m512i b = _mm512_loadu_si512(rows[two ? k + 1 : k] + at);
            __m512i c = _mm512_set1_epi32(two ? load_pair(coef + k) : load_single(coef + k));
            __m512i lo = _mm512_unpacklo_epi8(a, b), hi = _mm512_unpackhi_epi8(a, b);
            s0 = _mm512_add_epi32(s0, _mm512_madd_epi16(_mm512_unpacklo_epi8(lo, zero), c));
            s1 = _mm512_add_epi32(s1, _mm512_madd_epi16(_mm512_unpackhi_epi8(lo, zero), c));
            s2 = _mm512_add_epi32(s2, _mm512_madd_epi16(_mm512_unpacklo_epi8(hi, zero), c));
            s3 = _mm512_add_epi32(s3, _mm512_madd_epi16(_mm512_unpackhi_epi8(hi, zero), c));
        }
        __m512i p =
            _mm512_packs_epi32(_mm512_srai_epi32(s0, V_SHIFT), _mm512_srai_epi32(s1, V_SHIFT));
        __m512i q =
            _mm512_packs_epi32(_mm512_srai_epi32(s2, V_SHIFT), _mm512_srai_epi32(s3, V_SHIFT));
        _mm512_storeu_si512(dst + at, _mm512_permutex2var_epi64(p, first, q));
        _mm512_storeu_si512(dst + at + 32, _mm512_permutex2var_epi64(p, second, q));
    }
}

/* ---- sixteen output elements per step: their taps are picked from one or two vectors ---- */

/* The table: per group, a group_head and its coefficient pairs; or the table of the pixel loop, if
 * the taps of sixteen elements are too far apart. */
typedef struct group_head {
    int16_t pick[32]; /* for each element: its tap and the next one, relative to `base` */
    int32_t base, unused[15];
} group_head;

typedef struct group_table {
    int32_t vectors; /* 1 or 2: number of vectors that hold all taps of a pair; 0: the pixel loop */
    int32_t groups, unused[14];
} group_table;

static size_t group_size(const hr_filter_fix *f)
{
    return sizeof(group_head) + (size_t)f->stride / 2 * sizeof(__m512i);
}

static size_t group_count(const hr_filter_fix *f, int32_t channels)
{
    return ((size_t)f->out * (size_t)channels + 15) / 16;
}

size_t HR_LEVELED(hr__hfilter_table_size)(const hr_filter_fix *f, int32_t channels)
{
    if (has_even(f))
        return even_table_size(f);
    size_t groups = group_count(f, channels) * group_size(f), pixels = pixel_table_size(f);
    return sizeof(group_table) + (groups > pixels ? groups : pixels);
}

/* Fills group `g`; returns the number of elements, from its base on, that a pair of taps spans. */
static int32_t fill_group(group_head *head, const hr_filter_fix *f, int32_t channels, int32_t g)
{
    int32_t last = f->out * channels - 1, reach = 0, at[16], low = INT32_MAX;
    int32_t *coef = (int32_t *)(head + 1);
    int32_t x = g * 16 / channels, c = g * 16 % channels;
    for (int32_t j = 0; j < 16; j++) {
        at[j] = f->start[x] * channels + c;
        low = at[j] < low ? at[j] : low;
        const int16_t *from = f->coef + (size_t)x * (size_t)f->stride;
        for (int32_t k = 0; k < f->stride / 2; k++)
            coef[k * 16 + j] = load_pair(from + 2 * k);
        if (g * 16 + j >= last) /* the last group repeats the last element */
            continue;
        if (++c == channels) {
            c = 0;
            x++;
        }
    }
    for (int32_t j = 0; j < 16; j++) {
        int32_t from = at[j] - low;
        head->pick[2 * j] = (int16_t)from;
        head->pick[2 * j + 1] = (int16_t)(from + channels);
        reach = from + channels >= reach ? from + channels + 1 : reach;
    }
    head->base = low;
    return reach;
}

void HR_LEVELED(hr__hfilter_table)(void *table, const hr_filter_fix *f, int32_t channels)
{
    if (has_even(f)) {
        even_table(table, f);
        return;
    }
    group_table *t = table;
    t->vectors = 1;
    t->groups = (int32_t)group_count(f, channels);
    char *at = (char *)(t + 1);
    for (int32_t g = 0; g < t->groups && t->vectors > 0; g++, at += group_size(f)) {
        int32_t reach = fill_group((group_head *)at, f, channels, g);
        if (reach > 32 && t->vectors == 1)
            t->vectors = 2;
        if (reach > 64)
            t->vectors = 0;
    }
    if (t->vectors == 0)
        pixel_table((int32_t *)(t + 1), f);
}

static inline __attribute__((always_inline)) void hfilter_groups(uint8_t *dst, const int16_t *src,
                                                                 const hr_filter_fix *f,
                                                                 int32_t channels,
                                                                 const int32_t vectors)
{
    const group_table *t = f->table;
    const char *at = (const char *)(t + 1);
    const __m512i half = _mm512_set1_epi32(H_BELOW_HALF);
    size_t size = group_size(f), left = (size_t)f->out * (size_t)channels;
    for (int32_t g = 0; g < t->groups; g++, at += size, left -= 16, dst += 16) {
        const group_head *head = (const group_head *)at;
        const __m512i *coef = (const __m512i *)(head + 1);
        const int16_t *from = src + head->base;
        __m512i pick = _mm512_load_si512(head->pick), sum = _mm512_setzero_si512();
        for (int32_t k = 0; k < f->stride / 2; k++, from += 2 * channels) {
            __m512i v = _mm512_loadu_si512(from);
            if (vectors == 2)
                v = _mm512_permutex2var_epi16(v, pick, _mm512_loadu_si512(from + 32));
            else
                v = _mm512_permutexvar_epi16(pick, v);
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(v, _mm512_load_si512(coef + k)));
        }
        __m512i odd = _mm512_srli_epi32(_mm512_slli_epi32(sum, 31 - H_SHIFT), 31);
        sum = _mm512_add_epi32(_mm512_add_epi32(sum, half), odd);
        sum = _mm512_max_epi32(_mm512_srai_epi32(sum, H_SHIFT), _mm512_setzero_si512());
        __m128i out = _mm512_cvtusepi32_epi8(sum);
        if (left >= 16)
            _mm_storeu_si128((__m128i *)dst, out);
        else
            _mm_mask_storeu_epi8(dst, (__mmask16)((1u << left) - 1), out);
    }
}

void HR_LEVELED(hr__hfilter_u8)(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                                int32_t channels)
{
    const group_table *t = f->table;
    if (has_even(f))
        hfilter_parts(dst, src, f, channels);
    else if (t->vectors == 1)
        hfilter_groups(dst, src, f, channels, 1);
    else if (t->vectors == 2)
        hfilter_groups(dst, src, f, channels, 2);
    else
        hfilter_wide(dst, src, f, (const __m256i *)(t + 1), channels);
}

#endif
