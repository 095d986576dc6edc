/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _jpeg_scan, _jpeg_file: the parts of encoders.jpeg on a GPU. */
#include "ops/encoders/jpeg_scan.h"

#include <string.h>

#include "codecs/jpeg/quality.h"
#include "core/core.h"
#include "ops/encoders/jpeg.h"

static hr_jpeg_grid grid_of(const hr_jpeg_header *head)
{
    hr_jpeg_grid g = {.height = head->height,
                      .width = head->width,
                      .components = head->components,
                      .h = head->h,
                      .v = head->v};
    g.across = HR_DIVIDE_UP(g.width, 8 * g.h);
    g.down = HR_DIVIDE_UP(g.height, 8 * g.v);
    g.mcu = g.h * g.v + (g.components == 1 ? 0 : 2);
    g.blocks = (int64_t)g.across * g.down * g.mcu;
    g.interval = head->restart > 0 ? HR_MIN(g.blocks, (int64_t)head->restart * g.mcu) : g.blocks;
    g.intervals = HR_DIVIDE_UP(g.blocks, g.interval);
    return g;
}

static size_t place(size_t *end, size_t count, size_t size)
{
    size_t at = *end;
    *end = (at + count * size + 255) / 256 * 256;
    return at;
}

/* At most 65500 x 65500 pixels, so nothing overflows. */
static hr_jpeg_left work_of(const hr_jpeg_grid *g)
{
    hr_jpeg_left w = {0};
    size_t blocks = (size_t)g->blocks;
    w.coef = place(&w.size, blocks, 64 * sizeof(int16_t));
    w.bit = place(&w.size, blocks, sizeof(int64_t));
    w.stuffed = place(&w.size, blocks, sizeof(int64_t));
    w.interval = place(&w.size, (size_t)g->intervals, sizeof(int64_t));
    w.count = place(&w.size, (size_t)4 * 256, sizeof(uint64_t));
    w.codes = place(&w.size, 4, sizeof(hr_jpeg_codes));
    return w;
}

static void describe_bytes(hr_tensor *out, size_t size)
{
    int64_t extent = (int64_t)size;
    hr_tensor_describe(out, HR_DTYPE_UINT8, hr_shape_make(1, &extent), NULL);
}

/* ---- the first part ---- */

static hr_status stage_tables(const hr_jpeg_header *head, hr_staging *staging,
                              const hr_jpeg_scan_tables **device, hr_error *error)
{
    static const uint8_t natural[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};
    hr_jpeg_scan_tables t;
    const void *at = NULL;

    memcpy(t.natural, natural, sizeof natural);
    for (int i = 0; i < 2; i++) {
        hr_jpeg_quantiser_make(&t.quantiser[i], head->tables[i].quant);
        for (int ac = 0; ac < 2; ac++)
            memcpy(t.usual[i][ac], hr_jpeg_usual_codes(i, ac), HR_JPEG_DEFINITION_BYTES);
    }
    HR_TRY(staging->constant(staging, &t, sizeof t, &at, error));
    *device = at;
    return HR_STATUS_OK;
}

static hr_status scan_infer(hr_op_call *c, hr_error *error)
{
    hr_jpeg_pixels image;
    hr_jpeg_encoding how;
    hr_jpeg_header head;
    hr_jpeg_scan_memo *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);

    HR_TRY_ALLOC(memo);
    HR_TRY(hr_jpeg_take(c, &image, &how, error));
    HR_TRY(hr_jpeg_header_make(&head, &image, &how, error));
    memset(memo, 0, sizeof(*memo));
    memo->grid = grid_of(&head);
    memo->work = work_of(&memo->grid);
    memo->optimize = how.optimize;
    memo->head = (hr_jpeg_scan_head){.height = head.height,
                                     .width = head.width,
                                     .components = head.components,
                                     .h = how.h,
                                     .v = how.v,
                                     .quality = how.quality,
                                     .restart_rows = how.restart_rows};
    HR_TRY(stage_tables(&head, c->staging, &memo->tables, error));
    describe_bytes(&c->out[0], memo->work.size);
    describe_bytes(&c->out[1], sizeof(hr_jpeg_scan_info));
    c->memo = memo;
    return HR_STATUS_OK;
}

/* ---- the second part ---- */

static bool definitions_fit(const hr_jpeg_scan_info *info)
{
    for (int i = 0; i < 2; i++)
        for (int ac = 0; ac < 2; ac++)
            if (hr_jpeg_definition_size(info->definitions[i][ac]) > HR_JPEG_DEFINITION_BYTES)
                return false;
    return true;
}

