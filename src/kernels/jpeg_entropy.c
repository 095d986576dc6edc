/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Huffman decoding of sequential JPEG. Its speed is bound by the dependency chain window -> table
 * -> shift. So a table entry covers up to two symbols and the lengths of their values; the values
 * are computed outside the chain. The refill is outside the chain too: the next index comes from
 * the bits before it, of which FAST_BITS are always left. */
#include "kernels/jpeg_bits.h"
#include "kernels/level.h"

enum {
    COEFS = 96 /* 64 coefficients, and room for writes beyond the last; a multiple of 64 bytes */
};

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
        coef[position[k]] = (int16_t)extend(b->window << length, 0u - size);
    b->window <<= length + size;
    b->count -= length + size;
    return k;
}

/* Decodes the AC coefficients of a block into zeroed memory (NULL: skips them). Returns the last
 * zigzag index written, or -1 for damage. The lowest byte of `sum` holds the bits taken since the
 * refill, the byte above it the zigzag index; higher bytes of entries do not affect these. The
 * second value is stored first: a missing one goes to the position of the first, which overwrites
 * it. */
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
                coef[position[k]] = (int16_t)extend(window << (e >> 16 & 63), (uint32_t)(e >> 24));
                coef[position[first]] =
                    (int16_t)extend(window << (e >> 32 & 63), (uint32_t)(e >> 40));
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
