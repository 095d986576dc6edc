/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/lzw.h"

enum { CODES = 4096, MAX_WIDTH = 12 };

/* The strings of codes, which all lie in the output. */
typedef struct strings {
    uint32_t at[CODES]; /* offset in the output */
    uint32_t length[CODES];
} strings;

typedef struct bit_reader {
    const uint8_t *p, *end;
    uint32_t bits, count;
} bit_reader;

/* False at the end of the data. */
static inline bool next_code(bit_reader *r, uint32_t width, bool msb, uint32_t *code)
{
    while (r->count < width) {
        if (r->p == r->end)
            return false;
        r->bits = msb ? r->bits << 8 | *r->p++ : r->bits | (uint32_t)*r->p++ << r->count;
        r->count += 8;
    }
    r->count -= width;
    *code = (msb ? r->bits >> r->count : r->bits) & ((1u << width) - 1);
    if (!msb)
        r->bits >>= width;
    return true;
}

/* Copies a string that may end in the byte that is being written. */
static void copy_string(uint8_t *out, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = from[i];
}

static inline hr_lzw_result unpack(const uint8_t *in, size_t size, uint32_t bits, bool msb,
                                   uint8_t *out, size_t out_size)
{
    strings table;
    bit_reader r = {in, in + size, 0, 0};
    const uint32_t clear = 1u << bits, first = clear + 2, early = msb;
    uint32_t width = bits + 1, next = first, code;
    size_t n = 0, last_at = 0, last = 0; /* written; the previous string: its place and length */

    while (n < out_size) {
        if (!next_code(&r, width, msb, &code) || code == clear + 1)
            return HR_LZW_SHORT;
        if (code == clear) {
            width = bits + 1;
            next = first;
            last = 0;
            continue;
        }
        /* The string of a new code is the previous one and the first byte of this one; both lie
         * one after the other in the output. */
        if (last > 0 && next < CODES) {
            table.at[next] = (uint32_t)last_at;
            table.length[next++] = (uint32_t)last + 1;
        }
        size_t length = 1, left = out_size - n;
        if (code < clear) {
            out[n] = (uint8_t)code;
        } else if (code < next) {
            length = table.length[code];
            copy_string(out + n, out + table.at[code], HR_MIN(length, left));
        } else {
            return HR_LZW_DAMAGED;
        }
        last_at = n;
        last = length;
        n += HR_MIN(length, left);
        if (next + early >= 1u << width && width < MAX_WIDTH)
            width++;
    }
    return HR_LZW_DONE;
}

hr_lzw_result hr_lzw_unpack_msb(const uint8_t *in, size_t size, uint8_t *out, size_t out_size)
{
    return unpack(in, size, 8, true, out, out_size);
}

hr_lzw_result hr_lzw_unpack_lsb(const uint8_t *in, size_t size, uint32_t bits, uint8_t *out,
                                size_t out_size)
{
    return unpack(in, size, bits, false, out, out_size);
}
