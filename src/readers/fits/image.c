/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "core/inflate.h"
#include "readers/fits/image.h"

#include <string.h>
#include <zlib.h>

/* ---- elements ---- */

static uint64_t big_endian(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[i];
    return value;
}

/* One element of BITPIX `bitpix`, as a number. */
static double as_number(uint64_t bits, int64_t bitpix)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    switch (bitpix) {
    case 8:
        return (double)(uint8_t)bits;
    case 16:
        return (double)(int16_t)bits;
    case 32:
        return (double)(int32_t)bits;
    case 64:
        return (double)(int64_t)bits;
    case -32:
        memcpy(&f, &low, sizeof(f));
        return (double)f;
    default:
        memcpy(&d, &bits, sizeof(d));
        return d;
    }
}

#define CONVERT(type)                                                                              \
    do {                                                                                           \
        type *to = out;                                                                            \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = (type)big_endian(from + i * sizeof(type), sizeof(type)) ^ (type)top;           \
    } while (0)

/* Elements of the file to those of the tensor. */
static void convert(const hr_fits_hdu *hdu, int64_t bitpix, const uint8_t *from, void *out,
                    size_t count)
{
    const size_t size = hr_fits_element(bitpix);
    const uint64_t top = hdu->flip ? UINT64_C(1) << (8 * size - 1) : 0;
    if (hdu->scale) {
        for (size_t i = 0; i < count; i++) {
            double x =
                hdu->bzero + hdu->bscale * as_number(big_endian(from + i * size, size), bitpix);
            if (hdu->dtype == HR_DTYPE_FLOAT)
                ((float *)out)[i] = (float)x;
            else
                ((double *)out)[i] = x;
        }
    } else if (size == 1) {
        CONVERT(uint8_t);
    } else if (size == 2) {
        CONVERT(uint16_t);
    } else if (size == 4) {
        CONVERT(uint32_t);
    } else {
        CONVERT(uint64_t);
    }
}
#undef CONVERT

/* ---- RICE_1 ---- */

typedef struct bits {
    const uint8_t *at, *end;
    uint64_t value; /* of which the low `count` bits are not used yet */
    uint32_t count;
    bool failed; /* the data ended */
} bits;

static uint32_t take(bits *b, uint32_t n)
{
    while (b->count < n) {
        b->failed = b->failed || b->at == b->end;
        b->value = b->value << 8 | (b->at < b->end ? *b->at++ : 0);
        b->count += 8;
    }
    b->count -= n;
    return (uint32_t)(b->value >> b->count & ((UINT64_C(1) << n) - 1));
}

/* The number of zeros before the next one. */
static uint32_t zeros(bits *b)
{
    uint32_t n = 0;
    while (!b->failed && take(b, 1) == 0)
        n++;
    return n;
}

bool hr_fits_rice(const uint8_t *data, size_t size, int32_t bytes, int32_t block, uint32_t *out,
                  size_t count)
{
    const uint32_t width = bytes == 1 ? 3 : bytes == 2 ? 4 : 5, all = 8 * (uint32_t)bytes;
    const uint32_t whole = bytes == 1 ? 6 : bytes == 2 ? 14 : 25;
    bits b = {.at = data, .end = data + size};
    uint32_t last = take(&b, all);
    for (size_t i = 0; i < count && !b.failed;) {
        uint32_t code = take(&b, width), split = code - 1;
        size_t end = HR_MIN(count, i + (size_t)block);
        if (code > whole + 1)
            return false;
        for (; i < end && !b.failed; i++) {
            uint32_t d = 0;
            if (code == whole + 1) {
                d = take(&b, all);
            } else if (code > 0) {
                d = zeros(&b) << split;
                d |= take(&b, split);
            }
            last += d & 1 ? ~(d >> 1) : d >> 1;
            out[i] = last;
        }
    }
    return !b.failed;
}

/* ---- tiles ---- */

typedef struct tiling {
    const uint8_t *rows, *heap;
    size_t row_size, heap_size, column; /* bytes; of the descriptor in a row */
    bool wide;                          /* descriptors of 16 bytes */
    size_t element;                     /* bytes as in ZBITPIX */
    int64_t at[HR_FITS_AXES];           /* of the tile, in pixels */
    int64_t extent[HR_FITS_AXES];       /* of the tile */
    size_t pixels;                      /* of the tile */
    uint32_t *numbers;                  /* scratch: of RICE */
    uint8_t *bytes;                     /* scratch: pixels as in a file */
} tiling;

static int64_t tile_extent(const hr_fits_hdu *hdu, int64_t d)
{
    int64_t wanted = hdu->ztile[d] > 0 ? hdu->ztile[d] : d == 0 ? hdu->zaxis[0] : 1;
    return HR_MAX(HR_MIN(wanted, hdu->zaxis[d]), 1);
}

