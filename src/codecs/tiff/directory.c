/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/directory.h"

#include "codecs/bytes.h"
#include "core/core.h"

#include <string.h>

enum {
    CLASSIC = 42,
    BIG = 43,
    MAX_SIDE = 1 << 28,
    MAX_SAMPLES = 64,
    PALETTE_BITS = 8,
    TAG_WIDTH = 256,
    TAG_LENGTH = 257,
    TAG_BITS = 258,
    TAG_COMPRESSION = 259,
    TAG_PHOTOMETRIC = 262,
    TAG_FILL_ORDER = 266,
    TAG_STRIP_OFFSETS = 273,
    TAG_ORIENTATION = 274,
    TAG_SAMPLES = 277,
    TAG_ROWS_PER_STRIP = 278,
    TAG_STRIP_BYTES = 279,
    TAG_PLANAR = 284,
    TAG_PREDICTOR = 317,
    TAG_COLOR_MAP = 320,
    TAG_TILE_WIDTH = 322,
    TAG_TILE_LENGTH = 323,
    TAG_TILE_OFFSETS = 324,
    TAG_TILE_BYTES = 325,
    TAG_SAMPLE_FORMAT = 339,
    TAG_JPEG_TABLES = 347,
    TAG_SUBSAMPLING = 530,
    FORMAT_UINT = 1,
    FORMAT_FLOAT = 3,
    FORMAT_UNDEFINED = 4
};

static uint64_t get(const uint8_t *p, uint32_t size, bool big_endian)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < size; i++)
        v = v << 8 | p[big_endian ? i : size - 1 - i];
    return v;
}

uint64_t hr_tiff_value(const hr_tiff *t, const hr_tiff_values *v, uint64_t i)
{
    return get(v->first + (size_t)i * v->size, v->size, t->big_endian);
}

bool hr_tiff_match(const uint8_t *bytes, size_t size)
{
    if (size < 8 || bytes[0] != bytes[1] || (bytes[0] != 'I' && bytes[0] != 'M'))
        return false;
    uint64_t version = get(bytes + 2, 2, bytes[0] == 'M');
    return version == CLASSIC || version == BIG;
}

/* ---- fields ---- */

/* Bytes per value of a type of field; 0 for types that this reader has no use for. */
static uint32_t type_size(uint64_t type)
{
    static const uint8_t sizes[] = {0, 1, 1, 2, 4, 0, 1, 1, 2, 4, 0, 0, 0, 4, 0, 0, 8, 8, 8};
    return type < HR_COUNT_OF(sizes) ? sizes[type] : 0;
}

typedef struct directory {
    const hr_tiff *t;
    bool big;     /* BigTIFF: offsets of 8 bytes */
    size_t first; /* entry */
    uint64_t count;
} directory;

static hr_status find_directory(const hr_tiff *t, directory *d, hr_error *error)
{
    const uint8_t *p = t->bytes;
    d->t = t;
    d->big = get(p + 2, 2, t->big_endian) == BIG;
    uint32_t word = d->big ? 8 : 4, counter = d->big ? 8 : 2, entry = d->big ? 20 : 12;
    uint64_t at = t->size >= 16 || !d->big ? get(p + (d->big ? 8 : 4), word, t->big_endian) : 0;
    if (at < 8 || at > t->size || t->size - at < counter)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the directory is not in the file");
    d->count = get(p + at, counter, t->big_endian);
    d->first = (size_t)at + counter;
    if (d->count > (t->size - d->first) / entry)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the file ends in its directory");
    return HR_STATUS_OK;
}

/* The values of a field; those of an absent one have the count 0. */
static hr_status field(const directory *d, uint32_t tag, hr_tiff_values *v, hr_error *error)
{
    const hr_tiff *t = d->t;
    uint32_t word = d->big ? 8 : 4, entry = d->big ? 20 : 12;

    *v = (hr_tiff_values){0};
    for (uint64_t i = 0; i < d->count; i++) {
        const uint8_t *p = t->bytes + d->first + (size_t)i * entry;
        if (get(p, 2, t->big_endian) != tag)
            continue;
        uint32_t size = type_size(get(p + 2, 2, t->big_endian));
        uint64_t count = get(p + 4, word, t->big_endian),
                 at = get(p + 4 + word, word, t->big_endian);
        if (size == 0)
            return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: field %u has a bad type", tag);
        if (count <= word / size) /* the values are in the entry itself */
            at = d->first + i * entry + 4 + word;
        if (at > t->size || count > (t->size - at) / size)
            return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: field %u is not in the file", tag);
        *v = (hr_tiff_values){t->bytes + at, count, size};
        return HR_STATUS_OK;
    }
    return HR_STATUS_OK;
}

