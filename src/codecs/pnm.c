/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* PNM: P1 .. P6, plain and binary. Values are scaled from 0 .. maxval to the full range of 8 bits,
 * or of 16 bits if maxval is over 255. */
#include "codecs/codec.h"

#include "codecs/bytes.h"

#include <string.h>

typedef struct pnm_header {
    int kind;                    /* 1 .. 6 */
    uint32_t width, height, top; /* top: maxval; 1 for bitmaps */
    size_t data;                 /* offset of the pixels */
} pnm_header;

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool match(const uint8_t *bytes, size_t size)
{
    return size >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
           (is_space(bytes[2]) || bytes[2] == '#');
}

static void skip_space(const uint8_t *bytes, size_t size, size_t *at)
{
    while (*at < size && (is_space(bytes[*at]) || bytes[*at] == '#')) {
        if (bytes[*at] == '#')
            while (*at < size && bytes[*at] != '\n' && bytes[*at] != '\r')
                (*at)++;
        else
            (*at)++;
    }
}

/* A decimal number up to `max`, after white space and comments. */
static bool read_number(const uint8_t *bytes, size_t size, size_t *at, uint32_t max, uint32_t *out)
{
    skip_space(bytes, size, at);
    uint32_t v = 0;
    size_t start = *at;
    while (*at < size && bytes[*at] >= '0' && bytes[*at] <= '9') {
        v = v * 10 + (uint32_t)(bytes[*at] - '0');
        if (v > max)
            return false;
        (*at)++;
    }
    *out = v;
    return *at > start;
}

static bool is_plain(const pnm_header *h)
{
    return h->kind <= 3;
}

static bool is_bitmap(const pnm_header *h)
{
    return h->kind == 1 || h->kind == 4;
}

static int32_t channels_of(const pnm_header *h)
{
    return h->kind == 3 || h->kind == 6 ? 3 : 1;
}

static hr_status read_header(const uint8_t *bytes, size_t size, pnm_header *h, hr_error *error)
{
    size_t at = 2;
    h->kind = bytes[1] - '0';
    h->top = 1;
    bool sound = read_number(bytes, size, &at, INT32_MAX / 16, &h->width) &&
                 read_number(bytes, size, &at, INT32_MAX / 16, &h->height) && h->width > 0 &&
                 h->height > 0;
    if (!sound)
        return hr_fail(error, HR_STATUS_CORRUPT, "PNM: the header has no valid size");
    if (!is_bitmap(h) && (!read_number(bytes, size, &at, 65535, &h->top) || h->top == 0))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "PNM: the header has no maximum value between 1 and 65535");
    if (at >= size || !is_space(bytes[at]))
        return hr_fail(error, HR_STATUS_CORRUPT, "PNM: the file ends in its header");
    h->data = at + 1; /* one white space character, then the pixels */
    return HR_STATUS_OK;
}

static bool row_size(const pnm_header *h, size_t *size)
{
    size_t samples = (size_t)h->width * (size_t)channels_of(h);
    if (h->kind == 4)
        *size = (samples + 7) / 8;
    return h->kind == 4 || hr_size_mul(samples, h->top > 255 ? 2 : 1, size);
}

/* Images that follow one another in a file, which only binary ones do. */
static int32_t count_images(const uint8_t *bytes, size_t size)
{
    int32_t count = 0;
    while (match(bytes, size) && count < INT32_MAX) {
        pnm_header h = {0};
        size_t row, raster;
        count++;
        if (read_header(bytes, size, &h, NULL) != HR_STATUS_OK || is_plain(&h) ||
            !row_size(&h, &row) || !hr_size_mul(row, h.height, &raster) || raster > size - h.data)
            break;
        bytes += h.data + raster;
        size -= h.data + raster;
    }
    return count;
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    pnm_header h;
    HR_TRY(read_header(bytes, size, &h, error));
    int32_t images = count_images(bytes, size);
    HR_TRY(hr_image_set_pages(info, images, images - 1, error));
    info->height = (int32_t)h.height;
    info->width = (int32_t)h.width;
    info->channels = channels_of(&h);
    info->bits = h.top > 255 ? 16 : 8;
    info->orientation = 1;
    return HR_STATUS_OK;
}

/* ---- pixels ---- */

typedef struct pnm_reader {
    pnm_header h;
    const uint8_t *bytes;
    size_t size, at;
    const hr_codec_request *request;
} pnm_reader;

/* Rounds half up; values over the maximum count as the maximum. */
static uint32_t scaled(uint32_t v, uint32_t top)
{
    uint32_t full = top > 255 ? 65535 : 255;
    if (top == full)
        return v;
    return v >= top ? full : (v * full + top / 2) / top;
}

