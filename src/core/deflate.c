/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "core/deflate.h"

#include <libdeflate.h>

size_t hr_zlib_bound(size_t size)
{
    return libdeflate_zlib_compress_bound(NULL, size);
}

size_t hr_zlib_compress(int32_t level, const void *in, size_t size, void *out, size_t room)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    if (!c)
        return 0;
    size_t made = libdeflate_zlib_compress(c, in, size, out, room);
    libdeflate_free_compressor(c);
    return made;
}
