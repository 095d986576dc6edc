/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* PNG. libpng reads the chunks before the pixels, and the pixels that png/rows.h leaves to it,
 * among them all damaged ones. As in DALI, transparency from tRNS (a colour key or palette entries)
 * is ignored. An alpha channel is read. */
#include "codecs/codec.h"

#include "codecs/bytes.h"
#include "codecs/exif.h"
#include "codecs/png/rows.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

enum {
    SIGNATURE = 8,
    CHUNK_OVERHEAD = 12,
    CHUNK_MEMORY = 8 << 20,
    INTERLACED = 1,
    INFLATION = 1032
};

static bool match(const uint8_t *bytes, size_t size)
{
    return size >= SIGNATURE && memcmp(bytes, "\x89PNG\r\n\x1a\n", SIGNATURE) == 0;
}

/* ---- header: IHDR, then other chunks ---- */

/* The contents of a chunk; NULL if the file has none of this name. */
static const uint8_t *find_chunk(const uint8_t *bytes, size_t size, const char *name,
                                 size_t *length)
{
    size_t at = SIGNATURE;
    while (size - at >= CHUNK_OVERHEAD) {
        *length = hr_get_be32(bytes + at);
        if (*length > size - at - CHUNK_OVERHEAD)
            break;
        if (memcmp(bytes + at + 4, name, 4) == 0)
            return bytes + at + 8;
        at += *length + CHUNK_OVERHEAD;
    }
    return NULL;
}

static int32_t find_orientation(const uint8_t *bytes, size_t size)
{
    size_t length;
    const uint8_t *exif = find_chunk(bytes, size, "eXIf", &length);
    return exif ? hr_exif_orientation(exif, length) : 1;
}

/* The frames of an animation, of which this decoder knows the image that other decoders show. */
static int32_t count_frames(const uint8_t *bytes, size_t size)
{
    size_t length;
    const uint8_t *control = find_chunk(bytes, size, "acTL", &length);
    uint32_t frames = control && length >= 4 ? hr_get_be32(control) : 1;
    return (int32_t)HR_MIN(HR_MAX(frames, 1), INT32_MAX);
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    const uint8_t *ihdr = bytes + SIGNATURE;
    if (size < SIGNATURE + CHUNK_OVERHEAD + 13 || hr_get_be32(ihdr) != 13 ||
        memcmp(ihdr + 4, "IHDR", 4) != 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "PNG: the file does not begin with its header");
    uint32_t width = hr_get_be32(ihdr + 8), height = hr_get_be32(ihdr + 12);
    if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "PNG: an image of %ux%u pixels", width, height);
    int depth = ihdr[16], type = ihdr[17];
    switch (type) {
    case PNG_COLOR_TYPE_GRAY:
        info->channels = 1;
        break;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
        info->channels = 2;
        break;
    case PNG_COLOR_TYPE_RGB:
    case PNG_COLOR_TYPE_PALETTE:
        info->channels = 3;
        break;
    case PNG_COLOR_TYPE_RGB_ALPHA:
        info->channels = 4;
        break;
    default:
        return hr_fail(error, HR_STATUS_CORRUPT, "PNG: unknown colour type %d", type);
    }
    info->bits = depth == 16 ? 16 : 8;
    info->width = (int32_t)width;
    info->height = (int32_t)height;
    info->orientation = find_orientation(bytes, size);
    int32_t frames = count_frames(bytes, size);
    return hr_image_set_pages(info, frames, frames - 1, error);
}

/* Deflate expands a byte to at most 1032 bytes. */
static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    static const int channels[7] = {1, 0, 3, 1, 2, 0, 4};
    const uint8_t *ihdr = bytes + SIGNATURE;
    int64_t data = 0, depth = ihdr[16], type = ihdr[17];
    (void)info;
    (void)error;
    for (size_t at = SIGNATURE; size - at >= CHUNK_OVERHEAD;) {
        size_t length = hr_get_be32(bytes + at), left = size - at - CHUNK_OVERHEAD;
        if (memcmp(bytes + at + 4, "IDAT", 4) == 0)
            data += (int64_t)HR_MIN(length, left + 4);
        if (length > left)
            break;
        at += length + CHUNK_OVERHEAD;
    }
    if (depth > 0)
        *pixels = data * INFLATION * 8 / (depth * channels[type]);
    return HR_STATUS_OK;
}

