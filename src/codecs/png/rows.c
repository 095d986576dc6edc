/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/png/rows.h"

#include "codecs/bytes.h"
#include "codecs/png/unfilter.h"
#include "core/inflate.h"

#include <string.h>

enum {
    CHUNK_HEAD = 8, /* length and name; the checksum of name and data follows the data */
    CHUNK_OVERHEAD = 12,
    LONGEST = INT32_MAX,
    MOST = 64 << 20 /* bytes of a whole image, and of what it is coded in */
};

/* The next IDAT chunk at *at; NULL if there is none, or if it is damaged. */
static const uint8_t *next_chunk(const uint8_t *bytes, size_t size, size_t *at, size_t *length)
{
    if (size - *at < CHUNK_OVERHEAD || memcmp(bytes + *at + 4, "IDAT", 4) != 0)
        return NULL;
    const uint8_t *data = bytes + *at + CHUNK_HEAD;
    *length = hr_get_be32(bytes + *at);
    if (*length > LONGEST || *length > size - *at - CHUNK_OVERHEAD ||
        hr_crc32(0, data - 4, *length + 4) != hr_get_be32(data + *length))
        return NULL;
    *at += *length + CHUNK_OVERHEAD;
    return data;
}

/* The contents of all IDAT chunks in one piece; NULL: there are none, or no memory. */
static const uint8_t *join_chunks(const uint8_t *bytes, size_t size, size_t *total, hr_arena *arena)
{
    size_t at = 0, length, next;
    const uint8_t *first = next_chunk(bytes, size, &at, total), *data;
    uint8_t *all = NULL;
    for (length = next = at; first && next_chunk(bytes, size, &next, &length);)
        *total += length;
    if (!first || next == at || *total > MOST)
        return first && *total <= MOST ? first : NULL;
    all = hr_arena_alloc(arena, *total, NULL);
    for (at = *total = 0; all && (data = next_chunk(bytes, size, &at, &length)); *total += length)
        memcpy(all + *total, data, length);
    return all;
}

/* Decoders that keep a smaller window than Deflate's refuse what refers to bytes before it. */
static bool window_suffices(const uint8_t *stream, size_t size, size_t image)
{
    size_t window = size > 0 ? (size_t)256 << (stream[0] >> 4) : 0;
    return window >= HR_MIN(image, 1 << 15);
}

static uint8_t *inflate_image(const uint8_t *bytes, size_t size, size_t image, hr_arena *arena)
{
    size_t coded;
    const uint8_t *stream = join_chunks(bytes, size, &coded, arena);
    if (!stream || !window_suffices(stream, coded, image))
        return NULL;
    uint8_t *rows = hr_arena_alloc(arena, image + HR_PNG_SLACK, NULL);
    if (!rows || !hr_inflate(HR_DEFLATE_ZLIB, stream, coded, rows, image))
        return NULL;
    memset(rows + image, 0, HR_PNG_SLACK);
    return rows;
}

/* ---- from stored pixels to those that are wanted ---- */

static inline __attribute__((always_inline)) void put_samples(uint8_t *restrict dst,
                                                              const uint8_t *restrict src, size_t n,
                                                              size_t wanted, size_t stored)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < wanted; k++)
            dst[i * wanted + k] = src[i * stored + (wanted <= stored ? k : 0)];
}

static void put_bytes(uint8_t *dst, const uint8_t *src, size_t n, int32_t wanted, int32_t stored)
{
    if (wanted == stored)
        memcpy(dst, src, n * (size_t)wanted);
    else if (wanted == 1)
        put_samples(dst, src, n, 1, 2);
    else if (stored == 1)
        put_samples(dst, src, n, 3, 1);
    else if (stored == 2)
        put_samples(dst, src, n, 3, 2);
    else
        put_samples(dst, src, n, 3, 4);
}

static void put_wide_samples(uint8_t *dst, const uint8_t *src, size_t n, int32_t wanted,
                             int32_t stored)
{
    for (size_t i = 0; i < n; i++)
        for (int32_t k = 0; k < wanted; k++) {
            const uint8_t *at = src + 2 * (i * (size_t)stored + (size_t)(wanted <= stored ? k : 0));
            uint16_t v = (uint16_t)(at[0] << 8 | at[1]);
            memcpy(dst + 2 * (i * (size_t)wanted + (size_t)k), &v, sizeof v);
        }
}

static void put_row(uint8_t *dst, const uint8_t *src, size_t n, int32_t wanted,
                    const hr_png_form *f)
{
    if (f->palette)
        for (size_t i = 0; i < n; i++)
            memcpy(dst + 3 * i, f->palette + 3 * src[i], 3);
    else if (f->bits == 16)
        put_wide_samples(dst, src, n, wanted, f->channels);
    else
        put_bytes(dst, src, n, wanted, f->channels);
}

/* All that can be had by leaving out alpha and repeating grey. */
static bool can_convert(const hr_png_form *f, int32_t wanted)
{
    if (f->palette)
        return wanted == 3;
    return wanted == f->channels || wanted == 3 || (wanted == 1 && f->channels == 2);
}

bool hr_png_rows(const uint8_t *bytes, size_t size, const hr_png_form *form,
                 const hr_image_info *info, const hr_codec_request *request, hr_arena *arena)
{
    const hr_codec_request *q = request;
    size_t pixel = (size_t)form->channels * (size_t)form->bits / 8, image;
    size_t n = (size_t)info->width * pixel, first = (size_t)q->window.x * pixel;
    if (!can_convert(form, q->channels) || n >= MOST ||
        !hr_size_mul(n + 1, (size_t)info->height, &image) || image > MOST)
        return false;
    uint8_t *row = inflate_image(bytes, size, image, arena), *above;
    uint8_t *dst = q->dst;
    if (!row || !(above = hr_arena_alloc(arena, n + HR_PNG_SLACK, NULL)))
        return false;
    memset(above, 0, n + HR_PNG_SLACK);
    for (int64_t y = 0; y < q->window.y + q->window.h; y++, row += n + 1) {
        if (row[0] > HR_PNG_FILTER_PAETH)
            return false;
        hr_png_unfilter(row + 1, above, n, pixel, row[0]);
        above = row + 1;
        if (y < q->window.y)
            continue;
        put_row(dst, above + first, (size_t)q->window.w, q->channels, form);
        dst += q->stride;
    }
    return true;
}
