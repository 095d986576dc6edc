/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/device.h"

#include "codecs/codec.h"
#include "codecs/tiff/directory.h"
#include "image/coded.h"

#include <string.h>

enum {
    BLOCK_MOST = 1 << 27, /* bytes of a block in the file: its bits are counted in 32 bits */
    SLACK = 1 << 20,      /* bytes by which blocks may exceed twice the image */
    ALIGN = 4
};

/* Samples that are elements already, of grey or colours. */
static bool is_simple(const hr_tiff *t)
{
    return t->compression == HR_TIFF_COMPRESSION_LZW && !t->reversed && !t->planar &&
           t->format == HR_TIFF_FORMAT_UINT && t->bits == 8 &&
           t->samples <= HR_TIFF_DEVICE_SAMPLES && t->predictor <= 2 &&
           (t->photometric == HR_TIFF_PHOTOMETRIC_BLACK_IS_ZERO ||
            t->photometric == HR_TIFF_PHOTOMETRIC_RGB);
}

/* Blocks of the window and the memory that they take. False if that is out of proportion. */
static bool take_geometry(const hr_tiff *t, const hr_codec_request *request,
                          hr_tiff_device_image *out, uint64_t *first)
{
    const hr_window *w = &request->window;
    int64_t bx = w->x / t->block_w, by = w->y / t->block_h;
    int64_t right = (w->x + w->w - 1) / t->block_w, bottom = (w->y + w->h - 1) / t->block_h;
    uint64_t rows = HR_MIN(t->block_h, (uint64_t)(w->y + w->h)), row = hr_tiff_row_size(t);
    uint64_t count = (uint64_t)(right - bx + 1) * (uint64_t)(bottom - by + 1);
    uint64_t most = 2 * (uint64_t)t->width * t->height * t->samples + SLACK;
    if (row > INT32_MAX || rows * row > INT32_MAX || count > INT32_MAX ||
        count * rows > INT32_MAX || count * rows * row > most)
        return false;
    out->steps = hr_image_steps(request, request->channels);
    out->count = (uint32_t)count;
    out->across = (uint32_t)(right - bx + 1);
    out->row_size = (uint32_t)row;
    out->slot_rows = (uint32_t)rows;
    out->slot_size = (uint32_t)(rows * row);
    out->block_w = (int32_t)t->block_w;
    out->block_h = (int32_t)t->block_h;
    out->left = (int32_t)(bx * t->block_w - w->x);
    out->top = (int32_t)(by * t->block_h - w->y);
    out->width = (int32_t)w->w;
    out->height = (int32_t)w->h;
    out->samples = (int32_t)t->samples;
    out->channels = request->channels;
    out->differences = t->predictor == 2;
    *first = (uint64_t)by * t->across + (uint64_t)bx;
    return true;
}

/* Block i of the window in the file. */
static bool find_block(const hr_tiff *t, const hr_tiff_device_image *image, uint64_t first,
                       uint32_t i, const uint8_t **bytes, size_t *size)
{
    uint64_t number = first + (uint64_t)(i / image->across) * t->across + i % image->across;
    return hr_tiff_block(t, number, bytes, size, NULL) == HR_STATUS_OK && *size <= BLOCK_MOST;
}

static size_t room(size_t size)
{
    return (size + HR_TIFF_DEVICE_PAD + ALIGN - 1) / ALIGN * ALIGN;
}

/* The bytes of blocks may overlap in the file, but they are copied only as often as it is long. */
static hr_status stage_blocks(const hr_tiff *t, hr_tiff_device_image *image, uint64_t first,
                              hr_staging *staging, hr_error *error)
{
    const uint8_t *bytes;
    size_t size, total = 0, left = t->size;
    hr_staged blocks, words;
    for (uint32_t i = 0; i < image->count; i++) {
        if (!find_block(t, image, first, i, &bytes, &size) || size > left)
            return HR_STATUS_NOT_FUSABLE;
        left -= size;
        total += room(size);
    }
    if (total / ALIGN > UINT32_MAX)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(staging->alloc(staging, image->count * sizeof(hr_tiff_device_block), &blocks, error));
    HR_TRY(staging->alloc(staging, total, &words, error));
    hr_tiff_device_block *block = blocks.host;
    uint8_t *to = words.host;
    for (uint32_t i = 0; i < image->count; i++, block++) {
        (void)find_block(t, image, first, i, &bytes, &size);
        *block = (hr_tiff_device_block){(uint32_t)((size_t)(to - (uint8_t *)words.host) / ALIGN),
                                        (uint32_t)size};
        memcpy(to, bytes, size);
        to += room(size);
    }
    image->blocks = blocks.device;
    image->words = words.device;
    return HR_STATUS_OK;
}

static void bind(const hr_coded *coded, const hr_coded_memory *memory, void *record)
{
    hr_tiff_device_image *image = record;
    *image = *(const hr_tiff_device_image *)coded->record;
    image->dst = memory->pixels;
    image->unpacked = memory->scratch;
    image->status = memory->status;
}

hr_status hr_tiff_device_prepare(const hr_tiff *t, const hr_codec_request *request,
                                 hr_staging *staging, hr_arena *lasting, hr_coded *out,
                                 hr_error *error)
{
    static const hr_coded_decoder decoder = {"tiff", sizeof(hr_tiff_device_image), bind, NULL};
    uint64_t first;
    hr_tiff_device_image *image = hr_arena_alloc(lasting, sizeof *image, error);
    HR_TRY_ALLOC(image);
    memset(image, 0, sizeof *image);
    if (!is_simple(t) || !take_geometry(t, request, image, &first))
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(stage_blocks(t, image, first, staging, error));
    *out = (hr_coded){.decoder = &decoder,
                      .record = image,
                      .stride = image->steps.stride,
                      .rows = image->steps.rows,
                      .scratch = (size_t)image->count * image->slot_size};
    return HR_STATUS_OK;
}