/* ---- libpng, with errors that return ---- */

typedef struct png_reader {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t size, at;
    jmp_buf escape;
    hr_status status;
    char failure[160];
    const hr_image_info *image;
    const hr_codec_request *request;
    hr_arena *arena;
    hr_error *error;
} png_reader;

_Noreturn static void fail(png_reader *r, hr_status status, const char *message)
{
    r->status = status;
    snprintf(r->failure, sizeof r->failure, "%s", message);
    longjmp(r->escape, 1);
}

static void on_error(png_structp png, png_const_charp message)
{
    fail(png_get_error_ptr(png), HR_STATUS_CORRUPT, message);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep dst, size_t count)
{
    png_reader *r = png_get_io_ptr(png);
    if (count > r->size - r->at)
        fail(r, HR_STATUS_CORRUPT, "the file ends early");
    memcpy(dst, r->bytes + r->at, count);
    r->at += count;
}

/* ---- rows ---- */

/* Sets up libpng for the wanted channels; returns bytes per pixel. */
static size_t set_transforms(png_reader *r)
{
    png_structp png = r->png;
    int32_t wanted = r->request->channels;
    int type = png_get_color_type(png, r->info);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (type == PNG_COLOR_TYPE_GRAY && r->image->bits == 8)
        png_set_expand_gray_1_2_4_to_8(png);
    if (r->image->bits == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        png_set_swap(png);
    if (wanted == 1 || wanted == 3)
        png_set_strip_alpha(png);
    if (wanted == 1 && r->image->channels >= 3)
        png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (wanted == 3 && r->image->channels <= 2)
        png_set_gray_to_rgb(png);
    return (size_t)wanted * (size_t)(r->image->bits / 8);
}

static void *scratch(png_reader *r, size_t size)
{
    void *memory = hr_arena_alloc(r->arena, size, r->error);
    if (!memory)
        fail(r, HR_STATUS_NO_MEMORY, "no memory for rows");
    return memory;
}

static void read_plain(png_reader *r, size_t pixel)
{
    const hr_codec_request *q = r->request;
    size_t row_size = png_get_rowbytes(r->png, r->info);
    bool direct = q->window.w == r->image->width;
    uint8_t *row = direct ? NULL : scratch(r, row_size), *dst = q->dst;
    for (int64_t y = 0; y < q->window.y; y++)
        png_read_row(r->png, NULL, NULL);
    for (int64_t y = 0; y < q->window.h; y++, dst += q->stride) {
        png_read_row(r->png, direct ? dst : row, NULL);
        if (!direct)
            memcpy(dst, row + (size_t)q->window.x * pixel, (size_t)q->window.w * pixel);
    }
}

/* Seven passes over all rows; the rows of the window are collected in memory. */
static void read_interlaced(png_reader *r, size_t pixel)
{
    const hr_codec_request *q = r->request;
    size_t stride = png_get_rowbytes(r->png, r->info), size;
    bool direct = q->window.w == r->image->width;
    uint8_t *rows = q->dst;
    if (direct) {
        stride = q->stride;
    } else {
        if (!hr_size_mul(stride, (size_t)q->window.h, &size))
            fail(r, HR_STATUS_NO_MEMORY, "no memory for the interlaced image");
        rows = scratch(r, size);
    }
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (int64_t y = 0; y < r->image->height; y++) {
            int64_t i = y - q->window.y;
            bool inside = i >= 0 && i < q->window.h;
            png_read_row(r->png, inside ? rows + (size_t)i * stride : NULL, NULL);
        }
    if (!direct)
        for (int64_t y = 0; y < q->window.h; y++)
            memcpy((uint8_t *)q->dst + (size_t)y * q->stride,
                   rows + (size_t)y * stride + (size_t)q->window.x * pixel,
                   (size_t)q->window.w * pixel);
}

/* Skips chunks that cost time or memory but change no pixel. Gamma chunks are kept: libpng uses
 * them when it converts colour to grey. */
static void skip_chunks(png_structp png, bool grey)
{
    static const png_byte names[] = "tEXt\0zTXt\0iTXt\0eXIf\0hIST\0pHYs\0sPLT\0tIME\0iCCP";
    int count = (int)(sizeof names / 5);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, grey ? count - 1 : count);
}

