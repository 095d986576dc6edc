/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/block.h"

#include "codecs/codec.h"
#include "codecs/tiff/fax.h"
#include "codecs/tiff/jpeg.h"
#include "codecs/tiff/unpack.h"
#include "codecs/tiff/zstd.h"

#include <string.h>

uint64_t hr_tiff_largest_ratio(const hr_tiff *t)
{
    switch (t->compression) {
    case HR_TIFF_COMPRESSION_NONE:
        return 1;
    case HR_TIFF_COMPRESSION_FAX_RLE:
    case HR_TIFF_COMPRESSION_FAX_3:
    case HR_TIFF_COMPRESSION_FAX_4: /* a row in a bit */
        return 8 * (uint64_t)hr_tiff_row_size(t);
    case HR_TIFF_COMPRESSION_PACKBITS:
        return 64;
    case HR_TIFF_COMPRESSION_LZW: /* strings of up to 3,839 bytes in codes of 12 bits */
        return 2560;
    case HR_TIFF_COMPRESSION_JPEG: /* 64 coefficients of six blocks in 12 bits */
        return 256;
    case HR_TIFF_COMPRESSION_ZSTD: /* 128 KiB in 4 bytes */
        return 1 << 15;
    default: /* 258 bytes in 2 bits */
        return 1032;
    }
}

/* Whether blocks in the file are rows of samples as they are in memory. */
static bool is_plain(const hr_tiff *t)
{
    return t->compression == HR_TIFF_COMPRESSION_NONE && !t->reversed &&
           (t->bits <= 8 || t->bits % 8 != 0 || !t->big_endian);
}

hr_status hr_tiff_blocks_init(hr_tiff_blocks *b, const hr_tiff *t, uint64_t rows, uint32_t slots,
                              hr_op_call *c, hr_error *error)
{
    size_t bytes;
    *b = (hr_tiff_blocks){.t = t, .c = c, .row_size = hr_tiff_row_size(t)};
    if (!hr_size_mul(b->row_size, (size_t)rows, &b->slot_size) ||
        !hr_size_mul(b->slot_size, slots, &bytes))
        return hr_fail_memory(error, SIZE_MAX);
    if (is_plain(t))
        return HR_STATUS_OK;
    HR_TRY(hr_image_affordable(bytes, t->size, error));
    if (!(b->memory = hr_arena_alloc(c->arena, bytes, error)))
        return HR_STATUS_NO_MEMORY;
    if (t->predictor == 3 && !(b->row = hr_arena_alloc(c->arena, b->row_size, error)))
        return HR_STATUS_NO_MEMORY;
    return HR_STATUS_OK;
}

/* ---- predictors and the order of bytes and bits ---- */

static void swap_bytes(uint8_t *p, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++, p += size)
        for (size_t k = 0; k < size / 2; k++) {
            uint8_t b = p[k];
            p[k] = p[size - 1 - k];
            p[size - 1 - k] = b;
        }
}

/* Predictor 2: differences of neighbouring pixels, as integers of the samples' size. */
#define ADD_DIFFERENCES(type, row, count, channels)                                                \
    for (size_t i = (channels); i < (count); i++) {                                                \
        type v, before;                                                                            \
        memcpy(&v, (row) + i * sizeof v, sizeof v);                                                \
        memcpy(&before, (row) + (i - (channels)) * sizeof v, sizeof v);                            \
        v = (type)(v + before);                                                                    \
        memcpy((row) + i * sizeof v, &v, sizeof v);                                                \
    }

static void add_differences(const hr_tiff *t, uint8_t *row, size_t count)
{
    switch (t->bits) {
    case 8:
        ADD_DIFFERENCES(uint8_t, row, count, t->stored)
        break;
    case 16:
        ADD_DIFFERENCES(uint16_t, row, count, t->stored)
        break;
    case 32:
        ADD_DIFFERENCES(uint32_t, row, count, t->stored)
        break;
    default:
        ADD_DIFFERENCES(uint64_t, row, count, t->stored)
    }
}

/* Predictor 3: differences of bytes, all first bytes of a row before all second ones. The order of
 * the bytes is big endian in every file. */