/* Whether it may be of the first part. */
static bool info_fits(const hr_jpeg_scan_info *info)
{
    const hr_jpeg_scan_head *i = &info->head;
    return i->height > 0 && i->height <= HR_JPEG_SIDE_MAX && i->width > 0 &&
           i->width <= HR_JPEG_SIDE_MAX && (i->components == 1 || i->components == 3) &&
           (i->h == 1 || i->h == 2) && (i->v == 1 || i->v == 2) && i->restart_rows >= 0 &&
           definitions_fit(info);
}

static hr_status take_info(const hr_op_call *c, hr_jpeg_scan_info *info, hr_error *error)
{
    const hr_tensor *in = &c->in[1];
    bool fits = in->dtype == HR_DTYPE_UINT8 && in->shape.ndim == 1 &&
                in->shape.extent[0] == (int64_t)sizeof(*info);
    if (fits)
        memcpy(info, in->data, sizeof(*info));
    if (!fits || !info_fits(info))
        return hr_fail(error, HR_STATUS_ERROR, "the inputs must be the outputs of _jpeg_scan");
    return HR_STATUS_OK;
}

static hr_status stage_header(hr_jpeg_header *head, const hr_jpeg_scan_info *info,
                              hr_jpeg_file_memo *memo, hr_staging *staging, hr_error *error)
{
    uint8_t bytes[HR_JPEG_HEADER_MAX];
    hr_staged staged;
    for (int i = 0; i < 2; i++)
        for (int ac = 0; ac < 2; ac++)
            head->tables[i].huffman[ac] = info->definitions[i][ac];
    size_t size = hr_jpeg_header_write(bytes, head);
    HR_TRY(staging->alloc(staging, size, &staged, error));
    memcpy(staged.host, bytes, size);
    memo->header = staged.device;
    memo->header_size = (int32_t)size;
    return HR_STATUS_OK;
}

static hr_status file_infer(hr_op_call *c, hr_error *error)
{
    hr_jpeg_scan_info info;
    hr_jpeg_header head;
    hr_jpeg_file_memo *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);

    HR_TRY_ALLOC(memo);
    HR_TRY(take_info(c, &info, error));
    const hr_jpeg_scan_head *of = &info.head;
    hr_jpeg_pixels image = {NULL, of->height, of->width, of->components};
    hr_jpeg_encoding how = {
        .quality = of->quality, .h = of->h, .v = of->v, .restart_rows = of->restart_rows};
    HR_TRY(hr_jpeg_header_make(&head, &image, &how, error));
    memset(memo, 0, sizeof(*memo));
    memo->grid = grid_of(&head);
    memo->work = work_of(&memo->grid);
    const hr_tensor *work = &c->in[0];
    int64_t most = memo->grid.blocks * 2 * HR_JPEG_BLOCK_BYTES + 4 * memo->grid.intervals;
    if (work->dtype != HR_DTYPE_UINT8 || work->shape.ndim != 1 ||
        work->shape.extent[0] != (int64_t)memo->work.size || info.size < 0 || info.size > most)
        return hr_fail(error, HR_STATUS_ERROR, "the inputs must be the outputs of _jpeg_scan");
    HR_TRY(stage_header(&head, &info, memo, c->staging, error));
    memo->size = memo->header_size + info.size + 2;
    describe_bytes(&c->out[0], (size_t)memo->size);
    c->memo = memo;
    return HR_STATUS_OK;
}

const hr_op_def hr_op__jpeg_scan = {
    HR_OP("_jpeg_scan"),
    .doc = "The first part of encoders.jpeg on a GPU.",
    .devices = "gpu",
    .flags = HR_OP_HIDDEN,
    .args = hr_jpeg_arg_defs,
    .args_size = sizeof(hr_jpeg_args),
    .in = HR_INPUTS({.name = "images", .layouts = "HWC|HW"}),
    .out = HR_OUTPUTS({.name = "work"}, {.name = "info"}),
    .infer = scan_infer,
    .shown = "encoders.jpeg",
};

const hr_op_def hr_op__jpeg_file = {
    HR_OP("_jpeg_file"),
    .doc = "The second part of encoders.jpeg on a GPU.",
    .devices = "gpu",
    .flags = HR_OP_HIDDEN,
    .in = HR_INPUTS({.name = "work"}, {.name = "info", .host = true}),
    .infer = file_infer,
    .shown = "encoders.jpeg",
};
