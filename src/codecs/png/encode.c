/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Every row is filtered in all five ways, and the one with the smallest sum of absolute values is
 * taken, as the specification recommends. The pixels are one chunk, compressed at once. */
#include "codecs/png/encode.h"

#include "core/deflate.h"
#include "core/inflate.h"

#include <string.h>

enum {
    FILTERS = 5,
    SIGNATURE = 8,
    CHUNK = 8, /* length and type before the contents; a checksum of 4 bytes follows them */
    CHECKSUM = 4,
    IHDR = 13,
    BEFORE_PIXELS = SIGNATURE + CHUNK + IHDR + CHECKSUM + CHUNK
};

typedef struct rows {
    size_t size;          /* bytes of a row */
    size_t step;          /* bytes of a pixel */
    uint8_t *above, *row; /* as stored; `step` zeros before each */
    uint8_t *filtered[FILTERS];
} rows;

/* The neighbour that is closest to left + up - corner. */
static inline int paeth(int left, int up, int corner)
{
    int p = up - corner, q = left - corner, r = p + q;
    p = p < 0 ? -p : p;
    q = q < 0 ? -q : q;
    r = r < 0 ? -r : r;
    return p <= q && p <= r ? left : q <= r ? up : corner;
}

static void filter(const rows *r)
{
    const uint8_t *restrict row = r->row, *restrict above = r->above;
    const uint8_t *restrict left = row - r->step, *restrict corner = above - r->step;
    uint8_t *restrict sub = r->filtered[1], *restrict up = r->filtered[2];
    uint8_t *restrict mean = r->filtered[3], *restrict nearest = r->filtered[4];
    const size_t n = r->size;

    memcpy(r->filtered[0], row, n);
    for (size_t i = 0; i < n; i++)
        sub[i] = (uint8_t)(row[i] - left[i]);
    for (size_t i = 0; i < n; i++)
        up[i] = (uint8_t)(row[i] - above[i]);
    for (size_t i = 0; i < n; i++)
        mean[i] = (uint8_t)(row[i] - ((left[i] + above[i]) >> 1));
    for (size_t i = 0; i < n; i++)
        nearest[i] = (uint8_t)(row[i] - paeth(left[i], above[i], corner[i]));
}

/* Of bytes taken as signed. */
static uint64_t magnitude(const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t part = 0; /* of numbers that vectors hold */
        end = HR_MIN(n, i + 65536);
        for (size_t k = i; k < end; k++)
            part += bytes[k] < 128 ? bytes[k] : 256u - bytes[k];
        sum += part;
    }
    return sum;
}

static uint8_t *put_row(uint8_t *to, const rows *r)
{
    uint64_t least = UINT64_MAX;
    int best = 0;

    filter(r);
    for (int i = 0; i < FILTERS; i++) {
        uint64_t sum = magnitude(r->filtered[i], r->size);
        best = sum < least ? i : best;
        least = HR_MIN(sum, least);
    }
    *to = (uint8_t)best;
    memcpy(to + 1, r->filtered[best], r->size);
    return to + 1 + r->size;
}

/* Elements of 16 bits are stored with the upper byte first. */
static void load_row(const rows *r, const hr_png_pixels *image, int32_t y)
{
    if (image->bits == 8) {
        memcpy(r->row, (const uint8_t *)image->pixels + (size_t)y * r->size, r->size);
        return;
    }
    const uint16_t *from = (const uint16_t *)image->pixels + (size_t)y * r->size / 2;
    for (size_t i = 0; i < r->size / 2; i++) {
        r->row[2 * i] = (uint8_t)(from[i] >> 8);
        r->row[2 * i + 1] = (uint8_t)from[i];
    }
}

static hr_status rows_make(rows *r, const hr_png_pixels *image, hr_arena *arena, hr_error *error)
{
    r->step = (size_t)image->channels * (size_t)image->bits / 8;
    r->size = (size_t)image->width * r->step;
    uint8_t *memory = hr_arena_alloc(arena, (FILTERS + 2) * r->size + 2 * r->step, error);
    HR_TRY_ALLOC(memory);
    r->above = memory + r->step;
    r->row = r->above + r->size + r->step;
    memset(memory, 0, 2 * (r->size + r->step));
    for (int i = 0; i < FILTERS; i++)
        r->filtered[i] = r->row + (size_t)(i + 1) * r->size;
    return HR_STATUS_OK;
}

/* ---- the file ---- */

static void put_32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Around `size` bytes of contents at at + CHUNK; returns the end. */
static uint8_t *put_chunk(uint8_t *at, const char *type, size_t size)
{
    put_32(at, (uint32_t)size);
    memcpy(at + 4, type, 4);
    put_32(at + CHUNK + size, hr_crc32(0, at + 4, 4 + size));
    return at + CHUNK + size + CHECKSUM;
}

static uint8_t *put_header(uint8_t *file, const hr_png_pixels *image)
{
    static const uint8_t signature[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    static const uint8_t colours[] = {0, 0, 4, 2, 6}; /* by channels */
    uint8_t *at = file + SIGNATURE, *ihdr = at + CHUNK;
    memcpy(file, signature, sizeof signature);
    put_32(ihdr, (uint32_t)image->width);
    put_32(ihdr + 4, (uint32_t)image->height);
    ihdr[8] = (uint8_t)image->bits;
    ihdr[9] = colours[image->channels];
    memset(ihdr + 10, 0, 3); /* Deflate, these filters, not interlaced */
    return put_chunk(at, "IHDR", IHDR);
}

hr_status hr_png_encode(const hr_png_pixels *image, int32_t level, hr_arena *arena,
                        const uint8_t **file, size_t *size, hr_error *error)
{
    rows r;
    size_t all;

    HR_TRY(rows_make(&r, image, arena, error));
    if (!hr_size_mul(r.size + 1, (size_t)image->height, &all) || hr_zlib_bound(all) > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "the image is too large: a chunk of a PNG file has at most 2 GB");
    size_t room = hr_zlib_bound(all);
    uint8_t *filtered = hr_arena_alloc(arena, all, error), *to = filtered;
    uint8_t *out = hr_arena_alloc(arena, BEFORE_PIXELS + room + 2 * CHECKSUM + CHUNK, error);
    HR_TRY_ALLOC(filtered && out);
    for (int32_t y = 0; y < image->height; y++) {
        load_row(&r, image, y);
        to = put_row(to, &r);
        uint8_t *above = r.above;
        r.above = r.row;
        r.row = above;
    }
    uint8_t *at = put_header(out, image);
    size_t made = hr_zlib_compress(level, filtered, all, at + CHUNK, room);
    if (made == 0)
        return hr_fail(error, HR_STATUS_NO_MEMORY, "no memory to compress %zu bytes", all);
    at = put_chunk(at, "IDAT", made);
    at = put_chunk(at, "IEND", 0);
    *file = out;
    *size = (size_t)(at - out);
    return HR_STATUS_OK;
}
