/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by the entropy decoders: reading bits, and where coefficients are stored. */
#pragma once

#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define Z(natural) HR_JPEG_POSITION((natural) / 8, (natural) % 8)

/* Positions by zigzag index. Runs that exceed the block end at its last position; values that are
 * not coefficients are stored after it. */
#define X4(v) v, v, v, v
#define X16(v) X4(v), X4(v), X4(v), X4(v)
#define X64(v) X16(v), X16(v), X16(v), X16(v)
#define POSITIONS                                                                                  \
    {                                                                                              \
        HR_JPEG_ZIGZAG(Z), X64(Z(63)), X64(64), X64(64)                                            \
    }

enum { FAST_SHIFT = 64 - HR_JPEG_FAST_BITS };

/* A reader of bits in registers. */
typedef struct bits {
    const uint8_t *next;
    uint64_t window, count;
} bits;

INLINE uint64_t load_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* At least 56 bits from here on. */
INLINE void refill(bits *b)
{
    b->window |= load_be64(b->next) >> b->count;
    b->next += (63 - b->count) >> 3;
    b->count |= 56;
}

/* The value of the `-shift` bits on top of w, 1 to 15: negative ones are stored as one less. */
INLINE int32_t extend(uint64_t w, uint32_t shift)
{
    uint64_t negative = ~(uint64_t)((int64_t)w >> 63);
    uint64_t magnitude = (w ^ negative) >> (shift & 63);
    return (int32_t)((magnitude ^ negative) - negative);
}

/* The symbol of the code on top of the window, by its length; -1 if there is no such code. */
INLINE int32_t find_symbol(const hr_jpeg_huffman *t, uint64_t window, uint32_t *length)
{
    uint32_t top = (uint32_t)(window >> 48), n = 1;
    if (top >= t->limit[17])
        return -1;
    while (top >= t->limit[n])
        n++;
    *length = n;
    return t->symbols[((int32_t)(top >> (16 - n)) + t->offset[n]) & 255];
}

/* Adds the next difference to the prediction. At least FAST_BITS bits are available before and
 * after. */
INLINE bool decode_dc(bits *b, const hr_jpeg_huffman *t, int32_t *predicted)
{
    uint32_t e = t->fast[b->window >> FAST_SHIFT];
    refill(b);
    uint32_t length = (e >> 16) & 63, size = e >> 24, total = e & 63;
    if (__builtin_expect(total == 0, 0)) {
        int32_t symbol = find_symbol(t, b->window, &length);
        if (symbol < 0)
            return false;
        size = (uint32_t)symbol;
        total = length + size;
    }
    uint32_t difference = (uint32_t)extend(b->window << length, 0u - size);
    *predicted = (int32_t)((uint32_t)*predicted + (size > 0 ? difference : 0));
    b->window <<= total;
    b->count -= total;
    return true;
}

INLINE bits open_bits(const hr_jpeg_scan *s)
{
    bits b = {s->next, s->window, s->count};
    refill(&b);
    return b;
}

INLINE void close_bits(hr_jpeg_scan *s, bits b)
{
    s->next = b.next;
    s->window = b.window;
    s->count = b.count;
}
