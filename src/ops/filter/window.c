/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/filter/window.h"
#include "kernels/kernels.h"

#include <string.h>

hr_status hr__windows_infer(hr_op_call *c, hr_window_kind kind, hr_border border, int32_t count,
                            hr_windows **out, hr_reach **reach, hr_data_axes *axes, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int64_t *extent = in->shape.extent;
    hr_windows *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    hr_layout layout;

    *reach = hr_arena_alloc(c->arena, (size_t)HR_MAX(count, 1) * sizeof(**reach), error);
    HR_TRY_ALLOC(m && *reach);
    HR_TRY(hr_layout_match(HR_WINDOW_LAYOUTS, &in->layout, in->shape.ndim, &layout, error));
    if (in->dtype != HR_DTYPE_UINT8 && in->dtype != HR_DTYPE_UINT16 &&
        in->dtype != HR_DTYPE_INT32 && in->dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s; it must be UINT8, UINT16, INT32 or FLOAT",
                       hr_dtype_name(in->dtype));
    HR_TRY(hr__data_axes(&layout, in->shape.ndim, axes, error));
    *m = (hr_windows){.kind = kind,
                      .border = border,
                      .outer = 1,
                      .per_frame = 1,
                      .channels = 1,
                      .reach = *reach,
                      .reach_count = HR_MAX(count, 1)};
    for (int32_t d = 0; d < axes->first; d++) {
        m->outer *= (size_t)extent[d];
        m->per_frame *= d == 0 && axes->frames ? 1 : (size_t)extent[d];
    }
    m->height = extent[axes->first];
    m->width = extent[axes->first + 1];
    if (axes->first + 2 < in->shape.ndim)
        m->channels = extent[axes->first + 2];
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, layout.name);
    c->memo = m;
    *out = m;
    return HR_STATUS_OK;
}

/* ---- one image ---- */

typedef struct image {
    const hr_windows *m;
    const hr_kernels *kernels;
    hr_reach reach;
    hr_dtype dtype;
    const uint8_t *src;
    uint8_t *dst;
    size_t size;        /* bytes of an element while it is processed: 1, 2 or 4 */
    size_t line;        /* elements of a row */
    uint8_t *rows;      /* all rows, with what the windows need beside them */
    size_t row;         /* bytes of such a row */
    const void **order; /* the rows from the top of the first window to the end of the last one */
    uint8_t *room[2];   /* rows */
    uint8_t *above;     /* reach.up + reach.down rows */
} image;

/* Elements become unsigned integers in the same order, of p->size bytes. */
static void encode(const image *p, void *dst, const void *src, size_t n)
{
    if (p->dtype == HR_DTYPE_UINT8 && p->size == 2) {
        uint16_t *to = dst;
        const uint8_t *from = src;
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    } else if (p->size == 4) {
        uint32_t *to = dst;
        const uint32_t *from = src;
        for (size_t i = 0; i < n; i++)
            to[i] = window_key(from[i], p->dtype);
    } else {
        memcpy(dst, src, n * p->size);
    }
}

static void decode(const image *p, void *dst, const void *src, size_t n)
{
    if (p->dtype == HR_DTYPE_UINT8 && p->size == 2) {
        uint8_t *to = dst;
        const uint16_t *from = src;
        for (size_t i = 0; i < n; i++)
            to[i] = (uint8_t)from[i];
    } else if (p->size == 4) {
        uint32_t *to = dst;
        const uint32_t *from = src;
        for (size_t i = 0; i < n; i++)
            to[i] = window_element(from[i], p->dtype);
    } else {
        memcpy(dst, src, n * p->size);
    }
}

/* What loses every comparison. */
static void fill(const image *p, void *dst, size_t bytes)
{
    memset(dst, p->m->kind == HR_WINDOW_KIND_MIN ? 0xff : 0, bytes);
}

