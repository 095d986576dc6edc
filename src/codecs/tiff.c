/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* TIFF and BigTIFF: the first picture of a file, in strips or tiles. Blocks that a window needs are
 * decompressed one after the other. */
#include "codecs/codec.h"

#include "codecs/tiff/directory.h"
#include "codecs/tiff/unpack.h"

#include <string.h>

enum { COLOURS = 3, JPEG_ADOBE_SIZE = 16 };

extern const hr_codec hr_codec_jpeg;

/* Bits of a delivered element. Palettes have 16. */
static int32_t element_bits(const hr_tiff *t)
{
    return t->photometric == HR_TIFF_PHOTOMETRIC_PALETTE ? 16 : (int32_t)HR_MAX(t->bits, 8);
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    hr_tiff t;
    HR_TRY(hr_tiff_open(&t, bytes, size, error));
    info->height = (int32_t)t.height;
    info->width = (int32_t)t.width;
    info->channels = t.photometric == HR_TIFF_PHOTOMETRIC_PALETTE ? COLOURS : (int32_t)t.samples;
    info->bits = element_bits(&t);
    info->orientation = t.orientation >= 1 && t.orientation <= 8 ? (int32_t)t.orientation : 1;
    return HR_STATUS_OK;
}

/* The most bytes that a byte of a block can become. */
static uint64_t largest_ratio(const hr_tiff *t)
{
    switch (t->compression) {
    case HR_TIFF_COMPRESSION_NONE:
        return 1;
    case HR_TIFF_COMPRESSION_PACKBITS:
        return 64;
    case HR_TIFF_COMPRESSION_LZW: /* strings of up to 3,839 bytes in codes of 12 bits */
        return 2560;
    case HR_TIFF_COMPRESSION_JPEG: /* 64 coefficients of six blocks in 12 bits */
        return 256;
    default: /* 258 bytes in 2 bits */
        return 1032;
    }
}

static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    hr_tiff t;
    uint64_t total = 0;
    (void)info;
    HR_TRY(hr_tiff_open(&t, bytes, size, error));
    for (uint64_t i = 0; i < t.length.count && total < size; i++)
        total += HR_MIN(hr_tiff_value(&t, &t.length, i), size);
    *pixels =
        (int64_t)(HR_MIN(total, size) * largest_ratio(&t) * 8 / ((uint64_t)t.samples * t.bits));
    return HR_STATUS_OK;
}

/* ---- blocks ---- */

typedef struct tiff_reader {
    hr_tiff t;
    const hr_codec_request *request;
    hr_op_call *c;
    uint8_t *block;        /* a decompressed block, in the machine's byte order */
    const uint8_t *pixels; /* the block, or the bytes of the file where they need no work */
    uint8_t *row;          /* scratch of the floating-point predictor */
    size_t row_size;
    uint16_t palette[COLOURS << 8];
} tiff_reader;

/* A JPEG block lacks the tables that all blocks share, and says nothing about its colours: puts the
 * tables and an Adobe marker before its segments. */
static hr_status decode_jpeg(tiff_reader *r, const uint8_t *in, size_t size, uint32_t rows,
                             hr_error *error)
{
    const hr_tiff *t = &r->t;
    size_t tables = t->tables.size == 1 && t->tables.count >= 4 ? (size_t)t->tables.count - 4 : 0;
    uint8_t adobe[JPEG_ADOBE_SIZE] = {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100};
    uint8_t *file, *p;
    hr_image_info info = {0};

    if (size < 4 || in[0] != 0xFF || in[1] != 0xD8)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: a block is not a JPEG file");
    file = hr_arena_alloc(r->c->arena, size + tables + sizeof adobe, error);
    if (!file)
        return HR_STATUS_NO_MEMORY;
    adobe[sizeof adobe - 1] = t->photometric == HR_TIFF_PHOTOMETRIC_YCBCR;
    p = file;
    memcpy(p, in, 2);
    p += 2;
    if (tables > 0)
        memcpy(p, t->tables.first + 2, tables);
    p += tables;
    memcpy(p, adobe, sizeof adobe);
    p += sizeof adobe;
    memcpy(p, in + 2, size - 2);
    size += tables + sizeof adobe;

    HR_TRY(hr_codec_jpeg.header(file, size, &info, error));
    int32_t channels = t->planar ? 1 : (int32_t)t->samples;
    if (info.channels != channels || info.width < (int32_t)t->block_w ||
        info.height < (int32_t)rows)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: a JPEG block of %dx%d pixels and %d channels does not fit the file",
                       info.width, info.height, info.channels);
    info.codec = &hr_codec_jpeg;
    hr_codec_request q = {.window = {.h = rows, .w = t->block_w},
                          .channels = channels,
                          .dst = r->block,
                          .stride = r->row_size};
    return hr_codec_jpeg.decode(file, size, &info, &q, r->c, error);
}

