/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* BMP: 1, 2, 4, 8, 16, 24 and 32 bits, run lengths, bit fields; headers from OS/2 1.x to version 5.
 */
#include "codecs/codec.h"

#include "codecs/bytes.h"

#include <string.h>

enum {
    FILE_HEADER = 14,
    CORE_HEADER = 12, /* OS/2 1.x: 16-bit sizes, palette entries of three bytes */
    COMPRESSION_NONE = 0,
    COMPRESSION_RLE8 = 1,
    COMPRESSION_RLE4 = 2,
    COMPRESSION_FIELDS = 3,
    COMPRESSION_ALPHA_FIELDS = 6
};

/* The position of a colour in a pixel of 16 or 32 bits; max 0: absent. */
typedef struct bmp_field {
    uint32_t shift, max;
} bmp_field;

typedef struct bmp_header {
    uint32_t width, height, bits, compression;
    bool top_down, grey;     /* grey: a palette without colours */
    size_t data;             /* offset of the pixels */
    bmp_field field[4];      /* red, green, blue, alpha */
    uint32_t colours;        /* entries of the palette */
    uint8_t palette[256][4]; /* red, green, blue, unused */
} bmp_header;

static bool match(const uint8_t *bytes, size_t size)
{
    return size >= FILE_HEADER + 4 && bytes[0] == 'B' && bytes[1] == 'M';
}

/* ---- header ---- */

static bmp_field field_of(uint32_t mask)
{
    bmp_field f = {0, 0};
    if (mask == 0)
        return f;
    while (!(mask >> f.shift & 1))
        f.shift++;
    f.max = mask >> f.shift;
    return f;
}

/* false for a mask with holes, or one too wide for the arithmetic */
static bool field_ok(bmp_field f)
{
    return (f.max & (f.max + 1)) == 0 && f.max <= 0xFFFF;
}

static hr_status read_fields(const uint8_t *bytes, size_t size, size_t info_size, bmp_header *h,
                             hr_error *error)
{
    uint32_t masks[4] = {0x00FF0000, 0x0000FF00, 0x000000FF, 0};
    if (h->compression == COMPRESSION_NONE) {
        if (h->bits == 16) {
            masks[0] = 0x7C00;
            masks[1] = 0x03E0;
            masks[2] = 0x001F;
        }
    } else {
        size_t at = FILE_HEADER + 40;
        bool alpha = info_size >= 56 || h->compression == COMPRESSION_ALPHA_FIELDS;
        size_t count = alpha ? 4 : 3;
        if (size < at + 4 * count)
            return hr_fail(error, HR_STATUS_CORRUPT, "BMP: the file ends before its bit fields");
        for (size_t i = 0; i < count; i++)
            masks[i] = hr_get_le32(bytes + at + 4 * i);
    }
    for (int i = 0; i < 4; i++) {
        h->field[i] = field_of(masks[i]);
        if (!field_ok(h->field[i]))
            return hr_fail(error, HR_STATUS_CORRUPT, "BMP: invalid bit field 0x%08x", masks[i]);
    }
    return HR_STATUS_OK;
}

static void read_palette(const uint8_t *bytes, size_t size, size_t info_size, uint32_t colours,
                         bmp_header *h)
{
    size_t entry = info_size == CORE_HEADER ? 3 : 4, at = FILE_HEADER + info_size;
    size_t end = HR_MIN(size, h->data);
    uint32_t most = 1u << h->bits;
    if (colours == 0 || colours > most)
        colours = most;
    h->grey = true;
    for (h->colours = 0; h->colours < colours && end >= entry && at <= end - entry; at += entry) {
        uint8_t *rgb = h->palette[h->colours++];
        rgb[0] = bytes[at + 2];
        rgb[1] = bytes[at + 1];
        rgb[2] = bytes[at];
        h->grey = h->grey && rgb[0] == rgb[1] && rgb[1] == rgb[2];
    }
}