/* Makes pixels x .. end - 1 of a padded row, which are outside the image. */
static void pad_pixels(const image *p, uint8_t *row, int64_t x, int64_t end)
{
    size_t pixel = (size_t)p->m->channels * p->size;

    for (; x < end; x++) {
        int64_t from = border_index(x, p->m->width, p->m->border);
        uint8_t *to = row + (size_t)(x + p->reach.left) * pixel;
        if (from < 0)
            fill(p, to, pixel);
        else
            memcpy(to, row + (size_t)(from + p->reach.left) * pixel, pixel);
    }
}

/* Row y of the image, with pixels before and after it. */
static void pad_row(const image *p, int64_t y, uint8_t *row)
{
    size_t left = (size_t)(p->reach.left * p->m->channels) * p->size;

    encode(p, row + left, p->src + (size_t)y * p->line * hr_dtype_size(p->dtype), p->line);
    pad_pixels(p, row, -p->reach.left, 0);
    pad_pixels(p, row, p->m->width, p->m->width + p->reach.right);
}

/* dst[i] = the extreme of `count` pixels from src[i] on: of windows of 2, 4, 8 ..., and then of two
 * windows that overlap. Uses `src`. */
static void extreme_along(const image *p, uint8_t *dst, uint8_t *src, uint8_t *room, size_t count)
{
    bool max = p->m->kind == HR_WINDOW_KIND_MAX;
    size_t step = (size_t)p->m->channels, n = p->line + (count - 1) * step, part = 1;

    if (count == 1) {
        memcpy(dst, src, p->line * p->size);
        return;
    }
    for (; 2 * part < count; part *= 2) {
        uint8_t *before = src;
        n -= part * step;
        p->kernels->extremes(room, src, src + part * step * p->size, n, p->size, max);
        src = room;
        room = before;
    }
    p->kernels->extremes(dst, src, src + (count - part) * step * p->size, p->line, p->size, max);
}

/* The extremes of `count` rows that follow one another. In blocks of `count` rows: a window is the
 * end of a block and the beginning of the next one. */
static void extreme_down(const image *p, int64_t count)
{
    bool max = p->m->kind == HR_WINDOW_KIND_MAX;
    size_t bytes = p->line * hr_dtype_size(p->dtype);
    int64_t height = p->m->height;

    for (int64_t b = 0; b < height; b += count) {
        const void *end = p->order[b + count - 1], *begin = NULL;
        for (int64_t j = count - 2; j >= 0; j--) {
            uint8_t *to = p->above + (size_t)j * p->row;
            p->kernels->extremes(to, p->order[b + j], end, p->line, p->size, max);
            end = to;
        }
        decode(p, p->dst + (size_t)b * bytes, end, p->line);
        for (int64_t j = 1; j < count && b + j < height; j++) {
            const void *next = p->order[b + count + j - 1];
            if (begin != NULL) {
                uint8_t *to = p->room[j % 2];
                p->kernels->extremes(to, begin, next, p->line, p->size, max);
                next = to;
            }
            begin = next;
            end = j == count - 1 ? p->order[b + j] : p->above + (size_t)j * p->row;
            uint8_t *to = p->above + (size_t)(j - 1) * p->row;
            p->kernels->extremes(to, end, begin, p->line, p->size, max);
            decode(p, p->dst + (size_t)(b + j) * bytes, to, p->line);
        }
    }
}

/* The rows at which windows look, from -reach.up on. */
static void order_rows(const image *p)
{
    int64_t count = p->m->height + p->reach.up + p->reach.down;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = border_index(i - p->reach.up, p->m->height, p->m->border);
        p->order[i] = p->rows + (size_t)(from < 0 ? p->m->height : from) * p->row;
    }
}

static void extremes_of(const image *p)
{
    size_t across = (size_t)(p->reach.left + p->reach.right + 1);

    for (int64_t y = 0; y < p->m->height; y++) {
        pad_row(p, y, p->room[0]);
        extreme_along(p, p->rows + (size_t)y * p->row, p->room[0], p->room[1], across);
    }
    fill(p, p->rows + (size_t)p->m->height * p->row, p->row);
    extreme_down(p, p->reach.up + p->reach.down + 1);
}

