/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Huffman decoding of sequential JPEG. What bounds it is the chain window -> table -> shift, so an
 * entry of the table takes up to two symbols with their values' lengths, and the values, which are
 * not on the chain, are made by arithmetic. Nor is the refill: the index of the look-up after it is
 * taken from the bits that were there before, of which FAST_BITS are always left. */
#include "kernels/jpeg.h"
#include "kernels/level.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define Z(natural) HR_JPEG_PLACE((natural) / 8, (natural) % 8)

/* From zigzag order; runs that lead out of the block end at its last place, what is no coefficient
 * falls behind it. */
static const uint8_t place[256] = {
    Z(0),       Z(1),       Z(8),       Z(16),      Z(9),    Z(2),    Z(3),    Z(10),
    Z(17),      Z(24),      Z(32),      Z(25),      Z(18),   Z(11),   Z(4),    Z(5),
    Z(12),      Z(19),      Z(26),      Z(33),      Z(40),   Z(48),   Z(41),   Z(34),
    Z(27),      Z(20),      Z(13),      Z(6),       Z(7),    Z(14),   Z(21),   Z(28),
    Z(35),      Z(42),      Z(49),      Z(56),      Z(57),   Z(50),   Z(43),   Z(36),
    Z(29),      Z(22),      Z(15),      Z(23),      Z(30),   Z(37),   Z(44),   Z(51),
    Z(58),      Z(59),      Z(52),      Z(45),      Z(38),   Z(31),   Z(39),   Z(46),
    Z(53),      Z(60),      Z(61),      Z(54),      Z(47),   Z(55),   Z(62),   Z(63),
#define X4(v) v, v, v, v
#define X16(v) X4(v), X4(v), X4(v), X4(v)
    X16(Z(63)), X16(Z(63)), X16(Z(63)), X16(Z(63)), X16(64), X16(64), X16(64), X16(64),
    X16(64),    X16(64),    X16(64),    X16(64)};

enum {
    FAST_SHIFT = 64 - HR_JPEG_FAST_BITS,
    COEFS = 96 /* of a block, what is no coefficient, and up to a multiple of 64 bytes */
};

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

/* The symbol of the code on top of the window, by its length; -1 when there is none. */
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

/* A symbol that the fast table does not have, at place k; the new place. */
static uint32_t slow_symbol(bits *b, const hr_jpeg_huffman *t, uint32_t k, int16_t *coef)
{
    uint32_t length;
    refill(b);
    int32_t symbol = find_symbol(t, b->window, &length);
    if (symbol < 0)
        return UINT32_MAX;
    uint32_t size = (uint32_t)symbol & 15, run = (uint32_t)symbol >> 4;
    if (size == 0)
        k += run == 15 ? 16 : HR_JPEG_RUN_END;
    else
        k += run + 1;
    if (coef && size > 0)
        coef[place[k]] = (int16_t)extend(b->window << length, 0u - size);
    b->window <<= length + size;
    b->count -= length + size;
    return k;
}

/* The AC coefficients of a block into zeroed memory (NULL: nowhere). Returns the last place written
 * in zigzag order, or -1 for damage. `sum` holds the bits taken since the refill in its lowest
 * byte and the place above it; what entries have above that does not reach down. The second value
 * is stored first: one that is not there falls on the place of the first. */
INLINE int32_t decode_ac(bits *b, const hr_jpeg_huffman *t, int16_t *coef)
{
    uint32_t k = 0;
    bits r = *b;
    for (;;) {
        uint32_t sum = k << 8, before = k;
        uint64_t e = 0, window, index = r.window >> FAST_SHIFT;
        refill(&r);
        for (int i = 0; i < HR_JPEG_LOOKUPS; i++) {
            window = r.window;
            before = k;
            e = t->pair[index];
            r.window <<= e & 63;
            index = r.window >> FAST_SHIFT;
            sum += (uint32_t)e;
            k = (uint8_t)(sum >> 8);
            if (coef) {
                uint32_t first = before + (uint32_t)(e >> 56);
                coef[place[k]] = (int16_t)extend(window << (e >> 16 & 63), (uint32_t)(e >> 24));
                coef[place[first]] = (int16_t)extend(window << (e >> 32 & 63), (uint32_t)(e >> 40));
            }
            if (k >= 63)
                break;
        }
        r.count -= sum & 255;
        if (k < 63)
            continue;
        uint32_t first = before + (uint32_t)(e >> 56);
        if (__builtin_expect(first >= 63 && first < HR_JPEG_RUN_END, 0)) {
            /* the block ended with the first symbol: give the second back */
            r.window = window << (e >> 48 & 63);
            r.count += (e & 63) - (e >> 48 & 63);
            k = first;
        } else if (__builtin_expect(k >= HR_JPEG_RUN_SLOW, 0)) {
            *b = r;
            k = slow_symbol(b, t, k - HR_JPEG_RUN_SLOW, coef);
            r = *b;
            if (k < 63)
                continue;
            if (k == UINT32_MAX)
                return -1;
        }
        break;
    }
    *b = r;
    return k >= HR_JPEG_RUN_END ? (int32_t)k - HR_JPEG_RUN_END : 63;
}