static void swap_bytes(uint8_t *p, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++, p += size)
        for (size_t k = 0; k < size / 2; k++) {
            uint8_t b = p[k];
            p[k] = p[size - 1 - k];
            p[size - 1 - k] = b;
        }
}

/* Predictor 2: differences of neighbouring pixels. */
static void add_differences(const hr_tiff *t, uint8_t *row, size_t count, size_t channels)
{
    if (t->bits == 8) {
        for (size_t i = channels; i < count; i++)
            row[i] = (uint8_t)(row[i] + row[i - channels]);
        return;
    }
    for (size_t i = channels; i < count; i++) {
        uint16_t v, before;
        memcpy(&v, row + 2 * i, 2);
        memcpy(&before, row + 2 * (i - channels), 2);
        v = (uint16_t)(v + before);
        memcpy(row + 2 * i, &v, 2);
    }
}

/* Predictor 3: differences of bytes, all first bytes of a row before all second ones. The order of
 * the bytes is big endian in every file. */
static void add_float_differences(tiff_reader *r, uint8_t *row, size_t count, size_t channels)
{
    for (size_t i = channels; i < 4 * count; i++)
        row[i] = (uint8_t)(row[i] + row[i - channels]);
    memcpy(r->row, row, 4 * count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 4; k++)
            row[4 * i + k] = r->row[(3 - k) * count + i];
}

/* Undoes the predictor and the byte order of the first `rows` rows of the block. */
static void restore_rows(tiff_reader *r, uint32_t rows)
{
    const hr_tiff *t = &r->t;
    size_t channels = t->planar ? 1 : t->samples, count = (size_t)t->block_w * channels;
    for (uint32_t y = 0; y < rows && t->bits >= 8; y++) {
        uint8_t *row = r->block + y * r->row_size;
        if (t->predictor == 3) {
            add_float_differences(r, row, count, channels);
            continue;
        }
        if (t->big_endian && t->bits > 8)
            swap_bytes(row, count, t->bits / 8);
        if (t->predictor == 2)
            add_differences(t, row, count, channels);
    }
}

/* Whether blocks in the file are rows of pixels as they are in memory. */
static bool is_plain(const hr_tiff *t)
{
    return t->compression == HR_TIFF_COMPRESSION_NONE && t->predictor == 1 &&
           (t->bits <= 8 || !t->big_endian);
}

/* Decompresses the first `rows` rows of a block. */
static hr_status read_block(tiff_reader *r, uint64_t i, uint32_t rows, hr_error *error)
{
    const uint8_t *in;
    size_t size, needed = rows * r->row_size;
    r->pixels = r->block;
    HR_TRY(hr_tiff_block(&r->t, i, &in, &size, error));
    switch (r->t.compression) {
    case HR_TIFF_COMPRESSION_NONE:
        if (size < needed)
            return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the file ends before its pixels do");
        if (is_plain(&r->t)) {
            r->pixels = in;
            return HR_STATUS_OK;
        }
        memcpy(r->block, in, needed);
        break;
    case HR_TIFF_COMPRESSION_PACKBITS:
        HR_TRY(hr_tiff_unpack_bits(in, size, r->block, needed, error));
        break;
    case HR_TIFF_COMPRESSION_LZW:
        HR_TRY(hr_tiff_unpack_lzw(in, size, r->block, needed, error));
        break;
    case HR_TIFF_COMPRESSION_JPEG:
        return decode_jpeg(r, in, size, rows, error);
    default:
        HR_TRY(hr_tiff_inflate(in, size, r->block, needed, error));
    }
    restore_rows(r, rows);
    return HR_STATUS_OK;
}

/* ---- pixels ---- */

static uint32_t packed_value(const uint8_t *row, size_t x, uint32_t bits)
{
    size_t at = x * bits;
    return row[at / 8] >> (8 - bits - at % 8) & ((1u << bits) - 1);
}