static bool bits_fit(const bmp_header *h)
{
    uint32_t b = h->bits;
    switch (h->compression) {
    case COMPRESSION_NONE:
        return b == 1 || b == 2 || b == 4 || b == 8 || b == 16 || b == 24 || b == 32;
    case COMPRESSION_RLE8:
        return b == 8 && !h->top_down;
    case COMPRESSION_RLE4:
        return b == 4 && !h->top_down;
    case COMPRESSION_FIELDS:
    case COMPRESSION_ALPHA_FIELDS:
        return b == 16 || b == 32;
    default:
        return false;
    }
}

static hr_status read_header(const uint8_t *bytes, size_t size, bmp_header *h, hr_error *error)
{
    memset(h, 0, sizeof *h);
    size_t info_size = hr_get_le32(bytes + FILE_HEADER);
    const uint8_t *p = bytes + FILE_HEADER;
    uint32_t colours = 0;
    h->data = hr_get_le32(bytes + 10);
    if ((info_size != CORE_HEADER && info_size < 16) || info_size > 1024 ||
        info_size > size - FILE_HEADER)
        return hr_fail(error, HR_STATUS_CORRUPT, "BMP: invalid header");
    if (info_size == CORE_HEADER) {
        h->width = hr_get_le16(p + 4);
        h->height = hr_get_le16(p + 6);
        h->bits = hr_get_le16(p + 10);
    } else {
        h->width = hr_get_le32(p + 4);
        h->height = hr_get_le32(p + 8);
        h->bits = hr_get_le16(p + 14);
        h->top_down = h->height > INT32_MAX;
        if (h->top_down)
            h->height = 0u - h->height;
        if (info_size >= 20)
            h->compression = hr_get_le32(p + 16);
        if (info_size >= 36)
            colours = hr_get_le32(p + 32);
    }
    if (h->width == 0 || h->height == 0 || h->width > INT32_MAX / 4 || h->height > INT32_MAX / 4)
        return hr_fail(error, HR_STATUS_CORRUPT, "BMP: an image of %ux%u pixels", h->width,
                       h->height);
    if (!bits_fit(h))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "BMP: %u bits per pixel with compression %u are not supported", h->bits,
                       h->compression);
    if (h->data > size)
        return hr_fail(error, HR_STATUS_CORRUPT, "BMP: the file ends before its pixels");
    if (h->bits <= 8)
        read_palette(bytes, size, info_size, colours, h);
    return h->bits == 16 || h->bits == 32 ? read_fields(bytes, size, info_size, h, error)
                                          : HR_STATUS_OK;
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    bmp_header h;
    HR_TRY(read_header(bytes, size, &h, error));
    info->height = (int32_t)h.height;
    info->width = (int32_t)h.width;
    info->channels = h.field[3].max ? 4 : h.grey ? 1 : 3;
    info->bits = 8;
    info->orientation = 1;
    return HR_STATUS_OK;
}

/* ---- pixels ---- */

/* `index` holds n > 0 palette indices; indices beyond the palette give black. */
static void put_indexed(const bmp_header *h, uint8_t *dst, const uint8_t *index, size_t n,
                        int32_t channels)
{
    if (channels == 1) {
        for (size_t i = 0; i < n; i++)
            dst[i] = h->palette[index[i]][0];
        return;
    }
    for (size_t i = 0; i + 1 < n; i++, dst += 3) /* the fourth byte is overwritten by the next */
        memcpy(dst, h->palette[index[i]], 4);
    memcpy(dst, h->palette[index[n - 1]], 3);
}

static void unpack_indices(uint8_t *index, const uint8_t *src, size_t x, size_t n, uint32_t bits)
{
    size_t each = 8 / bits;
    for (size_t i = 0; i < n; i++, x++)
        index[i] = (uint8_t)(src[x / each] >> (8 - bits - bits * (x % each)) & ((1u << bits) - 1));
}

