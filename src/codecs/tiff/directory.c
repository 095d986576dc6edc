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
    MAX_PAGES = 1 << 16,
    PALETTE_BITS = 8,
    INKS_CMYK = 1,
    FAX_UNCOMPRESSED = 2, /* of T4Options and T6Options */
    KIND_REDUCED = 1,     /* of NewSubfileType: a smaller copy of another page */
    KIND_MASK = 4,
    TAG_KIND = 254,
    TAG_WIDTH = 256,
    TAG_LENGTH = 257,
    TAG_BITS = 258,
    TAG_COMPRESSION = 259,
    TAG_PHOTOMETRIC = 262,
    TAG_FILL_ORDER = 266,
    TAG_DESCRIPTION = 270,
    TAG_STRIP_OFFSETS = 273,
    TAG_ORIENTATION = 274,
    TAG_SAMPLES = 277,
    TAG_ROWS_PER_STRIP = 278,
    TAG_STRIP_BYTES = 279,
    TAG_PLANAR = 284,
    TAG_T4_OPTIONS = 292,
    TAG_T6_OPTIONS = 293,
    TAG_PREDICTOR = 317,
    TAG_COLOR_MAP = 320,
    TAG_TILE_WIDTH = 322,
    TAG_TILE_LENGTH = 323,
    TAG_TILE_OFFSETS = 324,
    TAG_TILE_BYTES = 325,
    TAG_INK_SET = 332,
    TAG_EXTRA_SAMPLES = 338,
    TAG_SAMPLE_FORMAT = 339,
    TAG_JPEG_TABLES = 347,
    TAG_YCC_COEFFICIENTS = 529,
    TAG_SUBSAMPLING = 530,
    TAG_REFERENCE = 532,
    TYPE_RATIONAL = 5
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
    bool big; /* BigTIFF: offsets of 8 bytes */
    size_t at;
    uint64_t count; /* of entries */
} directory;

static uint32_t word_size(const directory *d)
{
    return d->big ? 8 : 4;
}

static uint32_t entry_size(const directory *d)
{
    return d->big ? 20 : 12;
}

/* Where the offset of the next directory is. */
static size_t next_offset(const directory *d)
{
    return d->at + (d->big ? 8 : 2) + (size_t)d->count * entry_size(d);
}

/* The directory to which the offset at `place` leads; false if it is not in the file. */
static bool follow(directory *d, size_t place)
{
    const hr_tiff *t = d->t;
    uint32_t word = word_size(d), counter = d->big ? 8 : 2;
    if (place > t->size || t->size - place < word)
        return false;
    uint64_t at = get(t->bytes + place, word, t->big_endian);
    if (at < 8 || at > t->size || t->size - at < counter)
        return false;
    d->at = (size_t)at;
    d->count = get(t->bytes + at, counter, t->big_endian);
    return d->count <= (t->size - d->at - counter) / entry_size(d);
}

static bool first_directory(const hr_tiff *t, directory *d)
{
    *d = (directory){.t = t, .big = get(t->bytes + 2, 2, t->big_endian) == BIG};
    return follow(d, d->big ? 8 : 4);
}

static hr_status find_directory(const hr_tiff *t, int32_t page, directory *d, hr_error *error)
{
    bool found = first_directory(t, d);
    for (int32_t i = 0; i < page && found; i++)
        found = follow(d, next_offset(d));
    return found ? HR_STATUS_OK
                 : hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the directory is not in the file");
}

/* NULL if the directory has no such field. */
static const uint8_t *find_entry(const directory *d, uint32_t tag)
{
    const uint8_t *p = d->t->bytes + d->at + (d->big ? 8 : 2);
    for (uint64_t i = 0; i < d->count; i++, p += entry_size(d))
        if (get(p, 2, d->t->big_endian) == tag)
            return p;
    return NULL;
}

