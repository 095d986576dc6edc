/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Huffman coding of JPEG blocks, or counting their symbols. No branch depends on the number of
 * bits: whole words are stored, of which only the full bytes count. */
#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"
#include "kernels/level.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum { ZRL = 0xF0, EOB = 0 };

typedef struct sink {
    uint8_t *next;
    uint64_t window;
    uint32_t count;
} sink;

INLINE void store_be64(uint8_t *p, uint64_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, 8);
}

/* Appends a code and the bits of its value. The window has room for two of them after a flush;
 * above its `count` bits are some that have been written. */
INLINE void append(sink *s, hr_jpeg_code code, int32_t value, uint32_t size)
{
    uint32_t low = code.code | ((uint32_t)value & ((1u << size) - 1));
    s->window = s->window << code.bits | low;
    s->count += code.bits;
}

/* Leaves fewer than 8 bits. */
INLINE void flush(sink *s)
{
    store_be64(s->next, s->window << (-s->count & 63));
    s->next += s->count >> 3;
    s->count &= 7;
}

/* A bit for each coefficient that is not zero, the first one at the bottom. */
INLINE uint64_t nonzero(const int16_t *coef)
{
    uint64_t mask = 0;
#if defined(__SSE2__)
    const __m128i *v = (const __m128i *)(const void *)coef;
    for (int i = 0; i < 4; i++) {
        __m128i both = _mm_packs_epi16(_mm_loadu_si128(v + 2 * i), _mm_loadu_si128(v + 2 * i + 1));
        __m128i zero = _mm_cmpeq_epi8(both, _mm_setzero_si128());
        mask |= (uint64_t)(0xFFFF ^ (uint32_t)_mm_movemask_epi8(zero)) << (16 * i);
    }
#else
    for (int i = 0; i < 64; i++)
        mask |= (uint64_t)(coef[i] != 0) << i;
#endif
    return mask;
}

/* hr_jpeg_size of AC coefficients, -1024 to 1023, which is faster to look up than to compute. */
#define X2(v) v, v
#define X4(v) X2(v), X2(v)
#define X8(v) X4(v), X4(v)
#define X16(v) X8(v), X8(v)
#define X32(v) X16(v), X16(v)
#define X64(v) X32(v), X32(v)
#define X128(v) X64(v), X64(v)
#define X256(v) X128(v), X128(v)
#define X512(v) X256(v), X256(v)

static const uint8_t sizes[2048] = {
    11, X512(10), X256(9), X128(8), X64(7), X32(6), X16(5), X8(4),  X4(3),   X2(2),   1,
    0,  1,        X2(2),   X4(3),   X8(4),  X16(5), X32(6), X64(7), X128(8), X256(9), X512(10)};

/* An AC coefficient and the zeros before it. */
INLINE void append_ac(sink *s, const hr_jpeg_code *ac, int32_t v, uint32_t run)
{
    for (; __builtin_expect(run > 15, 0); run -= 16) {
        append(s, ac[ZRL], 0, 0);
        flush(s);
    }
    uint32_t size = sizes[v + 1024];
    append(s, ac[run << 4 | size], hr_jpeg_value(v), size);
}

/* The window gets at most DC and an AC coefficient, or an AC coefficient and EOB, before it is
 * flushed: 7 + 27 + 26 bits. */
INLINE void put_block(sink *s, const hr_jpeg_coded *b, int32_t difference)
{
    const hr_jpeg_code *ac = b->ac->of;
    const int16_t *coef = b->coef;
    uint64_t mask = nonzero(coef) & ~(uint64_t)1;
    uint32_t size = hr_jpeg_size(difference), last = 0;
    append(s, b->dc->of[size], hr_jpeg_value(difference), size);
    while (mask) {
        uint32_t at = (uint32_t)__builtin_ctzll(mask);
        append_ac(s, ac, coef[at], at - last - 1);
        flush(s);
        last = at;
        mask &= mask - 1;
        if (!mask)
            break;
        at = (uint32_t)__builtin_ctzll(mask);
        append_ac(s, ac, coef[at], at - last - 1);
        last = at;
        mask &= mask - 1;
    }
    if (last < 63)
        append(s, ac[EOB], 0, 0);
    flush(s);
}

INLINE void count_block(const hr_jpeg_coded *b, int32_t difference)
{
    uint64_t *ac = b->ac_count;
    uint32_t last = 0;
    b->dc_count[hr_jpeg_size(difference)]++;
    for (uint64_t mask = nonzero(b->coef) & ~(uint64_t)1; mask; mask &= mask - 1) {
        uint32_t at = (uint32_t)__builtin_ctzll(mask), run = at - last - 1;
        ac[ZRL] += run >> 4;
        ac[(run & 15) << 4 | hr_jpeg_size(b->coef[at])]++;
        last = at;
    }
    ac[EOB] += last < 63;
}

/* The next block at this place; returns the difference of DC. */
INLINE int32_t difference_of(hr_jpeg_sink *s, const hr_jpeg_coded *b)
{
    int32_t difference = b->coef[0] - s->predicted[b->component];
    s->predicted[b->component] = b->coef[0];
    return difference;
}

void HR_LEVELED(hr__jpeg_put)(hr_jpeg_sink *out, int32_t mcus)
{
    sink s = {out->next, out->window, out->count};
    for (int32_t m = 0; m < mcus; m++)
        for (int32_t i = 0; i < out->blocks; i++) {
            hr_jpeg_coded *b = &out->block[i];
            put_block(&s, b, difference_of(out, b));
            b->coef += b->step;
        }
    out->next = s.next;
    out->window = s.window;
    out->count = s.count;
}

void HR_LEVELED(hr__jpeg_count)(hr_jpeg_sink *out, int32_t mcus)
{
    for (int32_t m = 0; m < mcus; m++)
        for (int32_t i = 0; i < out->blocks; i++) {
            hr_jpeg_coded *b = &out->block[i];
            count_block(b, difference_of(out, b));
            b->coef += b->step;
        }
}
