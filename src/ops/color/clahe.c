/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* clahe: equalises the histograms of tiles, with limited contrast, as OpenCV does. */
#include "ops/color/clahe.h"
#include "core/mathx.h"
#include "headrace/operator.h"
#include "kernels/border.h"
#include "kernels/kernels.h"
#include "kernels/lab.h"

#include <string.h>

enum { LEVELS = HR_CLAHE_LEVELS, MOST_TILES = 1 << 20 };

static hr_status clahe_check(const void *args, const hr_given *given, hr_error *error)
{
    const hr_clahe_args *a = args;

    (void)given;
    if ((int64_t)a->tiles_x * a->tiles_y > MOST_TILES)
        return hr_fail(error, HR_STATUS_LIMIT, "there are %d x %d tiles; at most %d are supported",
                       (int)a->tiles_x, (int)a->tiles_y, MOST_TILES);
    return HR_STATUS_OK;
}

/* ---- tables of L*a*b* ---- */

static double linear_of(double v)
{
    return v <= 0.04045 ? v / 12.92 : hr_pow((v + 0.055) / 1.055, 2.4);
}

static double light_of(double v)
{
    return v <= 0.0031308 ? v * 12.92 : 1.055 * hr_pow(v, 1.0 / 2.4) - 0.055;
}

static double root_of(double v)
{
    return v < 216.0 / 24389.0 ? v * 841.0 / 108.0 + 16.0 / 116.0 : hr_pow(v, 1.0 / 3.0);
}

static hr_status clahe_create(const void *args, void **state, hr_error *error)
{
    hr_lab_tables *t = hr_calloc(1, sizeof(*t), error);

    (void)args;
    HR_TRY_ALLOC(t);
    for (int32_t i = 0; i < 256; i++) {
        double lightness = (double)i * 100.0 / 255.0, f = (lightness + 16.0) / 116.0;
        double y = i <= 20 ? lightness * 27.0 / 24389.0 : f * f * f;
        if (i <= 20)
            f = y * 841.0 / 108.0 + 16.0 / 116.0;
        t->linear[i] = (int32_t)hr_round(2040.0 * linear_of((double)i / 255.0));
        t->y[i] = (int32_t)hr_round(y * HR_LAB_ONE);
        t->fy[i] = (int32_t)hr_round(f * HR_LAB_ONE);
    }
    for (int32_t i = 0; i < HR_LAB_ROOTS; i++)
        t->root[i] = (int32_t)hr_round(32768.0 * root_of((double)i / 2040.0));
    t->root[49]--; /* OpenCV's cube root, in single precision, is on the other side of a half */
    t->root[628]++;
    for (int32_t i = 0; i < HR_LAB_LIGHTS; i++)
        t->light[i] = (int32_t)hr_round(255.0 * light_of((double)i / HR_LAB_LIGHTS));
    *state = t;
    return HR_STATUS_OK;
}

static void clahe_destroy(void *state)
{
    hr_free(state);
}

/* ---- one plane ---- */

typedef struct plane {
    const hr_kernels *kernels;
    hr_clahe_grid grid;
    const uint8_t *src;
    uint8_t *dst;    /* may be src */
    uint8_t *tables; /* [tiles_y][tiles_x][LEVELS] */
    uint32_t *quads; /* per value, results of four tiles */
    float *right;    /* the weight of the right tiles, by column */
} plane;

static void count_values(const plane *p, int64_t tile_y, int64_t tile_x, uint32_t *counts)
{
    const hr_clahe_grid *g = &p->grid;
    uint32_t lanes[4][LEVELS] = {{0}}; /* incrementing one counter twice in a row waits */
    int64_t x0 = tile_x * g->tile_width, x1 = x0 + g->tile_width;
    int64_t inside = HR_MAX(HR_MIN(x1, g->width), x0);

    for (int64_t y = tile_y * g->tile_height; y < (tile_y + 1) * g->tile_height; y++) {
        const uint8_t *row = p->src + border_index(y, g->height, HR_BORDER_REFLECT_101) * g->width;
        int64_t x = x0;
        for (; x + 4 <= inside; x += 4) {
            lanes[0][row[x]]++;
            lanes[1][row[x + 1]]++;
            lanes[2][row[x + 2]]++;
            lanes[3][row[x + 3]]++;
        }
        for (; x < inside; x++)
            lanes[0][row[x]]++;
        for (; x < x1; x++)
            lanes[0][row[border_index(x, g->width, HR_BORDER_REFLECT_101)]]++;
    }
    for (int32_t v = 0; v < LEVELS; v++)
        counts[v] = lanes[0][v] + lanes[1][v] + lanes[2][v] + lanes[3][v];
}