/* The values of a field; those of an absent one have the count 0. */
static hr_status field(const directory *d, uint32_t tag, hr_tiff_values *v, hr_error *error)
{
    const hr_tiff *t = d->t;
    const uint8_t *p = find_entry(d, tag);
    uint32_t word = word_size(d);

    *v = (hr_tiff_values){0};
    if (!p)
        return HR_STATUS_OK;
    uint32_t size = type_size(get(p + 2, 2, t->big_endian));
    uint64_t count = get(p + 4, word, t->big_endian), at = get(p + 4 + word, word, t->big_endian);
    if (size == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: field %u has a bad type", tag);
    if (count <= word / size) /* the values are in the entry itself */
        at = (uint64_t)(p - t->bytes) + 4 + word;
    if (at > t->size || count > (t->size - at) / size)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: field %u is not in the file", tag);
    *v = (hr_tiff_values){t->bytes + at, count, size};
    return HR_STATUS_OK;
}

/* Whether a field of fractions is absent, or has these values, to a thousandth. */
static bool has_fractions(const directory *d, uint32_t tag, const double *expected, uint64_t n)
{
    const hr_tiff *t = d->t;
    const uint8_t *p = find_entry(d, tag);
    uint32_t word = word_size(d);

    if (!p)
        return true;
    uint64_t at = get(p + 4 + word, word, t->big_endian);
    if (get(p + 2, 2, t->big_endian) != TYPE_RATIONAL || get(p + 4, word, t->big_endian) != n ||
        at > t->size || 8 * n > t->size - at)
        return false;
    for (p = t->bytes + at; n > 0; n--, p += 8, expected++) {
        double top = (double)get(p, 4, t->big_endian), unit = (double)get(p + 4, 4, t->big_endian);
        if (top < (*expected - 0.001) * unit || top > (*expected + 0.001) * unit || unit == 0)
            return false;
    }
    return true;
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

static hr_status refuse(hr_error *error, const char *what, uint32_t number)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: %s (%u) are not supported", what, number);
}

static bool is_fax(const hr_tiff *t)
{
    return t->compression >= HR_TIFF_COMPRESSION_FAX_RLE &&
           t->compression <= HR_TIFF_COMPRESSION_FAX_4;
}

/* Predictors belong to these compressions. With others, the field means nothing. */
static bool has_predictor(const hr_tiff *t)
{
    return t->compression == HR_TIFF_COMPRESSION_LZW ||
           t->compression == HR_TIFF_COMPRESSION_DEFLATE ||
           t->compression == HR_TIFF_COMPRESSION_OLD_DEFLATE ||
           t->compression == HR_TIFF_COMPRESSION_ZSTD;
}

static bool bits_fit(const hr_tiff *t)
{
    uint32_t b = t->bits;
    if (t->compression == HR_TIFF_COMPRESSION_JPEG)
        return b == 8 && t->format == HR_TIFF_FORMAT_UINT;
    switch (t->format) {
    case HR_TIFF_FORMAT_FLOAT:
        return b == 16 || b == 32 || b == 64;
    case HR_TIFF_FORMAT_INT:
        return b == 8 || b == 16;
    default:
        return b >= 1 && b <= 16;
    }
}

static hr_status check_samples(hr_tiff *t, hr_error *error)
{
    static const char *const names[] = {"integer", "signed", "float"};
    uint32_t b = t->bits;

    if (t->format == HR_TIFF_FORMAT_UNDEFINED)
        t->format = HR_TIFF_FORMAT_UINT;
    if (t->format < HR_TIFF_FORMAT_UINT || t->format > HR_TIFF_FORMAT_FLOAT)
        return refuse(error, "complex samples, or those of another format", t->format);
    if (!bits_fit(t))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: %s samples of %u bits%s are not supported; integers of 1 to 16 bits, "
                       "signed ones of 8 and 16, and floats of 16, 32 and 64 are",
                       names[t->format - 1], b,
                       t->compression == HR_TIFF_COMPRESSION_JPEG ? " in JPEG blocks" : "");
    if (is_fax(t) && (b != 1 || t->samples != 1))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: CCITT compression of %u samples of %u bits is not valid", t->samples,
                       b);
    if (!has_predictor(t))
        t->predictor = 1;
    bool whole = b == 8 || b == 16 || b == 32 || b == 64;
    if (t->predictor != 1 && (!whole || t->predictor > 3 || t->predictor == 0 ||
                              (t->predictor == 3 && t->format != HR_TIFF_FORMAT_FLOAT)))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: predictor %u is not supported for %s samples of %u bits",
                       t->predictor, names[t->format - 1], b);
    return HR_STATUS_OK;
}