/* Stores pixel x of the window's row; `v` holds the file's channels. */
static void put(const pnm_reader *r, void *row, size_t x, const uint32_t v[3])
{
    size_t n = (size_t)r->request->channels;
    bool colour = channels_of(&r->h) == 3;
    for (size_t k = 0; k < n; k++) {
        uint32_t value = v[colour ? k : 0];
        if (r->h.top > 255)
            ((uint16_t *)row)[x * n + k] = (uint16_t)value;
        else
            ((uint8_t *)row)[x * n + k] = (uint8_t)value;
    }
}

static void read_binary_row(const pnm_reader *r, const uint8_t *src, void *row)
{
    const hr_window *w = &r->request->window;
    size_t channels = (size_t)channels_of(&r->h);
    uint32_t v[3] = {0, 0, 0}, top = r->h.top;
    for (size_t i = 0; i < (size_t)w->w; i++) {
        size_t x = (size_t)w->x + i;
        if (r->h.kind == 4) { /* a set bit is black */
            v[0] = src[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
        } else {
            for (size_t k = 0; k < channels; k++) {
                size_t e = x * channels + k;
                v[k] = scaled(top > 255 ? hr_get_be16(src + 2 * e) : src[e], top);
            }
        }
        put(r, row, i, v);
    }
}

static hr_status read_binary(const pnm_reader *r, hr_error *error)
{
    const hr_codec_request *q = r->request;
    size_t row, before, needed;
    if (!row_size(&r->h, &row) || !hr_size_mul(row, (size_t)q->window.y, &before) ||
        !hr_size_mul(row, (size_t)(q->window.y + q->window.h), &needed) ||
        needed > r->size - r->h.data)
        return hr_fail(error, HR_STATUS_CORRUPT, "PNM: the file ends before its pixels do");
    const uint8_t *src = r->bytes + r->h.data + before;
    for (int64_t y = 0; y < q->window.h; y++, src += row)
        read_binary_row(r, src, (uint8_t *)q->dst + (size_t)y * q->stride);
    return HR_STATUS_OK;
}

/* One value in decimal digits; bits need no white space between them. */
static bool read_value(pnm_reader *r, uint32_t *v)
{
    if (r->h.kind != 1) {
        if (!read_number(r->bytes, r->size, &r->at, 65535, v))
            return false;
        *v = scaled(*v, r->h.top);
        return true;
    }
    skip_space(r->bytes, r->size, &r->at);
    if (r->at >= r->size || (r->bytes[r->at] | 1) != '1')
        return false;
    *v = r->bytes[r->at++] == '1' ? 0 : 255;
    return true;
}

static hr_status read_plain(pnm_reader *r, hr_error *error)
{
    const hr_codec_request *q = r->request;
    const hr_window *w = &q->window;
    int32_t channels = channels_of(&r->h);
    for (int64_t y = 0; y < w->y + w->h; y++)
        for (int64_t x = 0; x < r->h.width; x++) {
            uint32_t v[3] = {0, 0, 0};
            for (int32_t k = 0; k < channels; k++)
                if (!read_value(r, &v[k]))
                    return hr_fail(error, HR_STATUS_CORRUPT,
                                   "PNM: no valid number for row %lld, column %lld", (long long)y,
                                   (long long)x);
            if (y >= w->y && x >= w->x && x < w->x + w->w)
                put(r, (uint8_t *)q->dst + (size_t)(y - w->y) * q->stride, (size_t)(x - w->x), v);
        }
    return HR_STATUS_OK;
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    (void)info;
    (void)c;
    pnm_reader r = {.bytes = bytes, .size = size, .request = request};
    HR_TRY(read_header(bytes, size, &r.h, error));
    r.at = r.h.data;
    return is_plain(&r.h) ? read_plain(&r, error) : read_binary(&r, error);
}

/* In plain files, values are digits separated by white space; bits need no separator. */
static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    pnm_header h = {0};
    HR_TRY(read_header(bytes, size, &h, error));
    int64_t left = (int64_t)(size - h.data);
    if (h.kind == 4)
        *pixels = 8 * left;
    else if (h.kind == 1)
        *pixels = left;
    else if (is_plain(&h))
        *pixels = (left + 1) / 2 / channels_of(&h);
    else
        *pixels = left / (channels_of(&h) * (info->bits / 8));
    return HR_STATUS_OK;
}

const hr_codec hr_codec_pnm = {
    .name = "pnm",
    .library = "headrace",
    .version = hr_version,
    .match = match,
    .header = header,
    .check = check,
    .decode = decode,
    .luma_bits = 14,
};