static size_t column_size(const hr_fits_column *c)
{
    static const char letters[] = "LXBIJKAEDCMPQ";
    static const uint8_t sizes[] = {1, 1, 1, 2, 4, 8, 1, 4, 8, 8, 16, 8, 16};
    const char *found = c->type ? strchr(letters, c->type) : NULL;
    if (!found || c->repeat < 0 || c->repeat > INT32_MAX)
        return SIZE_MAX;
    size_t repeat = (size_t)c->repeat;
    return c->type == 'X' ? (repeat + 7) / 8 : repeat * sizes[found - letters];
}

static hr_status find_column(const hr_fits_hdu *hdu, tiling *t, hr_error *error)
{
    for (int64_t i = 0; i < HR_MIN(hdu->tfields, HR_FITS_COLUMNS); i++) {
        const hr_fits_column *c = &hdu->column[i];
        size_t size = column_size(c);
        if (size > t->row_size - t->column)
            break;
        if (c->tiles && c->repeat == 1 && (c->type == 'P' || c->type == 'Q') && c->element == 'B') {
            t->wide = c->type == 'Q';
            return HR_STATUS_OK;
        }
        t->column += size;
    }
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "its table has no column COMPRESSED_DATA of the form 1PB or 1QB");
}

static hr_status check_method(const hr_fits_hdu *hdu, hr_error *error)
{
    const bool rice =
        strcmp(hdu->zcmptype, "RICE_1") == 0 || strcmp(hdu->zcmptype, "RICE_ONE") == 0;
    if (!rice && strcmp(hdu->zcmptype, "GZIP_1") != 0)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "it is compressed with %s; supported are RICE_1 and GZIP_1", hdu->zcmptype);
    if (rice && (hdu->zbitpix < 0 || hdu->zbitpix > 32))
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "RICE_1 of elements with ZBITPIX %lld (quantized floats) is not supported; "
                       "use GZIP_1 without quantization",
                       (long long)hdu->zbitpix);
    const int64_t block = hdu->zval[0], bytes = hdu->zval[1];
    if (rice && (block < 1 || block > INT32_MAX || !(bytes == 1 || bytes == 2 || bytes == 4)))
        return hr_fail(error, HR_STATUS_CORRUPT, "BLOCKSIZE %lld or BYTEPIX %lld is not valid",
                       (long long)block, (long long)bytes);
    for (int64_t i = 0; i < HR_MIN(hdu->tfields, HR_FITS_COLUMNS) && hdu->zbitpix < 0; i++)
        if (!hdu->column[i].tiles)
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "its floats are quantized (the table has more columns than "
                           "COMPRESSED_DATA), which is not supported");
    return HR_STATUS_OK;
}

static hr_status open_tiles(const uint8_t *file, const hr_fits_hdu *hdu, tiling *t, hr_arena *arena,
                            hr_error *error)
{
    const int64_t n = hdu->znaxis;
    size_t rows = 1, pixels = 1, table;
    HR_TRY(check_method(hdu, error));
    t->element = hr_fits_element(hdu->zbitpix);
    for (int64_t d = 0; d < n;
         d++) { /* products that are not larger than the array's, which fits */
        int64_t extent = tile_extent(hdu, d);
        rows *= (size_t)HR_DIVIDE_UP(hdu->zaxis[d], extent);
        pixels *= (size_t)extent;
    }
    t->row_size = (size_t)hdu->axis[0];
    if (hdu->bitpix != 8 || hdu->gcount != 1 || hdu->naxis != 2 || (size_t)hdu->axis[1] != rows ||
        !hr_size_mul(t->row_size, rows, &table))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "its table must have one row for each of %zu tiles", rows);
    size_t heap = hdu->theap >= 0 ? (size_t)hdu->theap : table;
    if (heap < table || heap > hdu->size)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the heap at THEAP %zu is not inside the %zu bytes of data", heap,
                       hdu->size);
    t->rows = file + hdu->data;
    t->heap = t->rows + heap;
    t->heap_size = hdu->size - heap;
    HR_TRY(find_column(hdu, t, error));
    t->numbers = hr_arena_alloc(arena, pixels * sizeof(*t->numbers), error);
    t->bytes = t->numbers ? hr_arena_alloc(arena, pixels * 8, error) : NULL;
    return t->bytes ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static bool inflate_tile(const uint8_t *data, size_t size, uint8_t *out, size_t out_size)
{
    z_stream z = {0};
    hr_deflate kind = data[0] == 0x1f ? HR_DEFLATE_GZIP : HR_DEFLATE_ZLIB;
    if (hr_inflate(kind, data, size, out, out_size))
        return true;
    if (size > UINT32_MAX || out_size > UINT32_MAX || inflateInit2(&z, 15 + 32) != Z_OK)
        return false;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)out_size;
    int result = inflate(&z, Z_FINISH);
    bool good =
        z.avail_out == 0 && (result == Z_STREAM_END || result == Z_OK || result == Z_BUF_ERROR);
    inflateEnd(&z);
    return good;
}