static const char *foreign_colours(uint32_t photometric)
{
    static const struct {
        uint32_t number;
        const char *name;
    } known[] = {
        {4, "a transparency mask"}, {8, "CIELab"},   {9, "ICCLab"},     {10, "ITULab"},
        {32803, "a CFA"},           {32844, "LogL"}, {32845, "LogLuv"}, {34892, "linear raw"},
    };
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (known[i].number == photometric)
            return known[i].name;
    return "unknown";
}

/* How many samples the colours need; 0 for colours that are not supported. */
static uint32_t colour_samples(const hr_tiff *t)
{
    switch ((int)t->photometric) {
    case HR_TIFF_PHOTOMETRIC_WHITE_IS_ZERO:
    case HR_TIFF_PHOTOMETRIC_BLACK_IS_ZERO:
    case HR_TIFF_PHOTOMETRIC_PALETTE:
        return 1;
    case HR_TIFF_PHOTOMETRIC_RGB:
        return 3;
    case HR_TIFF_PHOTOMETRIC_YCBCR:
        return t->compression == HR_TIFF_COMPRESSION_JPEG && t->samples == 1 ? 1 : 3;
    case HR_TIFF_PHOTOMETRIC_CMYK:
        return 4;
    default:
        return 0;
    }
}

static hr_status check_palette(const hr_tiff *t, hr_error *error)
{
    if (t->format != HR_TIFF_FORMAT_UINT || t->bits > PALETTE_BITS || t->palette.size != 2 ||
        t->palette.count < (uint64_t)3 << t->bits)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the palette does not fit the samples");
    return HR_STATUS_OK;
}

static hr_status check_ycc(const directory *d, const hr_tiff *t, hr_error *error)
{
    static const double weights[3] = {0.299, 0.587, 0.114};
    static const double range[6] = {0, 255, 128, 255, 128, 255};
    hr_tiff_values v;
    HR_TRY(field(d, TAG_SUBSAMPLING, &v, error));
    bool full = v.count == 2 && hr_tiff_value(t, &v, 0) == 1 && hr_tiff_value(t, &v, 1) == 1;
    bool jpeg = t->compression == HR_TIFF_COMPRESSION_JPEG;
    if (jpeg && (!t->planar || t->samples == 1))
        return HR_STATUS_OK; /* what JPEG says of itself counts */
    if (!full)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: subsampled YCbCr is supported only with JPEG compression that is "
                       "not planar");
    if (!has_fractions(d, TAG_YCC_COEFFICIENTS, weights, 3) ||
        !has_fractions(d, TAG_REFERENCE, range, 6))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: YCbCr is supported only with the coefficients of BT.601 and the full "
                       "range (fields 529 and 532)");
    return HR_STATUS_OK;
}

static hr_status check_cmyk(const directory *d, hr_error *error)
{
    uint32_t inks;
    HR_TRY(number(d, TAG_INK_SET, INKS_CMYK, &inks, error));
    if (inks != INKS_CMYK)
        return refuse(error, "inks that are not CMYK", inks);
    return HR_STATUS_OK;
}

