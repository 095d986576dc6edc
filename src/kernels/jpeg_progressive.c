/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Scans of progressive JPEG. A mask of nonzero coefficients lets a refinement scan find the end of
 * a zero run, and the coefficients inside it that get a correction bit, without visiting each. */
#include "kernels/jpeg_bits.h"
#include "kernels/level.h"

static const uint8_t position[256] = POSITIONS;

typedef struct symbol {
    uint32_t run; /* advance of the zigzag index, or HR_JPEG_RUN_END */
    uint32_t size;
} symbol;

/* Reads a symbol of an AC table; its value is not read. FAST_BITS must be available; at least 40
 * are left. False: there is no such code. */
INLINE bool read_symbol(bits *b, const hr_jpeg_huffman *t, symbol *s)
{
    uint32_t e = t->fast[b->window >> FAST_SHIFT], length = e >> 16 & 63;
    *s = (symbol){e >> 8 & 255, e >> 24};
    refill(b);
    if (__builtin_expect(length == 0, 0)) {
        int32_t found = find_symbol(t, b->window, &length);
        if (found < 0)
            return false;
        *s = (symbol){1 + ((uint32_t)found >> 4), (uint32_t)found & 15};
        if (s->size == 0 && s->run < 16)
            *s = (symbol){HR_JPEG_RUN_END, s->run - 1};
    }
    b->window <<= length;
    b->count -= length;
    return true;
}

INLINE uint32_t take(bits *b, uint32_t n)
{
    uint32_t v = (uint32_t)(b->window >> 1 >> (63 - n));
    b->window <<= n;
    b->count -= n;
    return v;
}

/* ---- DC ---- */

INLINE bool dc_first(bits *b, hr_jpeg_scan *s, hr_jpeg_pass *p)
{
    for (int32_t i = 0; i < p->blocks; i++) {
        int32_t *predicted = &s->predicted[p->block[i].component];
        if (!decode_dc(b, p->block[i].table, predicted))
            return false;
        p->block[i].coef[0] = (int16_t)((uint32_t)*predicted << p->low);
    }
    return true;
}

INLINE void dc_refine(bits *b, hr_jpeg_pass *p)
{
    refill(b);
    for (int32_t i = 0; i < p->blocks; i++)
        p->block[i].coef[0] = (int16_t)(p->block[i].coef[0] | take(b, 1) << p->low);
}

/* ---- AC ---- */

static bool ac_first(bits *b, hr_jpeg_pass *p)
{
    uint32_t k = (uint32_t)p->first, end = (uint32_t)p->last + 1, low = (uint32_t)p->low;
    uint64_t mask = *p->mask;
    bits r = *b;
    if (p->ended > 0) {
        p->ended--;
        return true;
    }
    while (k < end) {
        symbol s;
        if (!read_symbol(&r, p->block[0].table, &s))
            return false;
        if (s.run == HR_JPEG_RUN_END) {
            p->ended = (1u << s.size) - 1 + take(&r, s.size);
            break;
        }
        k += s.run;
        if (s.size > 0) {
            if (k > end || s.size + low > 14)
                return false;
            uint32_t v = (uint32_t)extend(r.window, 0u - s.size);
            p->block[0].coef[position[k - 1]] = (int16_t)(v << low);
            mask |= (uint64_t)1 << (k - 1);
            r.window <<= s.size;
            r.count -= s.size;
        }
    }
    *p->mask = mask;
    *b = r;
    return true;
}

/* The index of the n-th set bit, counted from 0; 64 if there are fewer. */
INLINE uint32_t find_bit(uint64_t mask, uint32_t n)
{
#if defined(__BMI2__)
    mask = __builtin_ia32_pdep_di((uint64_t)1 << n, mask);
#else
    for (; n > 0; n--)
        mask &= mask - 1;
#endif
    return mask ? (uint32_t)__builtin_ctzll(mask) : 64;
}

/* Bits from `first` to `end` (exclusive); first < 64, 0 < end <= 64. */
INLINE uint64_t between(uint32_t first, uint32_t end)
{
    return ~(uint64_t)0 << first & ~(uint64_t)0 >> (64 - end);
}

/* Reads one correction bit for each of these coefficients; it moves them away from zero. */
INLINE void correct(bits *b, int16_t *coef, uint64_t which, uint32_t low)
{
    while (which) {
        if (__builtin_expect(b->count < 1, 0))
            refill(b);
        int16_t *c = &coef[position[__builtin_ctzll(which)]];
        int32_t set = (int32_t)((int64_t)b->window >> 63), sign = *c >> 15, one = 1 << low;
        *c = (int16_t)(*c + (((one ^ sign) - sign) & set));
        b->window <<= 1;
        b->count--;
        which &= which - 1;
    }
}

static bool ac_refine(bits *b, hr_jpeg_pass *p)
{
    uint32_t k = (uint32_t)p->first, end = (uint32_t)p->last + 1, low = (uint32_t)p->low;
    uint64_t old = *p->mask, mask = old;
    int16_t *coef = p->block[0].coef;
    bits r = *b;
    while (p->ended == 0 && k < end) {
        symbol s;
        if (!read_symbol(&r, p->block[0].table, &s) || (s.size > 1 && s.run != HR_JPEG_RUN_END))
            return false;
        if (s.run == HR_JPEG_RUN_END) {
            p->ended = (1u << s.size) + take(&r, s.size);
            break;
        }
        uint32_t positive = take(&r, s.size), at = find_bit(~old & between(k, end), s.run - 1);
        at = at < end ? at : end;
        if (at > k)
            correct(&r, coef, old & between(k, at), low);
        if (s.size > 0) {
            if (at == end)
                return false;
            coef[position[at]] = (int16_t)(positive ? 1 << low : -(1 << low));
            mask |= (uint64_t)1 << at;
        }
        k = at + 1;
        refill(&r);
    }
    if (p->ended > 0) {
        correct(&r, coef, old & between(k, end), low);
        p->ended--;
        refill(&r);
    }
    *p->mask = mask;
    *b = r;
    return true;
}

INLINE bool read_mcu(bits *b, hr_jpeg_scan *s, hr_jpeg_pass *p)
{
    if (p->last > 0)
        return p->refine ? ac_refine(b, p) : ac_first(b, p);
    if (!p->refine)
        return dc_first(b, s, p);
    dc_refine(b, p);
    return true;
}

bool HR_LEVELED(hr__jpeg_pass)(hr_jpeg_scan *s, hr_jpeg_pass *p, int32_t mcus)
{
    bits b = open_bits(s);
    for (int32_t m = 0; m < mcus; m++) {
        if (b.next > s->end + 8 || !read_mcu(&b, s, p))
            return false;
        for (int32_t i = 0; i < p->blocks; i++)
            p->block[i].coef += p->block[i].step;
        if (p->mask)
            p->mask++;
    }
    close_bits(s, b);
    s->mcu += mcus;
    return true;
}
