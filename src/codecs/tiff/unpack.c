/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/unpack.h"

#include "codecs/lzw.h"
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

hr_status hr_tiff_unpack_lzw(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                             hr_error *error)
{
    if (out_size > UINT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "TIFF: an LZW block of %zu bytes is too large",
                       out_size);
    switch (hr_lzw_unpack_msb(in, size, out, out_size)) {
    case HR_LZW_DONE:
        return HR_STATUS_OK;
    case HR_LZW_SHORT:
        return too_short(error);
    default:
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: damaged LZW data");
    }
}
