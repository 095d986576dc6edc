/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/volume/gunzip.h"

#include "codecs/bytes.h"
#include "core/inflate.h"

#include <string.h>
#include <zlib.h>

enum { GZIP = 16 + MAX_WBITS, LARGEST_RATIO = 1032, CHUNK = 1 << 30 };

bool hr_gunzip_match(const uint8_t *bytes, size_t size)
{
    return size > 18 && bytes[0] == 0x1F && bytes[1] == 0x8B && bytes[2] == 8;
}

typedef struct stream {
    z_stream z;
    const uint8_t *in;
    size_t left;
} stream;

static bool start(stream *s, const uint8_t *bytes, size_t size)
{
    *s = (stream){.in = bytes, .left = size};
    return inflateInit2(&s->z, GZIP) == Z_OK;
}

/* Writes up to `room` bytes, or counts them if `out` is NULL. False: the file is damaged. */
static bool more(stream *s, uint8_t *out, size_t room, size_t *done)
{
    uint8_t scratch[4096];
    int result = Z_OK;
    *done = 0;
    while (*done < room) {
        size_t n = HR_MIN(room - *done, out ? (size_t)CHUNK : sizeof(scratch));
        s->z.next_in = (uint8_t *)(uintptr_t)s->in;
        s->z.avail_in = (uInt)HR_MIN(s->left, (size_t)CHUNK);
        s->z.next_out = out ? out + *done : scratch;
        s->z.avail_out = (uInt)n;
        result = inflate(&s->z, Z_NO_FLUSH);
        s->left -= (size_t)(s->z.next_in - s->in);
        s->in = s->z.next_in;
        *done += n - s->z.avail_out;
        if (result == Z_STREAM_END && !(s->left > 2 && s->in[0] == 0x1F && s->in[1] == 0x8B))
            return true; /* zeros behind the last member are padding */
        if (result == Z_STREAM_END)
            result = inflateReset(&s->z);
        if (result != Z_OK)
            return false;
    }
    return true;
}

size_t hr_gunzip_start(const uint8_t *bytes, size_t size, void *out, size_t room)
{
    stream s;
    size_t done = 0;
    if (!start(&s, bytes, size))
        return 0;
    more(&s, out, room, &done);
    inflateEnd(&s.z);
    return done;
}

/* The size, by inflating everything. */
static bool measure(const uint8_t *bytes, size_t size, size_t *out)
{
    stream s;
    bool good = start(&s, bytes, size) && more(&s, NULL, SIZE_MAX, out);
    inflateEnd(&s.z);
    return good;
}

hr_status hr_gunzip(const uint8_t *bytes, size_t size, hr_arena *arena, const uint8_t **out,
                    size_t *out_size, hr_error *error)
{
    stream s;
    size_t claimed = hr_get_le32(bytes + size - 4), done;
    /* Of a file with one member, the end says the size: that is the quick way. */
    if (claimed / LARGEST_RATIO <= size) {
        uint8_t *memory = hr_arena_alloc(arena, claimed + 1, error);
        if (!memory)
            return HR_STATUS_NO_MEMORY;
        *out = memory;
        *out_size = claimed;
        if (hr_inflate(HR_DEFLATE_GZIP, bytes, size, memory, claimed))
            return HR_STATUS_OK;
    }
    if (!measure(bytes, size, out_size))
        return hr_fail(error, HR_STATUS_CORRUPT, "gzip: the file is damaged or ends early");
    uint8_t *memory = hr_arena_alloc(arena, *out_size + 1, error);
    if (!memory)
        return HR_STATUS_NO_MEMORY;
    bool good = start(&s, bytes, size) && more(&s, memory, *out_size, &done) && done == *out_size;
    inflateEnd(&s.z);
    *out = memory;
    return good ? HR_STATUS_OK : hr_fail(error, HR_STATUS_CORRUPT, "gzip: the file is damaged");
}
