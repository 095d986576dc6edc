/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* TIFF and BigTIFF: one page of a file, in strips or tiles. Blocks that a window needs are
 * decompressed one after the other; with planes, those of all planes that it needs. */
#include "codecs/codec.h"

#include "codecs/tiff/block.h"
#include "codecs/tiff/device.h"
#include "codecs/tiff/directory.h"
#include "codecs/tiff/pixels.h"

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    hr_tiff t;
    hr_tiff_pages pages = hr_tiff_count(bytes, size);
    HR_TRY(hr_image_set_pages(info, pages.count, pages.others, error));
    HR_TRY(hr_tiff_open(&t, bytes, size, info->page, error));
    info->height = (int32_t)t.height;
    info->width = (int32_t)t.width;
    info->channels = (int32_t)hr_tiff_channels(&t);
    info->bits = (int32_t)hr_tiff_element_bits(&t);
    info->orientation = t.orientation >= 1 && t.orientation <= 8 ? (int32_t)t.orientation : 1;
    return HR_STATUS_OK;
}

static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    hr_tiff t;
    uint64_t total = 0;
    HR_TRY(hr_tiff_open(&t, bytes, size, info->page, error));
    for (uint64_t i = 0; i < t.length.count && total < size; i++)
        total += HR_MIN(hr_tiff_value(&t, &t.length, i), size);
    double most = (double)HR_MIN(total, size) * (double)hr_tiff_largest_ratio(&t) * 8 /
                  ((double)t.samples * t.bits);
    *pixels = (int64_t)HR_MIN(most, 1e18);
    return HR_STATUS_OK;
}

typedef struct tiff_reader {
    hr_tiff t;
    const hr_codec_request *request;
    hr_tiff_blocks blocks;
    hr_tiff_pixels pixels;
    uint32_t planes;
    const uint8_t **rows; /* of a block, for each plane */
} tiff_reader;

/* The part of the window that lies in the block of column `bx` and row `by`. */
static hr_status put_block(tiff_reader *r, uint32_t bx, uint32_t by, hr_error *error)
{
    const hr_tiff *t = &r->t;
    const hr_window *w = &r->request->window;
    int64_t left = (int64_t)bx * t->block_w, top = (int64_t)by * t->block_h;
    int64_t x0 = HR_MAX(w->x, left), x1 = HR_MIN(w->x + w->w, left + t->block_w);
    int64_t y0 = HR_MAX(w->y, top), y1 = HR_MIN(w->y + w->h, top + t->block_h);
    size_t pixel = (size_t)r->request->channels * hr_tiff_element_bits(t) / 8;

    for (uint32_t plane = 0; plane < r->planes; plane++) {
        uint64_t i = ((uint64_t)plane * t->down + by) * t->across + bx;
        HR_TRY(hr_tiff_blocks_read(&r->blocks, i, plane, (uint32_t)(y1 - top), &r->rows[plane],
                                   error));
        r->rows[plane] += (size_t)(y0 - top) * r->blocks.row_size;
    }
    for (int64_t y = y0; y < y1; y++) {
        uint8_t *dst = (uint8_t *)r->request->dst + (size_t)(y - w->y) * r->request->stride +
                       (size_t)(x0 - w->x) * pixel;
        hr_tiff_pixels_put(&r->pixels, dst, r->rows, (size_t)(x0 - left), (size_t)(x1 - x0));
        for (uint32_t plane = 0; plane < r->planes; plane++)
            r->rows[plane] += r->blocks.row_size;
    }
    return HR_STATUS_OK;
}

static hr_status prepare(tiff_reader *r, hr_op_call *c, hr_error *error)
{
    const hr_tiff *t = &r->t;
    const hr_window *w = &r->request->window;
    uint32_t channels = (uint32_t)r->request->channels;
    /* Rows below the window are not decompressed. */
    uint64_t rows = HR_MIN(t->block_h, (uint64_t)(w->y + w->h));

    r->planes = hr_tiff_planes(t, channels);
    r->rows = hr_arena_alloc(c->arena, r->planes * sizeof *r->rows, error);
    HR_TRY_ALLOC(r->rows);
    HR_TRY(hr_tiff_blocks_init(&r->blocks, t, rows, r->planes, c, error));
    return hr_tiff_pixels_init(&r->pixels, t, channels, HR_MIN((size_t)w->w, t->block_w), c->arena,
                               error);
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    tiff_reader r = {.request = request};
    const hr_window *w = &request->window;
    const hr_tiff *t = &r.t;
    HR_TRY(hr_tiff_open(&r.t, bytes, size, info->page, error));
    HR_TRY(prepare(&r, c, error));
    for (int64_t by = w->y / t->block_h; by * t->block_h < w->y + w->h; by++)
        for (int64_t bx = w->x / t->block_w; bx * t->block_w < w->x + w->w; bx++)
            HR_TRY(put_block(&r, (uint32_t)bx, (uint32_t)by, error));
    return HR_STATUS_OK;
}

static hr_status stage(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       const hr_codec_request *request, hr_op_call *c, hr_staging *staging,
                       hr_arena *lasting, struct hr_coded *out, hr_error *error)
{
    hr_tiff t;
    (void)c;
    HR_TRY(hr_tiff_open(&t, bytes, size, info->page, error));
    return hr_tiff_device_prepare(&t, request, staging, lasting, out, error);
}

const hr_codec hr_codec_tiff = {
    .name = "tiff",
    .library = "headrace",
    .version = hr_version,
    .match = hr_tiff_match,
    .header = header,
    .check = check,
    .decode = decode,
    .stage = stage,
    .paged = true,
    .luma_bits = 16,
};