/* The pixels of RICE_1 in the form of a file. */
static void put_numbers(const hr_fits_hdu *hdu, const tiling *t)
{
    const size_t stored = (size_t)hdu->zval[1];
    for (size_t i = 0; i < t->pixels; i++) {
        uint32_t v = t->numbers[i];
        if (stored == 2)
            v = (uint32_t)(int16_t)v;
        else if (stored == 1)
            v = (uint8_t)v;
        for (size_t k = 0; k < t->element; k++)
            t->bytes[i * t->element + k] = (uint8_t)(v >> 8 * (t->element - 1 - k));
    }
}

static hr_status unpack_tile(const uint8_t *file, const hr_fits_hdu *hdu, tiling *t, size_t row,
                             hr_error *error)
{
    const uint8_t *descriptor = t->rows + row * t->row_size + t->column;
    const size_t word = t->wide ? 8 : 4;
    const uint64_t size = big_endian(descriptor, word),
                   offset = big_endian(descriptor + word, word);
    if (offset > t->heap_size || size > t->heap_size - offset || size == 0)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "byte %zu: tile %zu is not inside the heap: %llu bytes at %llu, of %zu",
                       (size_t)(descriptor - file), row, (unsigned long long)size,
                       (unsigned long long)offset, t->heap_size);
    const uint8_t *data = t->heap + offset;
    bool gzip = hdu->zcmptype[0] == 'G', good;
    if (gzip)
        good = inflate_tile(data, (size_t)size, t->bytes, t->pixels * t->element);
    else
        good = hr_fits_rice(data, (size_t)size, (int32_t)hdu->zval[1], (int32_t)hdu->zval[0],
                            t->numbers, t->pixels);
    if (!good)
        return hr_fail(error, HR_STATUS_CORRUPT, "the %s data of tile %zu at byte %zu is damaged",
                       gzip ? "GZIP_1" : "RICE_1", row, (size_t)(data - file));
    if (!gzip)
        put_numbers(hdu, t);
    return HR_STATUS_OK;
}

/* Where the tile of a row of the table is; the first axis is the fastest. */
static void place_tile(const hr_fits_hdu *hdu, tiling *t, size_t row)
{
    t->pixels = 1;
    for (int64_t d = 0; d < hdu->znaxis; d++) {
        int64_t extent = tile_extent(hdu, d), count = HR_DIVIDE_UP(hdu->zaxis[d], extent);
        t->at[d] = (int64_t)(row % (size_t)count) * extent;
        t->extent[d] = HR_MIN(extent, hdu->zaxis[d] - t->at[d]);
        t->pixels *= (size_t)t->extent[d];
        row /= (size_t)count;
    }
}

static void put_tile(const hr_fits_hdu *hdu, const tiling *t, char *out)
{
    const size_t item = hr_dtype_size(hdu->dtype), run = (size_t)t->extent[0];
    for (size_t i = 0; i < t->pixels; i += run) {
        size_t rest = i / run, to = (size_t)t->at[0], stride = (size_t)hdu->zaxis[0];
        for (int64_t d = 1; d < hdu->znaxis; d++) {
            to += ((size_t)t->at[d] + rest % (size_t)t->extent[d]) * stride;
            rest /= (size_t)t->extent[d];
            stride *= (size_t)hdu->zaxis[d];
        }
        convert(hdu, hdu->zbitpix, t->bytes + i * t->element, out + to * item, run);
    }
}

hr_status hr_fits_read(const uint8_t *file, const hr_fits_hdu *hdu, void *out, hr_arena *arena,
                       hr_error *error)
{
    size_t count;
    tiling t = {0};
    (void)hr_shape_volume(&hdu->shape, &count);
    if (count == 0)
        return HR_STATUS_OK;
    if (hdu->image) {
        convert(hdu, hdu->bitpix, file + hdu->data, out, count);
        return HR_STATUS_OK;
    }
    HR_TRY(open_tiles(file, hdu, &t, arena, error));
    for (size_t row = 0; row < (size_t)hdu->axis[1]; row++) {
        place_tile(hdu, &t, row);
        HR_TRY(unpack_tile(file, hdu, &t, row, error));
        put_tile(hdu, &t, out);
    }
    return HR_STATUS_OK;
}