static void put_fields(const bmp_header *h, uint8_t *dst, const uint8_t *src, size_t n,
                       int32_t channels)
{
    size_t size = h->bits / 8;
    for (size_t i = 0; i < n; i++, src += size, dst += channels) {
        uint32_t v = size == 2 ? hr_get_le16(src) : hr_get_le32(src);
        for (int32_t k = 0; k < channels; k++) {
            bmp_field f = h->field[k];
            dst[k] = f.max ? (uint8_t)((v >> f.shift & f.max) * 255 / f.max) : 0;
        }
    }
}

static void put_bgr(uint8_t *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i++, src += 3, dst += 3) {
        dst[0] = src[2];
        dst[1] = src[1];
        dst[2] = src[0];
    }
}

static void put_row(const bmp_header *h, const hr_codec_request *q, uint8_t *dst,
                    const uint8_t *src, uint8_t *index)
{
    size_t x = (size_t)q->window.x, n = (size_t)q->window.w;
    if (h->bits <= 8) {
        unpack_indices(index, src, x, n, h->bits);
        put_indexed(h, dst, index, n, q->channels);
    } else if (h->bits == 24) {
        put_bgr(dst, src + 3 * x, n);
    } else {
        put_fields(h, dst, src + x * (h->bits / 8), n, q->channels);
    }
}

/* The row of the file (0: first stored) that holds row y of the image. */
static size_t stored_row(const bmp_header *h, int64_t y)
{
    return h->top_down ? (size_t)y : (size_t)h->height - 1 - (size_t)y;
}

static hr_status decode_plain(const uint8_t *bytes, size_t size, const bmp_header *h,
                              const hr_codec_request *q, hr_arena *arena, hr_error *error)
{
    size_t stride = ((size_t)h->width * h->bits + 31) / 32 * 4;
    size_t row_size = ((size_t)h->width * h->bits + 7) / 8; /* the last row may lack its padding */
    uint8_t *index = hr_arena_alloc(arena, (size_t)q->window.w, error);
    HR_TRY_ALLOC(index);
    for (int64_t y = 0; y < q->window.h; y++) {
        size_t at, end;
        if (!hr_size_mul(stride, stored_row(h, q->window.y + y), &at) ||
            !hr_size_add(at, row_size, &end) || end > size - h->data)
            return hr_fail(error, HR_STATUS_CORRUPT, "BMP: the file ends before its pixels do");
        put_row(h, q, (uint8_t *)q->dst + (size_t)y * q->stride, bytes + h->data + at, index);
    }
    return HR_STATUS_OK;
}

/* ---- run lengths ---- */

typedef struct rle {
    const uint8_t *p, *end;
    const bmp_header *header;
    const hr_codec_request *request;
    uint8_t *index;           /* of row `row`, in the window */
    size_t x, row;            /* the next pixel; rows count from the bottom */
    size_t next, first, last; /* the next row to store; rows of the window */
} rle;

/* Stores the rows below `row`. Pixels not covered by runs have index 0. */
static void rle_advance(rle *r, size_t row)
{
    const hr_codec_request *q = r->request;
    r->row = row;
    for (; r->next < row && r->next <= r->last; r->next++) {
        uint8_t *dst = (uint8_t *)q->dst + (r->last - r->next) * q->stride;
        put_indexed(r->header, dst, r->index, (size_t)q->window.w, q->channels);
        memset(r->index, 0, (size_t)q->window.w);
    }
}

/* Takes the next `n` pixels. Their values are the nibbles or bytes at `src`; a run alternates
 * between the two nibbles of one byte, or repeats one byte. */