/* Spreads what exceeds the limit: evenly, and the rest in equal steps. */
static void clip_counts(uint32_t *counts, uint32_t limit)
{
    uint32_t excess = 0;

    for (int32_t v = 0; v < LEVELS; v++) {
        uint32_t over = counts[v] > limit ? counts[v] - limit : 0;
        counts[v] -= over;
        excess += over;
    }
    uint32_t rest = excess % LEVELS, step = rest > 0 ? LEVELS / rest : 1;
    for (int32_t v = 0; v < LEVELS; v++)
        counts[v] += excess / LEVELS;
    for (uint32_t v = 0; rest > 0; v += step, rest--)
        counts[v]++;
}

static void make_tables(const plane *p)
{
    const hr_clahe_grid *g = &p->grid;
    uint32_t counts[LEVELS];

    for (int64_t ty = 0; ty < g->tiles_y; ty++) {
        for (int64_t tx = 0; tx < g->tiles_x; tx++) {
            uint8_t *table = p->tables + (ty * g->tiles_x + tx) * LEVELS;
            uint32_t sum = 0;
            count_values(p, ty, tx, counts);
            clip_counts(counts, g->limit);
            for (int32_t v = 0; v < LEVELS; v++) {
                sum += counts[v];
                table[v] = clahe_value(sum, g->scale);
            }
        }
    }
}

/* The end of the positions that have the same tiles as i. */
static int64_t end_of_run(int64_t i, int64_t end, int64_t tile)
{
    float weight;
    int64_t before = clahe_tile_before(i, tile, &weight);
    for (i++; i < end && clahe_tile_before(i, tile, &weight) == before; i++)
        ;
    return i;
}

static void make_quads(const plane *p, int64_t tile_y, int64_t tile_x)
{
    int64_t at[4];

    clahe_around(&p->grid, tile_y, tile_x, at);
    const uint8_t *a = p->tables + at[0], *b = p->tables + at[1];
    const uint8_t *c = p->tables + at[2], *d = p->tables + at[3];
    for (int32_t v = 0; v < LEVELS; v++)
        p->quads[v] = a[v] | (uint32_t)b[v] << 8 | (uint32_t)c[v] << 16 | (uint32_t)d[v] << 24;
}

/* Each pixel is between four tiles: blends what their tables make of it. */
static void blend(const plane *p)
{
    const int64_t height = p->grid.height, width = p->grid.width;
    const int64_t tile_height = p->grid.tile_height, tile_width = p->grid.tile_width;
    float weight;

    for (int64_t x = 0; x < width; x++)
        clahe_tile_before(x, tile_width, &p->right[x]);
    for (int64_t y0 = 0, y1; y0 < height; y0 = y1) {
        y1 = end_of_run(y0, height, tile_height);
        for (int64_t x0 = 0, x1; x0 < width; x0 = x1) {
            x1 = end_of_run(x0, width, tile_width);
            make_quads(p, clahe_tile_before(y0, tile_height, &weight),
                       clahe_tile_before(x0, tile_width, &weight));
            for (int64_t y = y0; y < y1; y++) {
                clahe_tile_before(y, tile_height, &weight);
                p->kernels->blend_tables(p->dst + y * width + x0, p->src + y * width + x0,
                                         (size_t)(x1 - x0), p->quads, p->right + x0, weight);
            }
        }
    }
}

/* ---- one image ---- */