static void medians_of(const image *p)
{
    int32_t rows = (int32_t)(p->reach.up + p->reach.down + 1);
    int32_t columns = (int32_t)(p->reach.left + p->reach.right + 1);
    size_t bytes = p->line * hr_dtype_size(p->dtype);

    for (int64_t y = 0; y < p->m->height; y++)
        pad_row(p, y, p->rows + (size_t)y * p->row);
    for (int64_t y = 0; y < p->m->height; y++) {
        p->kernels->median(p->room[0], p->order + y, rows, columns, (size_t)p->m->channels, p->line,
                           p->size);
        decode(p, p->dst + (size_t)y * bytes, p->room[0], p->line);
    }
}

/* Memory for images with windows of this reach. */
static hr_status make_room(image *p, hr_arena *arena, hr_error *error)
{
    const hr_windows *m = p->m;
    size_t height = (size_t)m->height, width = (size_t)m->width;
    size_t beside = (size_t)(p->reach.left + p->reach.right);
    size_t around = (size_t)(p->reach.up + p->reach.down), rows, aside, order;
    bool median = m->kind == HR_WINDOW_KIND_MEDIAN;

    if (!hr_size_mul(width + beside, (size_t)m->channels * p->size, &p->row) ||
        !hr_size_add(p->row, HR_WINDOW_SLACK * p->size, &p->row) ||
        !hr_size_mul(p->row, height + 1, &rows) ||
        !hr_size_mul(p->row, median ? 1 : around + 1, &aside) ||
        !hr_size_mul(height + around, sizeof(*p->order), &order))
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    p->rows = hr_arena_alloc(arena, rows, error);
    p->above = hr_arena_alloc(arena, aside, error);
    p->order = hr_arena_alloc(arena, order, error);
    for (int32_t i = 0; i < 2; i++)
        p->room[i] = hr_arena_alloc(arena, p->row, error);
    HR_TRY_ALLOC(p->rows && p->above && p->order && p->room[0] && p->room[1]);
    if (median)
        memset(p->rows, 0, rows); /* the slack is read */
    return HR_STATUS_OK;
}

static hr_status windows_image(image *p, hr_arena *arena, hr_error *error)
{
    const hr_reach *r = &p->reach;
    hr_arena_mark mark = hr_arena_save(arena);
    hr_status status;

    /* counts of elements must fit an element */
    bool many = (r->up + r->down + 1) * (r->left + r->right + 1) > UINT8_MAX;
    p->size = hr_dtype_size(p->dtype);
    if (p->m->kind == HR_WINDOW_KIND_MEDIAN && p->size == 1 && many)
        p->size = 2;
    status = make_room(p, arena, error);
    if (status == HR_STATUS_OK) {
        order_rows(p);
        (p->m->kind == HR_WINDOW_KIND_MEDIAN ? medians_of : extremes_of)(p);
    }
    hr_arena_restore(arena, mark);
    return status;
}

hr_status hr__windows_run(hr_op_call *c, hr_error *error)
{
    const hr_windows *m = c->memo;
    hr_dtype dtype = c->in[0].dtype;
    size_t line = (size_t)(m->width * m->channels);
    size_t bytes = (size_t)m->height * line * hr_dtype_size(dtype);
    for (size_t k = 0; k < m->outer && bytes > 0; k++) {
        image p = {.m = m,
                   .kernels = c->kernels,
                   .reach = m->reach[m->reach_count > 1 ? k / m->per_frame : 0],
                   .dtype = dtype,
                   .src = (const uint8_t *)c->in[0].data + k * bytes,
                   .dst = (uint8_t *)c->out[0].data + k * bytes,
                   .line = line};
        HR_TRY(windows_image(&p, c->arena, error));
    }
    return HR_STATUS_OK;
}