/* The only value of a field, or `absent`. Where there is one per sample, all must be equal. */
static hr_status number(const directory *d, uint32_t tag, uint32_t absent, uint32_t *value,
                        hr_error *error)
{
    hr_tiff_values v;
    HR_TRY(field(d, tag, &v, error));
    uint64_t first = v.count ? hr_tiff_value(d->t, &v, 0) : absent;
    for (uint64_t i = 1; i < HR_MIN(v.count, MAX_SAMPLES); i++)
        if (hr_tiff_value(d->t, &v, i) != first)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "TIFF: samples of different kinds (field %u) are not supported", tag);
    *value = (uint32_t)HR_MIN(first, UINT32_MAX);
    return HR_STATUS_OK;
}

/* ---- what is supported ---- */

static hr_status check_samples(const hr_tiff *t, uint32_t format, hr_error *error)
{
    bool jpeg = t->compression == HR_TIFF_COMPRESSION_JPEG;
    uint32_t b = t->bits;

    if (format != FORMAT_UINT && format != FORMAT_UNDEFINED && format != FORMAT_FLOAT)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: signed samples are not supported");
    if (t->floating ? b != 32 : b != 1 && b != 2 && b != 4 && b != 8 && b != 16)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: %s samples of %u bits are not supported; use 1, 2, 4, 8 or 16 bits, "
                       "or floats of 32",
                       t->floating ? "float" : "integer", b);
    if ((b < 8 && t->samples > 1) || (jpeg && b != 8))
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: %u samples of %u bits are not supported%s",
                       t->samples, b, jpeg ? " with JPEG compression" : "");
    if (t->predictor != 1 && (b < 8 || jpeg || t->predictor != (t->floating ? 3 : 2)))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: predictor %u is not supported for this type of samples",
                       t->predictor);
    return HR_STATUS_OK;
}

static hr_status check_colours(const hr_tiff *t, hr_error *error)
{
    uint32_t needed = 1;

    switch (t->photometric) {
    case HR_TIFF_PHOTOMETRIC_WHITE_IS_ZERO:
    case HR_TIFF_PHOTOMETRIC_BLACK_IS_ZERO:
        break;
    case HR_TIFF_PHOTOMETRIC_RGB:
        needed = 3;
        break;
    case HR_TIFF_PHOTOMETRIC_YCBCR:
        needed = t->compression == HR_TIFF_COMPRESSION_JPEG ? 1 : 3;
        break;
    case HR_TIFF_PHOTOMETRIC_CMYK:
        needed = 4;
        break;
    case HR_TIFF_PHOTOMETRIC_PALETTE:
        if (t->bits > PALETTE_BITS || t->palette.size != 2 ||
            t->palette.count < (uint64_t)3 << t->bits)
            return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the palette does not fit the samples");
        break;
    default:
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: colour space %u is not supported",
                       t->photometric);
    }
    if (t->samples < needed)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: %u samples per pixel; the colours need %u",
                       t->samples, needed);
    if (needed > 1 && t->photometric > HR_TIFF_PHOTOMETRIC_PALETTE && t->bits != 8)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: CMYK and YCbCr of %u bits are not supported", t->bits);
    return HR_STATUS_OK;
}

/* The names of compressions that exist but are not supported. */
static const char *foreign_compression(uint32_t number)
{
    static const struct {
        uint32_t number;
        const char *name;
    } known[] = {
        {2, "CCITT RLE"}, {3, "CCITT Group 3"}, {4, "CCITT Group 4"}, {6, "old JPEG"},
        {34661, "JBIG"},  {34676, "SGILog"},    {34712, "JPEG 2000"}, {34887, "LERC"},
        {34925, "LZMA"},  {50000, "Zstandard"}, {50001, "WebP"},      {50002, "JPEG XL"},
    };
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (known[i].number == number)
            return known[i].name;
    return "unknown";
}

static hr_status check_compression(const hr_tiff *t, hr_error *error)
{
    switch (t->compression) {
    case HR_TIFF_COMPRESSION_NONE:
    case HR_TIFF_COMPRESSION_LZW:
    case HR_TIFF_COMPRESSION_JPEG:
    case HR_TIFF_COMPRESSION_DEFLATE:
    case HR_TIFF_COMPRESSION_OLD_DEFLATE:
    case HR_TIFF_COMPRESSION_PACKBITS:
        return HR_STATUS_OK;
    default:
        return hr_fail(
            error, HR_STATUS_CORRUPT,
            "TIFF: compression %u (%s) is not supported; LZW, Deflate, PackBits and JPEG "
            "are",
            t->compression, foreign_compression(t->compression));
    }
}

