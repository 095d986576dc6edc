// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// NAL units with lengths, as MP4 and Matroska store them, become units with start codes.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace video
{

// Bytes that grow; `failed` once there is no memory.
struct Bytes {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

inline void append(Bytes *b, const void *from, size_t size)
{
    if (b->room - b->size < size) {
        size_t room = 2 * (b->size + size) + 64;
        uint8_t *more = (uint8_t *)realloc(b->data, room);
        b->failed = b->failed || !more;
        if (!more)
            return;
        b->data = more;
        b->room = room;
    }
    if (size > 0)
        memcpy(b->data + b->size, from, size);
    b->size += size;
}

inline void append_unit(Bytes *b, const uint8_t *unit, size_t size)
{
    static const uint8_t start[4] = {0, 0, 0, 1};
    append(b, start, sizeof start);
    append(b, unit, size);
}

// A number of `size` bytes at `at`; false if they are not there.
inline bool read_number(const uint8_t *from, size_t end, size_t *at, size_t size, size_t *out)
{
    if (end - *at < size)
        return false;
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out = *out << 8 | from[(*at)++];
    return true;
}

// Appends `count` units with lengths of `size` bytes, fewer if they are cut short.
inline void append_units(Bytes *b, const uint8_t *from, size_t end, size_t *at, size_t size,
                         size_t count)
{
    size_t length;
    for (; count > 0 && *at < end; count--) {
        if (!read_number(from, end, at, size, &length) || length > end - *at)
            return;
        append_unit(b, from + *at, length);
        *at += length;
    }
}

// The parameter sets of an avcC; the size of lengths, or 0 if it is damaged.
inline size_t append_avcc(Bytes *b, const uint8_t *from, size_t end)
{
    size_t at = 5, count;
    if (end < 6 || from[0] != 1)
        return 0;
    for (int32_t kind = 0; kind < 2; kind++)
        if (read_number(from, end, &at, 1, &count))
            append_units(b, from, end, &at, 2, kind == 0 ? count & 31 : count);
    return (size_t)(from[4] & 3) + 1;
}

// The same of an hvcC.
inline size_t append_hvcc(Bytes *b, const uint8_t *from, size_t end)
{
    size_t at = 23, kind, count;
    if (end < 23 || from[0] != 1)
        return 0;
    for (int32_t i = 0; i < from[22]; i++)
        if (read_number(from, end, &at, 1, &kind) && read_number(from, end, &at, 2, &count))
            append_units(b, from, end, &at, 2, count);
    return (size_t)(from[21] & 3) + 1;
}

} // namespace video
