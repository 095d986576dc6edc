/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "core/inflate.h"

#include <libdeflate.h>

/* zlib compares the checksum of a header of gzip, which libdeflate skips. */
enum { GZIP_FLAGS = 3, GZIP_HEADER_CRC = 2 };

bool hr_inflate(hr_deflate kind, const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    uint8_t none; /* there has to be an address, even for nothing */
    enum libdeflate_result result = LIBDEFLATE_BAD_DATA;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        return false;
    out = out_size > 0 ? out : &none;
    if (kind == HR_DEFLATE_RAW)
        result = libdeflate_deflate_decompress(d, in, in_size, out, out_size, NULL);
    else if (kind == HR_DEFLATE_ZLIB)
        result = libdeflate_zlib_decompress(d, in, in_size, out, out_size, NULL);
    else if (in_size > GZIP_FLAGS && !(in[GZIP_FLAGS] & GZIP_HEADER_CRC))
        result = libdeflate_gzip_decompress(d, in, in_size, out, out_size, NULL);
    libdeflate_free_decompressor(d);
    return result == LIBDEFLATE_SUCCESS;
}

uint32_t hr_crc32(uint32_t crc, const void *bytes, size_t size)
{
    return libdeflate_crc32(crc, bytes, size);
}