static void rle_put(rle *r, const uint8_t *src, size_t n, bool run)
{
    size_t left = (size_t)r->request->window.x, right = left + (size_t)r->request->window.w;
    size_t from = HR_MAX(r->x, left), to = HR_MIN(r->x + n, right), skipped = from - r->x;
    uint8_t *index = r->index + (from - left);
    if (r->row >= r->first && r->row <= r->last && from < to) {
        if (r->header->bits == 8 && run)
            memset(index, *src, to - from);
        else if (r->header->bits == 8)
            memcpy(index, src + skipped, to - from);
        for (size_t k = skipped; r->header->bits == 4 && k < skipped + to - from; k++)
            *index++ = src[run ? 0 : k / 2] >> (k % 2 ? 0 : 4) & 15;
    }
    r->x += n;
}

/* Handles a pair of bytes that begins with 0. false: no more pixels, or damage (`*damaged`). */
static bool rle_escape(rle *r, uint8_t code, bool *damaged)
{
    size_t left = (size_t)(r->end - r->p), size;
    switch (code) {
    case 0:
        r->x = 0;
        rle_advance(r, r->row + 1);
        return true;
    case 1:
        return false;
    case 2:
        *damaged = left < 2;
        if (*damaged)
            return false;
        r->x += r->p[0];
        rle_advance(r, r->row + r->p[1]);
        r->p += 2;
        return true;
    default:
        size = r->header->bits == 8 ? code : (code + 1u) / 2;
        *damaged = left < size;
        if (*damaged)
            return false;
        rle_put(r, r->p, code, false);
        size += size & 1; /* padded to 16 bits; the last padding byte may be missing */
        r->p += HR_MIN(size, left);
        return true;
    }
}

static hr_status rle_read(rle *r, hr_error *error)
{
    const hr_window *w = &r->request->window;
    bool damaged = false;
    while (r->row <= r->last) {
        if (r->end - r->p < 2) {
            damaged = r->row < r->last || r->x < (size_t)(w->x + w->w);
            break;
        }
        const uint8_t *pair = r->p;
        r->p += 2;
        if (pair[0] != 0)
            rle_put(r, pair + 1, pair[0], true);
        else if (!rle_escape(r, pair[1], &damaged))
            break;
    }
    return damaged ? hr_fail(error, HR_STATUS_CORRUPT, "BMP: the file ends before its pixels do")
                   : HR_STATUS_OK;
}

static hr_status decode_rle(const uint8_t *bytes, size_t size, const bmp_header *h,
                            const hr_codec_request *q, hr_arena *arena, hr_error *error)
{
    size_t below = (size_t)h->height - (size_t)(q->window.y + q->window.h);
    rle r = {.p = bytes + h->data,
             .end = bytes + size,
             .header = h,
             .request = q,
             .index = hr_arena_alloc(arena, (size_t)q->window.w, error),
             .next = below,
             .first = below,
             .last = below + (size_t)q->window.h - 1};
    HR_TRY_ALLOC(r.index);
    memset(r.index, 0, (size_t)q->window.w);
    HR_TRY(rle_read(&r, error));
    rle_advance(&r, r.last + 1);
    return HR_STATUS_OK;
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    (void)info;
    bmp_header h;
    HR_TRY(read_header(bytes, size, &h, error));
    if (h.compression == COMPRESSION_RLE8 || h.compression == COMPRESSION_RLE4)
        return decode_rle(bytes, size, &h, request, c->arena, error);
    return decode_plain(bytes, size, &h, request, c->arena, error);
}

/* Run-length files may leave out any number of pixels. */
static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    (void)info;
    bmp_header h;
    HR_TRY(read_header(bytes, size, &h, error));
    if (h.compression != COMPRESSION_RLE8 && h.compression != COMPRESSION_RLE4)
        *pixels = (int64_t)(8 * (size - h.data) / h.bits);
    return HR_STATUS_OK;
}

const hr_codec hr_codec_bmp = {
    .name = "bmp",
    .library = "headrace",
    .version = hr_version,
    .match = match,
    .header = header,
    .check = check,
    .decode = decode,
    .luma_bits = 14,
};