static hr_status check_colours(const directory *d, const hr_tiff *t, hr_error *error)
{
    uint32_t needed = colour_samples(t);
    bool eight = t->bits == 8, sixteen = t->bits == 16;

    if (needed == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: colour space %u (%s) is not supported",
                       t->photometric, foreign_colours(t->photometric));
    if (t->samples < needed || t->extra > t->samples - needed)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: %u samples per pixel, of which %u are not colours; the colours need "
                       "%u",
                       t->samples, t->extra, needed);
    if (t->photometric == HR_TIFF_PHOTOMETRIC_WHITE_IS_ZERO && t->format == HR_TIFF_FORMAT_INT)
        return refuse(error, "signed samples of which 0 is white", t->bits);
    bool cmyk = t->photometric == HR_TIFF_PHOTOMETRIC_CMYK;
    bool ycc = t->photometric == HR_TIFF_PHOTOMETRIC_YCBCR;
    if ((cmyk || ycc) && (t->format != HR_TIFF_FORMAT_UINT || !(eight || (sixteen && cmyk))))
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: %s of %u bits is not supported",
                       cmyk ? "CMYK" : "YCbCr", t->bits);
    if (t->photometric == HR_TIFF_PHOTOMETRIC_PALETTE)
        HR_TRY(check_palette(t, error));
    if (t->compression == HR_TIFF_COMPRESSION_JPEG && !t->planar && t->samples != needed)
        return refuse(error, "JPEG blocks with samples beside the colours", t->samples);
    if (cmyk)
        return check_cmyk(d, error);
    return ycc ? check_ycc(d, t, error) : HR_STATUS_OK;
}

/* The names of compressions that exist but are not supported. */
static const char *foreign_compression(uint32_t number)
{
    static const struct {
        uint32_t number;
        const char *name;
    } known[] = {
        {6, "old JPEG"},        {32766, "NeXT"},    {32771, "CCITT RLE of words"},
        {32809, "ThunderScan"}, {34661, "JBIG"},    {34676, "SGILog"},
        {34712, "JPEG 2000"},   {34887, "LERC"},    {34925, "LZMA"},
        {50001, "WebP"},        {50002, "JPEG XL"},
    };
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (known[i].number == number)
            return known[i].name;
    return "unknown";
}

static hr_status check_compression(const directory *d, hr_tiff *t, hr_error *error)
{
    uint32_t options = 0;
    switch (t->compression) {
    case HR_TIFF_COMPRESSION_FAX_3:
    case HR_TIFF_COMPRESSION_FAX_4:
        HR_TRY(number(d,
                      t->compression == HR_TIFF_COMPRESSION_FAX_3 ? TAG_T4_OPTIONS : TAG_T6_OPTIONS,
                      0, &options, error));
        t->fax_options = options;
        if (options & FAX_UNCOMPRESSED)
            return refuse(error, "CCITT data in uncompressed mode", options);
        return HR_STATUS_OK;
    case HR_TIFF_COMPRESSION_NONE:
    case HR_TIFF_COMPRESSION_FAX_RLE:
    case HR_TIFF_COMPRESSION_LZW:
    case HR_TIFF_COMPRESSION_JPEG:
    case HR_TIFF_COMPRESSION_DEFLATE:
    case HR_TIFF_COMPRESSION_OLD_DEFLATE:
    case HR_TIFF_COMPRESSION_PACKBITS:
    case HR_TIFF_COMPRESSION_ZSTD:
        return HR_STATUS_OK;
    default:
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: compression %u (%s) is not supported; LZW, Deflate, PackBits, JPEG, "
                       "Zstandard and CCITT are",
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

/* What the samples of decompressed blocks are. */
static void describe_blocks(hr_tiff *t)
{
    t->stored = t->planar ? 1 : t->samples;
    if (t->compression != HR_TIFF_COMPRESSION_JPEG || t->planar)
        return;
    t->luma = t->photometric == HR_TIFF_PHOTOMETRIC_YCBCR;
    t->inks = t->photometric == HR_TIFF_PHOTOMETRIC_CMYK;
    if (t->inks)
        t->stored = 3;
    if (t->luma || t->inks) /* the JPEG decoder converts them */
        t->photometric =
            t->samples == 1 ? HR_TIFF_PHOTOMETRIC_BLACK_IS_ZERO : HR_TIFF_PHOTOMETRIC_RGB;
}

static hr_status read_kind(const directory *d, hr_tiff *t, hr_error *error)
{
    uint32_t planar, format, fill_order, photometric;
    hr_tiff_values extra;

    HR_TRY(number(d, TAG_BITS, 1, &t->bits, error));
    HR_TRY(number(d, TAG_SAMPLES, 1, &t->samples, error));
    HR_TRY(number(d, TAG_COMPRESSION, HR_TIFF_COMPRESSION_NONE, &t->compression, error));
    HR_TRY(number(d, TAG_PHOTOMETRIC,
                  t->samples >= 3 ? HR_TIFF_PHOTOMETRIC_RGB : HR_TIFF_PHOTOMETRIC_BLACK_IS_ZERO,
                  &photometric, error));
    HR_TRY(number(d, TAG_PREDICTOR, 1, &t->predictor, error));
    HR_TRY(number(d, TAG_ORIENTATION, 1, &t->orientation, error));
    HR_TRY(number(d, TAG_PLANAR, 1, &planar, error));
    HR_TRY(number(d, TAG_SAMPLE_FORMAT, HR_TIFF_FORMAT_UINT, &format, error));
    HR_TRY(number(d, TAG_FILL_ORDER, 1, &fill_order, error));
    HR_TRY(field(d, TAG_EXTRA_SAMPLES, &extra, error));
    HR_TRY(field(d, TAG_COLOR_MAP, &t->palette, error));
    HR_TRY(field(d, TAG_JPEG_TABLES, &t->tables, error));
    if (t->samples == 0 || t->samples > MAX_SAMPLES)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: %u samples per pixel are not supported",
                       t->samples);
    if (fill_order != 1 && fill_order != 2)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: fill order %u is not valid", fill_order);
    if (planar != 1 && planar != 2)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: planar configuration %u is not valid",
                       planar);
    t->photometric = (hr_tiff_photometric)photometric;
    t->format = (hr_tiff_format)format;
    t->extra = (uint32_t)HR_MIN(extra.count, MAX_SAMPLES);
    t->planar = planar == 2 && t->samples > 1;
    t->reversed = fill_order == 2 && t->compression != HR_TIFF_COMPRESSION_JPEG;
    return HR_STATUS_OK;
}