static hr_status make_plane(plane *p, const hr_op_call *c, hr_error *error)
{
    const hr_clahe_args *args = c->args;
    const int64_t *extent = c->in[0].shape.extent;
    size_t tiles = (size_t)args->tiles_x * (size_t)args->tiles_y;

    *p = (plane){.kernels = c->kernels, .grid = clahe_grid(args, extent[0], extent[1])};
    p->tables = hr_arena_alloc(c->arena, tiles * LEVELS, error);
    p->quads = hr_arena_alloc(c->arena, LEVELS * sizeof(*p->quads), error);
    p->right = hr_arena_alloc(c->arena, (size_t)extent[1] * sizeof(*p->right), error);
    return p->tables && p->quads && p->right ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static void equalize(plane *p, const uint8_t *src, uint8_t *dst)
{
    p->src = src;
    p->dst = dst;
    make_tables(p);
    blend(p);
}

static hr_status clahe_one(const hr_op_call *c, hr_error *error)
{
    size_t pixels = (size_t)c->in[0].shape.extent[0] * (size_t)c->in[0].shape.extent[1];
    const uint8_t *src = c->in[0].data;
    uint8_t *dst = c->out[0].data, *planes[6];
    plane p;

    if (pixels == 0)
        return HR_STATUS_OK;
    HR_TRY(make_plane(&p, c, error));
    if (c->in[0].shape.extent[2] == 1) {
        equalize(&p, src, dst);
        return HR_STATUS_OK;
    }
    for (int32_t i = 0; i < 6; i++) {
        planes[i] = hr_arena_alloc(c->arena, pixels + 64, error); /* padded, for kernels */
        HR_TRY_ALLOC(planes[i]);
    }
    if (((const hr_clahe_args *)c->args)->luma_only) {
        c->kernels->lab_of_rgb(c->state, src, planes[0], planes[1], planes[2], pixels);
        equalize(&p, planes[0], planes[3]);
        const uint8_t *lab[3] = {planes[3], planes[1], planes[2]};
        uint8_t *rgb[3] = {planes[4], planes[5], planes[0]};
        c->kernels->lab_to_rgb(c->state, rgb, lab, pixels);
        c->kernels->jpeg_interleave(dst, rgb[0], rgb[1], rgb[2], pixels);
        return HR_STATUS_OK;
    }
    for (size_t i = 0; i < pixels; i++)
        for (size_t k = 0; k < 3; k++)
            planes[k][i] = src[3 * i + k];
    for (int32_t k = 0; k < 3; k++)
        equalize(&p, planes[k], planes[3 + k]);
    c->kernels->jpeg_interleave(dst, planes[3], planes[4], planes[5], pixels);
    return HR_STATUS_OK;
}

static hr_status clahe_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_layout layout;

    HR_TRY(hr_layout_match("HWC", &in->layout, in->shape.ndim, &layout, error));
    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_VALUE, "the input is %s; it must be UINT8",
                       hr_dtype_name(in->dtype));
    if (in->shape.extent[2] != 1 && in->shape.extent[2] != 3)
        return hr_fail(error, HR_STATUS_VALUE, "the input has %lld channels; it must have 1 or 3",
                       (long long)in->shape.extent[2]);
    if (in->shape.extent[0] > INT32_MAX / 2 || in->shape.extent[1] > INT32_MAX / 2 ||
        in->shape.extent[0] * in->shape.extent[1] > INT32_MAX / 2)
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, layout.name);
    return HR_STATUS_OK;
}

static hr_status clahe_run(hr_op_call *c, hr_error *error)
{
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_status status = clahe_one(c, error);
    hr_arena_restore(c->arena, mark);
    return status;
}

const hr_op_def hr_op_clahe = {
    HR_OP("clahe"),
    .doc = "Equalises the histograms of tiles with limited contrast and blends the results of "
           "neighbouring tiles (CLAHE). The input is UINT8, with one channel or RGB.",
    .devices = "cpu|gpu",
    HR_ARGS(
        hr_clahe_args,
        HR_ARG(hr_clahe_args, tiles_x, INT, HR_ARG_REQUIRED, NULL,
               "Number of tiles along the width.", .min = 1, .max = MOST_TILES),
        HR_ARG(hr_clahe_args, tiles_y, INT, HR_ARG_REQUIRED, NULL,
               "Number of tiles along the height.", .min = 1, .max = MOST_TILES),
        HR_ARG(hr_clahe_args, clip_limit, FLOAT, HR_ARG_REQUIRED | HR_ARG_NONFINITE, NULL,
               "Largest count of a value in a tile, relative to the mean count. What exceeds it is "
               "spread over all values. 0 or less, infinite or not a number: no limit."),
        HR_ARG(hr_clahe_args, luma_only, BOOL, 0, "True",
               "For RGB: process the lightness of CIE L*a*b*. Otherwise each channel is processed "
               "by itself."),
        HR_ARG_ACCEPT(bins, INT, "256", "Accepted: there is a bin for each of the 256 values.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .check = clahe_check,
    .create = clahe_create,
    .destroy = clahe_destroy,
    .infer = clahe_infer,
    .run = clahe_run,
};