static void put_colours(const tiff_reader *r, uint8_t *dst, const uint8_t *row, size_t x, size_t n)
{
    size_t size = (size_t)r->request->channels * sizeof r->palette[0];
    for (size_t i = 0; i < n; i++, dst += size)
        memcpy(dst, r->palette + COLOURS * packed_value(row, x + i, r->t.bits), size);
}

/* Grey levels of less than 8 bits fill 8. */
static void put_levels(const tiff_reader *r, uint8_t *dst, const uint8_t *row, size_t x, size_t n)
{
    uint32_t bits = r->t.bits;
    size_t channels = (size_t)r->request->channels;
    for (size_t i = 0; i < n; i++, dst += channels)
        memset(dst, (int)(packed_value(row, x + i, bits) * 255 / ((1u << bits) - 1)), channels);
}

/* Copies samples of `size` bytes; a grey one is repeated where more channels are asked for. */
static void put_samples(const tiff_reader *r, uint8_t *dst, const uint8_t *row, size_t x, size_t n)
{
    size_t size = r->t.bits / 8, channels = (size_t)r->request->channels, in = r->t.samples;
    bool repeat = in < channels;
    row += x * in * size;
    if (in == channels) {
        memcpy(dst, row, n * in * size);
        return;
    }
    for (size_t i = 0; i < n; i++, row += in * size)
        for (size_t k = 0; k < channels; k++, dst += size)
            memcpy(dst, row + (repeat ? 0 : k) * size, size);
}

static void invert_row(const tiff_reader *r, uint8_t *dst, size_t n)
{
    size_t count = n * (size_t)r->request->channels;
    for (size_t i = 0; i < count && r->t.floating; i++) {
        float v;
        memcpy(&v, dst + 4 * i, 4);
        v = 1.0f - v;
        memcpy(dst + 4 * i, &v, 4);
    }
    for (size_t i = 0; i < count * HR_MAX(r->t.bits / 8, 1) && !r->t.floating; i++)
        dst[i] = (uint8_t)~dst[i];
}

static uint8_t clamp_u8(float v)
{
    return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)(v + 0.5f);
}

/* In place: the first three channels of pixels become red, green and blue. */
static void to_rgb(const tiff_reader *r, uint8_t *p, size_t n)
{
    size_t channels = (size_t)r->request->channels;
    for (size_t i = 0; i < n; i++, p += channels) {
        float y = p[0], cb = (float)p[1] - 128, cr = (float)p[2] - 128;
        p[0] = clamp_u8(y + 1.402f * cr);
        p[1] = clamp_u8(y - 0.344136f * cb - 0.714136f * cr);
        p[2] = clamp_u8(y + 1.772f * cb);
    }
}

/* Inks become red, green and blue; a fourth channel is opaque. */
static void put_inks(const tiff_reader *r, uint8_t *dst, const uint8_t *row, size_t x, size_t n)
{
    size_t channels = (size_t)r->request->channels, in = r->t.samples;
    row += x * in;
    for (size_t i = 0; i < n; i++, row += in, dst += channels)
        for (size_t k = 0; k < channels; k++)
            dst[k] = k < COLOURS ? (uint8_t)((255 - row[k]) * (255 - row[3]) / 255) : 255;
}

static void put_row(const tiff_reader *r, uint8_t *dst, const uint8_t *row, size_t x, size_t n)
{
    const hr_tiff *t = &r->t;
    if (t->photometric == HR_TIFF_PHOTOMETRIC_CMYK)
        put_inks(r, dst, row, x, n);
    else if (t->photometric == HR_TIFF_PHOTOMETRIC_PALETTE)
        put_colours(r, dst, row, x, n);
    else if (t->bits < 8)
        put_levels(r, dst, row, x, n);
    else
        put_samples(r, dst, row, x, n);
    if (t->photometric == HR_TIFF_PHOTOMETRIC_WHITE_IS_ZERO)
        invert_row(r, dst, n);
    if (t->photometric == HR_TIFF_PHOTOMETRIC_YCBCR && t->samples >= COLOURS &&
        t->compression != HR_TIFF_COMPRESSION_JPEG)
        to_rgb(r, dst, n);
}

/* One sample per pixel of a plane, at its place among the channels. */
static void put_plane(const tiff_reader *r, uint8_t *dst, const uint8_t *row, size_t x, size_t n,
                      uint32_t plane)
{
    size_t size = r->t.bits / 8, channels = (size_t)r->request->channels;
    for (size_t i = 0; i < n; i++)
        memcpy(dst + (i * channels + plane) * size, row + (x + i) * size, size);
}

