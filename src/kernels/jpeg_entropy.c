/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Huffman decoding of sequential JPEG. Its speed is bound by the dependency chain window -> table
 * -> shift. So a table entry covers up to two symbols and the lengths of their values; the values
 * are computed outside the chain. The refill is outside the chain too: the next index comes from
 * the bits before it, of which FAST_BITS are always left.
 *
 * What is outside the chain delays it where both need the same units. Most x86-64 CPUs have two for
 * shifts. So fields of entries are loaded, not shifted out, and negative values are completed by
 * the inverse DCT (hr_jpeg_coefs.ones_complement). */
#include "kernels/jpeg_bits.h"
#include "kernels/level.h"

enum {
    COEFS = 96 /* 64 coefficients, and room for writes beyond the last; a multiple of 64 bytes */
};

/* One structure, so that one register points at both tables. `high` has the bits above a value, by
 * 64 less its size. */
static const struct {
    uint8_t position[256];
    int16_t high[64];
} tables = {POSITIONS,
#define HIGH(size) [64 - (size)] = -(1 << (size))
            {HIGH(1), HIGH(2), HIGH(3), HIGH(4), HIGH(5), HIGH(6), HIGH(7), HIGH(8), HIGH(9),
             HIGH(10), HIGH(11), HIGH(12), HIGH(13), HIGH(14), HIGH(15)}};

/* Field `n` of an entry of `pair`, from the lowest byte. */
INLINE uint32_t field(const uint64_t *entry, int n)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return ((const uint8_t *)entry)[n];
#else
    return (uint8_t)(*entry >> 8 * n);
#endif
}

/* The value of the `-shift` bits on top of w, 1 to 15. It is coded in ones' complement, its sign
 * bit inverted; so a negative value is less by 1 here. */
INLINE int16_t value(uint64_t w, uint32_t shift)
{
    return (int16_t)(((int64_t)w >> shift) ^ tables.high[shift]);
}

/* Reads a symbol that is not in the fast table, at zigzag index k. Returns the new index. */
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
        coef[tables.position[k]] = value(b->window << length, 64 - size);
    b->window <<= length + size;
    b->count -= length + size;
    return k;
}

/* Gives bits back that were taken from the window. */
INLINE void give_back(bits *b, uint32_t n)
{
    b->count += n;
    b->window = load_be64(b->next - ((b->count + 7) >> 3)) << (-b->count & 7);
}

/* Takes one or two symbols at zigzag index k from the window; returns the new index. The second
 * value is stored first: a missing one goes to the position of the first, which overwrites it. */
INLINE uint32_t take(bits *b, const uint64_t *entry, uint32_t k, int16_t *coef, uint64_t *sum)
{
    uint64_t e = *entry, window = b->window;
    b->window <<= e & 63;
    *sum += e;
    uint32_t first = k + field(entry, 7);
    k += field(entry, 1);
    if (coef) {
        coef[tables.position[k]] = value(window << (field(entry, 2) & 63), field(entry, 3));
        coef[tables.position[first]] = value(window << (field(entry, 4) & 63), field(entry, 5));
    }
    return k;
}

/* Decodes the AC coefficients of a block into zeroed memory (NULL: skips them); negative ones are
 * stored less 1. Returns the last zigzag index written, or -1 for damage. The lowest byte of `sum`
 * holds the bits taken since the refill; the higher bytes of entries do not affect it. */
INLINE int32_t decode_ac(bits *b, const hr_jpeg_huffman *t, int16_t *coef)
{
    uint32_t k = 0;
    bits r = *b;
    for (;;) {
        uint64_t sum = 0;
        const uint64_t *entry = &t->pair[r.window >> FAST_SHIFT];
        refill(&r);
        for (int i = 0; i < HR_JPEG_LOOKUPS; i++) {
            if (i > 0)
                entry = &t->pair[r.window >> FAST_SHIFT];
            k = take(&r, entry, k, coef, &sum);
            if (k >= 63)
                break;
        }
        r.count -= sum & 255;
        if (k < 63)
            continue;
        uint32_t first = k - field(entry, 1) + field(entry, 7);
        if (__builtin_expect(first >= 63 && first < HR_JPEG_RUN_END, 0)) {
            /* the block ended with the first symbol */
            give_back(&r, field(entry, 0) - field(entry, 6));
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

/* Not inlined, so that all registers are available. */
static __attribute__((noinline)) int32_t read_ac(bits *b, const hr_jpeg_huffman *t, int16_t *coef)
{
    return decode_ac(b, t, coef);
}

static __attribute__((noinline)) int32_t skip_ac(bits *b, const hr_jpeg_huffman *t)
{
    return decode_ac(b, t, NULL);
}

/* Not memset: some compilers emit `rep stos`, which is slower than decoding the block. */
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

/* v4 transforms two blocks at a time. */
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

/* Blocks are transformed while the next one is decoded: their arithmetic fills the latency of
 * symbol decoding, and vector loads of coefficients that were just stored one by one would stall.
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
            waiting[count++] =
                (hr_jpeg_coefs){block->dst, block->stride, coef, block->quant, last, true};
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
