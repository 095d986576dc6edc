/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/unpack.h"

#include "core/inflate.h"

#include <string.h>

#include <zlib.h>

static hr_status too_short(hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: compressed data ends before its pixels do");
}

hr_status hr_tiff_unpack_bits(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                              hr_error *error)
{
    const uint8_t *end = in + size, *out_end = out + out_size;
    while (out < out_end) {
        if (in == end)
            return too_short(error);
        int8_t code = (int8_t)*in++;
        if (code == -128) /* no operation */
            continue;
        size_t n = code < 0 ? 1 - (size_t)code : (size_t)code + 1; /* a run, or literal bytes */
        size_t source = code < 0 ? 1 : n;
        if ((size_t)(end - in) < source)
            return too_short(error);
        size_t written = HR_MIN(n, (size_t)(out_end - out));
        if (code < 0)
            memset(out, *in, written);
        else
            memcpy(out, in, written);
        in += source;
        out += written;
    }
    return HR_STATUS_OK;
}

hr_status hr_tiff_inflate(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                          hr_error *error)
{
    z_stream z = {0};
    if (hr_inflate(HR_DEFLATE_ZLIB, in, size, out, out_size))
        return HR_STATUS_OK;
    int result = inflateInit(&z);
    if (result != Z_OK)
        return hr_fail_memory(error, 0);
    while (result == Z_OK && out_size > 0) {
        z.next_in = (z_const Bytef *)in;
        z.avail_in = (uInt)HR_MIN(size, 1u << 30);
        z.next_out = out;
        z.avail_out = (uInt)HR_MIN(out_size, 1u << 30);
        result = inflate(&z, Z_SYNC_FLUSH);
        size -= (size_t)(z.next_in - in);
        in = z.next_in;
        out_size -= (size_t)(z.next_out - out);
        out = z.next_out;
    }
    inflateEnd(&z);
    if (result == Z_MEM_ERROR)
        return hr_fail_memory(error, 0);
    if (result == Z_DATA_ERROR || result == Z_NEED_DICT)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: damaged Deflate data");
    return out_size > 0 ? too_short(error) : HR_STATUS_OK;
}

/* ---- LZW: codes of 9 to 12 bits, most significant bit first ---- */

enum { LZW_CLEAR = 256, LZW_END, LZW_FIRST, LZW_CODES = 4096, LZW_MIN_BITS = 9, LZW_MAX_BITS = 12 };

/* A string is a place in the output where it was written. */
typedef struct lzw {
    uint32_t at[LZW_CODES]; /* offset in the output */
    uint32_t length[LZW_CODES];
} lzw;

typedef struct bit_reader {
    const uint8_t *p, *end;
    uint32_t bits, count;
} bit_reader;

/* The next code; LZW_END at the end of the data. */
static uint32_t next_code(bit_reader *r, uint32_t width)
{
    while (r->count < width) {
        if (r->p == r->end)
            return LZW_END;
        r->bits = r->bits << 8 | *r->p++;
        r->count += 8;
    }
    r->count -= width;
    return r->bits >> r->count & ((1u << width) - 1);
}

/* Copies a string that may end in the byte that is being written. */
static void copy_string(uint8_t *out, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = from[i];
}

hr_status hr_tiff_unpack_lzw(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                             hr_error *error)
{
    lzw table;
    bit_reader r = {in, in + size, 0, 0};
    uint32_t width = LZW_MIN_BITS, next = LZW_FIRST;
    size_t n = 0, last_at = 0, last = 0; /* written; the previous string: its place and length */

    if (out_size > UINT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "TIFF: an LZW block of %zu bytes is too large",
                       out_size);
    while (n < out_size) {
        uint32_t code = next_code(&r, width);
        if (code == LZW_END)
            return too_short(error);
        if (code == LZW_CLEAR) {
            width = LZW_MIN_BITS;
            next = LZW_FIRST;
            last = 0;
            continue;
        }
        /* The string of a new code is the previous one and the first byte of this one; both lie
         * one after the other in the output. */
        if (last > 0 && next < LZW_CODES) {
            table.at[next] = (uint32_t)last_at;
            table.length[next++] = (uint32_t)last + 1;
        }
        size_t length = 1, left = out_size - n;
        if (code < LZW_CLEAR) {
            out[n] = (uint8_t)code;
        } else if (code < next) {
            length = table.length[code];
            copy_string(out + n, out + table.at[code], HR_MIN(length, left));
        } else {
            return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: damaged LZW data");
        }
        last_at = n;
        last = length;
        n += HR_MIN(length, left);
        if (next + 1 >= 1u << width && width < LZW_MAX_BITS)
            width++;
    }
    return HR_STATUS_OK;
}