/* The part of the window that lies in the block of column `bx` and row `by`. */
static hr_status put_block(tiff_reader *r, uint32_t bx, uint32_t by, uint32_t plane,
                           hr_error *error)
{
    const hr_tiff *t = &r->t;
    const hr_window *w = &r->request->window;
    int64_t left = (int64_t)bx * t->block_w, top = (int64_t)by * t->block_h;
    int64_t x0 = HR_MAX(w->x, left), x1 = HR_MIN(w->x + w->w, left + t->block_w);
    int64_t y0 = HR_MAX(w->y, top), y1 = HR_MIN(w->y + w->h, top + t->block_h);
    size_t pixel = (size_t)r->request->channels * (size_t)element_bits(t) / 8;
    uint64_t i = ((uint64_t)plane * t->down + by) * t->across + bx;
    hr_arena_mark mark = hr_arena_save(r->c->arena);

    hr_status status = read_block(r, i, (uint32_t)(y1 - top), error);
    hr_arena_restore(r->c->arena, mark);
    HR_TRY(status);
    for (int64_t y = y0; y < y1; y++) {
        uint8_t *dst = (uint8_t *)r->request->dst + (size_t)(y - w->y) * r->request->stride +
                       (size_t)(x0 - w->x) * pixel;
        const uint8_t *row = r->pixels + (size_t)(y - top) * r->row_size;
        if (t->planar)
            put_plane(r, dst, row, (size_t)(x0 - left), (size_t)(x1 - x0), plane);
        else
            put_row(r, dst, row, (size_t)(x0 - left), (size_t)(x1 - x0));
    }
    return HR_STATUS_OK;
}

static void read_palette(tiff_reader *r)
{
    const hr_tiff *t = &r->t;
    uint64_t colours = (uint64_t)1 << t->bits;
    for (uint64_t i = 0; i < colours; i++)
        for (uint64_t k = 0; k < COLOURS; k++)
            r->palette[COLOURS * i + k] = (uint16_t)hr_tiff_value(t, &t->palette, k * colours + i);
}

static hr_status prepare(tiff_reader *r, hr_error *error)
{
    const hr_tiff *t = &r->t;
    const hr_window *w = &r->request->window;
    /* Rows below the window are not decompressed. */
    uint64_t rows = HR_MIN(t->block_h, (uint64_t)(w->y + w->h));
    size_t bytes;

    r->row_size = hr_tiff_row_size(t, t->block_w);
    if (!hr_size_mul(r->row_size, (size_t)rows, &bytes))
        return hr_fail_memory(error, SIZE_MAX);
    HR_TRY(hr_image_affordable(bytes, t->size, error));
    if (!is_plain(t) && !(r->block = hr_arena_alloc(r->c->arena, bytes, error)))
        return HR_STATUS_NO_MEMORY;
    if (t->predictor == 3 && !(r->row = hr_arena_alloc(r->c->arena, r->row_size, error)))
        return HR_STATUS_NO_MEMORY;
    if (t->photometric == HR_TIFF_PHOTOMETRIC_PALETTE)
        read_palette(r);
    return HR_STATUS_OK;
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    tiff_reader r = {.request = request, .c = c};
    const hr_window *w = &request->window;
    (void)info;
    HR_TRY(hr_tiff_open(&r.t, bytes, size, error));
    HR_TRY(prepare(&r, error));
    const hr_tiff *t = &r.t;
    if (t->planar && request->channels > (int32_t)t->samples)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: %u planes cannot be decoded to %d channels",
                       t->samples, request->channels);
    uint32_t planes = t->planar ? (uint32_t)request->channels : 1;
    for (uint32_t plane = 0; plane < planes; plane++)
        for (int64_t by = w->y / t->block_h; by * t->block_h < w->y + w->h; by++)
            for (int64_t bx = w->x / t->block_w; bx * t->block_w < w->x + w->w; bx++)
                HR_TRY(put_block(&r, (uint32_t)bx, (uint32_t)by, plane, error));
    return HR_STATUS_OK;
}

static const char *version(void)
{
    return HR_VERSION;
}

const hr_codec hr_codec_tiff = {
    .name = "tiff",
    .library = "headrace",
    .version = version,
    .match = hr_tiff_match,
    .header = header,
    .check = check,
    .decode = decode,
    .luma_bits = 16,
};