static void add_float_differences(hr_tiff_blocks *b, uint8_t *row, size_t count)
{
    size_t size = b->t->bits / 8, channels = b->t->stored;
    for (size_t i = channels; i < size * count; i++)
        row[i] = (uint8_t)(row[i] + row[i - channels]);
    memcpy(b->row, row, size * count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < size; k++)
            row[size * i + k] = b->row[(size - 1 - k) * count + i];
}

static void restore_rows(hr_tiff_blocks *b, uint8_t *block, uint32_t rows)
{
    const hr_tiff *t = b->t;
    size_t count = (size_t)t->block_w * t->stored;
    bool swap = t->big_endian && t->bits > 8 && t->bits % 8 == 0;
    if (!swap && t->predictor == 1)
        return;
    for (uint32_t y = 0; y < rows; y++) {
        uint8_t *row = block + y * b->row_size;
        if (t->predictor == 3) {
            add_float_differences(b, row, count);
            continue;
        }
        if (swap)
            swap_bytes(row, count, t->bits / 8);
        if (t->predictor == 2)
            add_differences(t, row, count);
    }
}

static uint8_t reversed(uint8_t v)
{
    v = (uint8_t)(v >> 4 | v << 4);
    v = (uint8_t)((v >> 2 & 0x33) | (v & 0x33) << 2);
    return (uint8_t)((v >> 1 & 0x55) | (v & 0x55) << 1);
}

/* A copy of the block's bytes with the bits of each in the usual order. */
static hr_status reverse(hr_tiff_blocks *b, const uint8_t **in, size_t size, hr_error *error)
{
    uint8_t *copy = hr_arena_alloc(b->c->arena, HR_MAX(size, 1), error);
    HR_TRY_ALLOC(copy);
    for (size_t i = 0; i < size; i++)
        copy[i] = reversed((*in)[i]);
    *in = copy;
    return HR_STATUS_OK;
}

/* ---- blocks ---- */

static hr_status unpack(hr_tiff_blocks *b, const uint8_t *in, size_t size, uint8_t *out,
                        uint32_t rows, hr_error *error)
{
    const hr_tiff *t = b->t;
    size_t needed = rows * b->row_size;
    switch (t->compression) {
    case HR_TIFF_COMPRESSION_NONE:
        memcpy(out, in, needed);
        return HR_STATUS_OK;
    case HR_TIFF_COMPRESSION_PACKBITS:
        return hr_tiff_unpack_bits(in, size, out, needed, error);
    case HR_TIFF_COMPRESSION_LZW:
        return hr_tiff_unpack_lzw(in, size, out, needed, error);
    case HR_TIFF_COMPRESSION_FAX_RLE:
    case HR_TIFF_COMPRESSION_FAX_3:
    case HR_TIFF_COMPRESSION_FAX_4:
        return hr_tiff_unpack_fax(t, in, size, out, rows, error);
    case HR_TIFF_COMPRESSION_JPEG:
        return hr_tiff_unpack_jpeg(t, in, size, out, rows, b->c, error);
    case HR_TIFF_COMPRESSION_ZSTD:
        return hr_tiff_unpack_zstd(in, size, out, needed, error);
    default:
        return hr_tiff_inflate(in, size, out, needed, error);
    }
}

hr_status hr_tiff_blocks_read(hr_tiff_blocks *b, uint64_t i, uint32_t slot, uint32_t rows,
                              const uint8_t **pixels, hr_error *error)
{
    const hr_tiff *t = b->t;
    const uint8_t *in;
    size_t size;
    HR_TRY(hr_tiff_block(t, i, &in, &size, error));
    if (t->compression == HR_TIFF_COMPRESSION_NONE && size < rows * b->row_size)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: the file ends before its pixels do");
    *pixels = in;
    if (!b->memory)
        return HR_STATUS_OK;
    uint8_t *out = b->memory + slot * b->slot_size;
    *pixels = out;
    hr_arena_mark mark = hr_arena_save(b->c->arena);
    hr_status status = t->reversed ? reverse(b, &in, size, error) : HR_STATUS_OK;
    if (status == HR_STATUS_OK)
        status = unpack(b, in, size, out, rows, error);
    hr_arena_restore(b->c->arena, mark);
    if (status == HR_STATUS_OK)
        restore_rows(b, out, rows);
    return status;
}