static hr_tiff begin(const uint8_t *bytes, size_t size)
{
    return (hr_tiff){.bytes = bytes, .size = size, .big_endian = bytes[0] == 'M'};
}

hr_status hr_tiff_open(hr_tiff *t, const uint8_t *bytes, size_t size, int32_t page, hr_error *error)
{
    directory d;

    *t = begin(bytes, size);
    HR_TRY(find_directory(t, page, &d, error));
    HR_TRY(number(&d, TAG_WIDTH, 0, &t->width, error));
    HR_TRY(number(&d, TAG_LENGTH, 0, &t->height, error));
    if (t->width == 0 || t->height == 0 || t->width > MAX_SIDE || t->height > MAX_SIDE)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the image size, %ux%u pixels, is not valid",
                       t->width, t->height);
    HR_TRY(read_kind(&d, t, error));
    HR_TRY(check_compression(&d, t, error));
    HR_TRY(check_samples(t, error));
    HR_TRY(check_colours(&d, t, error));
    describe_blocks(t);
    hr_error ignored; /* a text that is damaged does no harm */
    field(&d, TAG_DESCRIPTION, &t->description, &ignored);
    return find_blocks(&d, t, error);
}

/* Smaller copies and masks of other pages are not pages of their own. */
static bool is_own_page(const directory *d)
{
    uint32_t kind;
    return number(d, TAG_KIND, 0, &kind, NULL) != HR_STATUS_OK ||
           !(kind & (KIND_REDUCED | KIND_MASK));
}

hr_tiff_pages hr_tiff_count(const uint8_t *bytes, size_t size)
{
    const hr_tiff t = begin(bytes, size);
    hr_tiff_pages pages = {0, 0};
    directory d;
    size_t seen = 0, left = size; /* a directory that makes the chain a ring; bytes */
    int32_t limit = 1;
    for (bool found = first_directory(&t, &d); found; found = follow(&d, next_offset(&d))) {
        size_t taken = next_offset(&d) - d.at;
        if (d.at == seen || taken > left || pages.count == MAX_PAGES)
            break;
        left -= taken;
        pages.count++;
        pages.others += pages.count > 1 && is_own_page(&d);
        if (pages.count == limit) {
            seen = d.at;
            limit *= 2;
        }
    }
    return pages;
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

size_t hr_tiff_row_size(const hr_tiff *t)
{
    return ((size_t)t->block_w * t->stored * t->bits + 7) / 8;
}