static hr_status find_blocks(const directory *d, hr_tiff *t, hr_error *error)
{
    HR_TRY(number(d, TAG_TILE_WIDTH, 0, &t->block_w, error));
    t->tiled = t->block_w != 0;
    if (t->tiled) {
        HR_TRY(number(d, TAG_TILE_LENGTH, 0, &t->block_h, error));
        if (t->block_w > MAX_SIDE || t->block_h == 0 || t->block_h > MAX_SIDE)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "TIFF: the tile size, %ux%u pixels, is not valid", t->block_w,
                           t->block_h);
    } else {
        HR_TRY(number(d, TAG_ROWS_PER_STRIP, UINT32_MAX, &t->block_h, error));
        t->block_w = t->width;
        t->block_h = HR_MIN(HR_MAX(t->block_h, 1), t->height);
    }
    HR_TRY(field(d, t->tiled ? TAG_TILE_OFFSETS : TAG_STRIP_OFFSETS, &t->offset, error));
    HR_TRY(field(d, t->tiled ? TAG_TILE_BYTES : TAG_STRIP_BYTES, &t->length, error));
    t->across = (t->width - 1) / t->block_w + 1;
    t->down = (t->height - 1) / t->block_h + 1;
    uint64_t blocks = (uint64_t)t->across * t->down * (t->planar ? t->samples : 1);
    if (t->offset.count < blocks || t->length.count < blocks)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: the file gives the places of %llu %s; the image needs %llu",
                       (unsigned long long)HR_MIN(t->offset.count, t->length.count),
                       t->tiled ? "tiles" : "strips", (unsigned long long)blocks);
    return HR_STATUS_OK;
}

static hr_status check_subsampling(const directory *d, const hr_tiff *t, hr_error *error)
{
    hr_tiff_values v;
    HR_TRY(field(d, TAG_SUBSAMPLING, &v, error));
    bool full = v.count == 2 && hr_tiff_value(t, &v, 0) == 1 && hr_tiff_value(t, &v, 1) == 1;
    if (t->photometric == HR_TIFF_PHOTOMETRIC_YCBCR && t->compression != HR_TIFF_COMPRESSION_JPEG &&
        !full)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: subsampled YCbCr is supported only with JPEG compression");
    return HR_STATUS_OK;
}

hr_status hr_tiff_open(hr_tiff *t, const uint8_t *bytes, size_t size, hr_error *error)
{
    *t = (hr_tiff){.bytes = bytes, .size = size, .big_endian = bytes[0] == 'M'};
    directory d;
    uint32_t planar, format, fill_order;

    HR_TRY(find_directory(t, &d, error));
    HR_TRY(number(&d, TAG_WIDTH, 0, &t->width, error));
    HR_TRY(number(&d, TAG_LENGTH, 0, &t->height, error));
    if (t->width == 0 || t->height == 0 || t->width > MAX_SIDE || t->height > MAX_SIDE)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the image size, %ux%u pixels, is not valid",
                       t->width, t->height);
    HR_TRY(number(&d, TAG_BITS, 1, &t->bits, error));
    HR_TRY(number(&d, TAG_SAMPLES, 1, &t->samples, error));
    HR_TRY(number(&d, TAG_COMPRESSION, HR_TIFF_COMPRESSION_NONE, &t->compression, error));
    HR_TRY(number(&d, TAG_PHOTOMETRIC,
                  t->samples >= 3 ? HR_TIFF_PHOTOMETRIC_RGB : HR_TIFF_PHOTOMETRIC_BLACK_IS_ZERO,
                  &t->photometric, error));
    HR_TRY(number(&d, TAG_PREDICTOR, 1, &t->predictor, error));
    HR_TRY(number(&d, TAG_ORIENTATION, 1, &t->orientation, error));
    HR_TRY(number(&d, TAG_PLANAR, 1, &planar, error));
    HR_TRY(number(&d, TAG_SAMPLE_FORMAT, FORMAT_UINT, &format, error));
    HR_TRY(number(&d, TAG_FILL_ORDER, 1, &fill_order, error));
    HR_TRY(field(&d, TAG_COLOR_MAP, &t->palette, error));
    HR_TRY(field(&d, TAG_JPEG_TABLES, &t->tables, error));
    if (t->samples == 0 || t->samples > MAX_SAMPLES || fill_order != 1)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: %u samples per pixel with fill order %u are not supported",
                       t->samples, fill_order);
    t->planar = planar == 2 && t->samples > 1;
    t->floating = format == FORMAT_FLOAT;
    HR_TRY(check_compression(t, error));
    HR_TRY(check_samples(t, format, error));
    HR_TRY(check_colours(t, error));
    HR_TRY(check_subsampling(&d, t, error));
    return find_blocks(&d, t, error);
}

hr_status hr_tiff_block(const hr_tiff *t, uint64_t i, const uint8_t **bytes, size_t *size,
                        hr_error *error)
{
    uint64_t at = hr_tiff_value(t, &t->offset, i), length = hr_tiff_value(t, &t->length, i);
    if (at > t->size || length > t->size - at)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the file ends before its %s %llu",
                       t->tiled ? "tile" : "strip", (unsigned long long)i);
    *bytes = t->bytes + at;
    *size = (size_t)length;
    return HR_STATUS_OK;
}

size_t hr_tiff_row_size(const hr_tiff *t, uint32_t width)
{
    return ((size_t)width * (t->planar ? 1 : t->samples) * t->bits + 7) / 8;
}