/* Out of line, so that they have all registers. */
static __attribute__((noinline)) int32_t read_ac(bits *b, const hr_jpeg_huffman *t, int16_t *coef)
{
    return decode_ac(b, t, coef);
}

static __attribute__((noinline)) int32_t skip_ac(bits *b, const hr_jpeg_huffman *t)
{
    return decode_ac(b, t, NULL);
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

/* Not memset: some tunings make that a `rep stos`, which takes longer than the block. */
INLINE void clear_block(int16_t *coef)
{
    typedef int16_t quarter __attribute__((vector_size(32)));
    for (int i = 0; i < 4; i++)
        ((quarter *)(void *)coef)[i] = (quarter){0};
}

INLINE bool is_due(const hr_jpeg_scan *s, const bits *b)
{
    return (uintptr_t)b->next > (uintptr_t)s->due - 1; /* NULL is behind everything */
}

static __attribute__((noinline, cold)) void write_mark(hr_jpeg_scan *s, const uint8_t *next,
                                                       uint64_t count, int32_t m)
{
    hr_jpeg_mark *mark = &s->mark[s->marks++];
    *mark = (hr_jpeg_mark){.next = next, .count = (uint32_t)count, .mcu = s->mcu + m};
    memcpy(mark->predicted, s->predicted, sizeof mark->predicted);
    s->due = next + HR_JPEG_MARK_BYTES;
}

/* v4 transforms two blocks at once. */
#if defined(HR_LEVEL_v4)
enum { WAITING = 2 };
#else
enum { WAITING = 1 };
#endif

static inline void transform(const hr_jpeg_coefs waiting[WAITING])
{
    if (WAITING == 2)
        HR_LEVELED(hr__jpeg_idct_two)(waiting);
    else
        HR_LEVELED(hr__jpeg_idct)(waiting);
}

/* Two blocks are transformed while the next one is decoded: their arithmetic fills the time in
 * which the symbols wait for each other, and vectors read from single coefficients just stored
 * would wait.
 */
bool HR_LEVELED(hr__jpeg_mcus)(hr_jpeg_scan *s, int32_t mcus)
{
    int16_t coefs[WAITING + 1][COEFS] __attribute__((aligned(64)));
    hr_jpeg_coefs waiting[WAITING];
    int32_t turn = 0, count = 0;
    bits b = open_bits(s);
    for (int32_t m = 0; m < mcus; m++) {
        if (is_due(s, &b))
            write_mark(s, b.next, b.count, m);
        for (int32_t i = 0; i < s->blocks; i++) {
            hr_jpeg_block *block = &s->block[i];
            int32_t last, *predicted = &s->predicted[block->component];
            if (b.next > s->end + 8 || !decode_dc(&b, block->dc, predicted))
                return false;
            if (!block->dst) {
                if (skip_ac(&b, block->ac) < 0)
                    return false;
                continue;
            }
            if (count == WAITING) {
                transform(waiting);
                count = 0;
            }
            int16_t *coef = coefs[turn];
            clear_block(coef);
            last = read_ac(&b, block->ac, coef);
            if (last < 0)
                return false;
            coef[0] = (int16_t)*predicted;
            waiting[count++] = (hr_jpeg_coefs){block->dst, block->stride, coef, block->quant, last};
            block->dst += block->step;
            turn = turn == WAITING ? 0 : turn + 1;
        }
    }
    for (int32_t i = 0; i < count; i++)
        HR_LEVELED(hr__jpeg_idct)(&waiting[i]);
    close_bits(s, b);
    s->mcu += mcus;
    return true;
}

bool HR_LEVELED(hr__jpeg_skip)(hr_jpeg_scan *s, int32_t mcus)
{
    bits b = open_bits(s);
    for (int32_t m = 0; m < mcus; m++) {
        if (is_due(s, &b))
            write_mark(s, b.next, b.count, m);
        for (int32_t i = 0; i < s->blocks; i++) {
            const hr_jpeg_block *block = &s->block[i];
            if (b.next > s->end + 8 || !decode_dc(&b, block->dc, &s->predicted[block->component]) ||
                skip_ac(&b, block->ac) < 0)
                return false;
        }
    }
    close_bits(s, b);
    s->mcu += mcus;
    return true;
}