/* The pixels of a palette after its last colour are black, as for libpng. */
static void get_palette(png_reader *r, uint8_t *palette)
{
    png_colorp colors = NULL;
    int count = 0;
    png_get_PLTE(r->png, r->info, &colors, &count);
    memset(palette, 0, 3 * 256);
    for (int i = 0; i < HR_MIN(count, 256); i++) {
        palette[3 * i] = colors[i].red;
        palette[3 * i + 1] = colors[i].green;
        palette[3 * i + 2] = colors[i].blue;
    }
}

/* Whether the pixels could be had without libpng, which has read the head of the first IDAT. */
static bool read_whole(png_reader *r)
{
    uint8_t palette[3 * 256];
    bool indexed = png_get_color_type(r->png, r->info) == PNG_COLOR_TYPE_PALETTE;
    hr_png_form form = {.channels = indexed ? 1 : r->image->channels,
                        .bits = png_get_bit_depth(r->png, r->info),
                        .palette = indexed ? palette : NULL};
    const size_t head = 8;
    if (form.bits < 8 || png_get_interlace_type(r->png, r->info) == INTERLACED || r->at < head)
        return false;
    if (indexed)
        get_palette(r, palette);
    return hr_png_rows(r->bytes + r->at - head, r->size - r->at + head, &form, r->image, r->request,
                       r->arena);
}

static void read_image(png_reader *r)
{
    png_structp png = r->png;
    png_set_read_fn(png, r, on_read);
    png_set_user_limits(png, (png_uint_32)r->image->width, (png_uint_32)r->image->height);
    png_set_chunk_malloc_max(png, CHUNK_MEMORY);
    skip_chunks(png, r->request->channels == 1);
    png_read_info(png, r->info);
    if (png_get_image_width(png, r->info) != (png_uint_32)r->image->width ||
        png_get_image_height(png, r->info) != (png_uint_32)r->image->height)
        fail(r, HR_STATUS_CORRUPT, "the file states two different sizes");
    if (read_whole(r))
        return;
    size_t pixel = set_transforms(r);
    bool interlaced = png_get_interlace_type(png, r->info) == INTERLACED;
    if (interlaced)
        png_set_interlace_handling(png);
    png_read_update_info(png, r->info);
    if (png_get_rowbytes(png, r->info) != pixel * (size_t)r->image->width)
        fail(r, HR_STATUS_ERROR, "unexpected row size");
    if (interlaced)
        read_interlaced(r, pixel);
    else
        read_plain(r, pixel);
}

/* The only frame that longjmp returns to. All data that must survive it is in the caller's `r`. */
static void guard(png_reader *r)
{
    if (setjmp(r->escape) != 0)
        return;
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    if (r->png)
        r->info = png_create_info_struct(r->png);
    if (!r->info)
        fail(r, HR_STATUS_NO_MEMORY, "no memory for the decoder");
    read_image(r);
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    png_reader r = {.bytes = bytes,
                    .size = size,
                    .image = info,
                    .request = request,
                    .arena = c->arena,
                    .error = error};
    guard(&r);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    if (r.status != HR_STATUS_OK)
        return hr_fail(error, r.status, "PNG: %s", r.failure);
    return HR_STATUS_OK;
}

static const char *version(void)
{
    return png_get_libpng_ver(NULL);
}

const hr_codec hr_codec_png = {
    .name = "png",
    .library = "libpng",
    .version = version,
    .match = match,
    .header = header,
    .check = check,
    .decode = decode,
    .grey = true,
};
