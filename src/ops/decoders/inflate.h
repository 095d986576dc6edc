/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.inflate: the chunks of a sample, and the LZ4 block format, for the CPU and devices. */
#pragma once

#include "core/shared.h"

#include <stdint.h>
#include <string.h>

typedef enum hr_inflate_format {
    HR_INFLATE_LZ4,
    HR_INFLATE_DEFLATE,
    HR_INFLATE_ZLIB,
    HR_INFLATE_GZIP
} hr_inflate_format;

typedef struct hr_inflate_chunk {
    int64_t from, size; /* within the input */
} hr_inflate_chunk;

/* The memo that infer leaves for the run. */
typedef struct hr_inflate_plan {
    hr_inflate_format format;
    int64_t count, inflated; /* chunks; bytes of each of them in the output */
    hr_inflate_chunk *chunks;
} hr_inflate_plan;

/* Adds the bytes that continue a length of 15; -1: the input ends. */
HR_SHARED int64_t lz4_length(const uint8_t **at, const uint8_t *end, int64_t length)
{
    uint8_t more = 255;
    while (more == 255) {
        if (*at == end)
            return -1;
        more = *(*at)++;
        length += more;
    }
    return length;
}

/* Copies bytes that may overlap: each may be one that this call wrote. */
HR_SHARED void lz4_copy(uint8_t *to, int64_t distance, int64_t size, int64_t room)
{
    const uint8_t *from = to - distance;
    int64_t i = 0;
    for (; distance >= 8 && i < size && i + 8 <= room; i += 8)
        memcpy(to + i, from + i, 8);
    for (; i < size; i++)
        to[i] = from[i];
}

/* Decompresses one LZ4 block to `size` bytes and returns `size`. If it is damaged or inflates
 * to another size, the result is ~n: only the first n bytes are right. */
HR_SHARED int64_t lz4_inflate(const uint8_t *at, int64_t coded, uint8_t *to, int64_t size)
{
    const uint8_t *end = at + coded;
    int64_t done = 0;
    while (at < end) {
        uint8_t token = *at++;
        int64_t literals = token >> 4, match = token & 15;
        literals = literals == 15 ? lz4_length(&at, end, literals) : literals;
        if (literals < 0 || literals > end - at || literals > size - done)
            break;
        memcpy(to + done, at, (size_t)literals);
        at += literals;
        done += literals;
        if (at == end) /* the last sequence has no match */
            return done == size ? size : ~done;
        if (end - at < 2)
            break;
        int64_t distance = at[0] | at[1] << 8;
        at += 2;
        match = match == 15 ? lz4_length(&at, end, match) : match;
        if (match < 0 || distance == 0 || distance > done || match + 4 > size - done)
            break;
        lz4_copy(to + done, distance, match + 4, size - done);
        done += match + 4;
    }
    return ~done;
}
