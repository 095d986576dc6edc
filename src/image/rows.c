/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of the resampled image: the vertical filter first, over the columns that are needed, then
 * the horizontal one. */
#include "image/rows.h"
#include "core/prefetch.h"
#include "image/filter.h"
#include "kernels/elements.h"

#include <string.h>

enum {
    ROWS_AT_ONCE = 8, /* rows per read of a coded source: the height of a JPEG block */
    /* With more taps, coefficients of 14 bits are too coarse; the filter runs in float. */
    FIXED_TAPS_MAX = 128,
    CACHE_MAX = 2 << 20, /* bytes of cached converted rows */
    SUMS_FREE = 16,      /* outputs in flight that may always be summed at once */
    WIDE = 1 << 14       /* pixels of a gathered row */
};

hr_rows_kind hr__rows_kind(const hr_image_program *p, int32_t y_taps, int32_t x_taps)
{
    if (!p->resample)
        return p->gather.axes > 0 ? HR_ROWS_KIND_GATHER : HR_ROWS_KIND_COPY;
    bool given = p->y.given.taps != NULL || p->x.given.taps != NULL;
    if (y_taps == 1 && x_taps == 1 && p->resampled == p->src_dtype && !given)
        return HR_ROWS_KIND_PICK;
    bool fixed = !p->sum && p->src_dtype == HR_DTYPE_UINT8 && p->resampled == HR_DTYPE_UINT8 &&
                 p->channels <= 4 && y_taps <= FIXED_TAPS_MAX && x_taps <= FIXED_TAPS_MAX &&
                 hr__taps_are_mean(&p->y) && hr__taps_are_mean(&p->x);
    return fixed ? HR_ROWS_KIND_FIXED : HR_ROWS_KIND_FLOAT;
}

static void *scratch(hr_rows *r, size_t count, size_t size, hr_error *error)
{
    size_t bytes;
    if (!hr_size_mul(count, size, &bytes)) {
        hr_fail(error, HR_STATUS_LIMIT, "a row buffer does not fit in memory");
        return NULL;
    }
    return hr_arena_alloc(r->call->arena, bytes, error);
}

/* Outputs first .. first + count - 1 read the source elements [*at, *at + *length). */
static void taps_extent(const hr_filter_taps *f, int64_t first, int64_t count, int64_t *at,
                        int64_t *length)
{
    int32_t low = INT32_MAX, high = 0;
    for (int64_t o = first; o < first + count; o++) {
        low = HR_MIN(low, f->start[o]);
        high = HR_MAX(high, f->start[o]);
    }
    *at = low;
    *length = (int64_t)high + f->taps - low;
}

static hr_status relative_starts(hr_rows *r, const hr_filter_taps *f, int64_t first, int64_t count,
                                 int64_t origin, const int32_t **out, hr_error *error)
{
    int32_t *start = scratch(r, (size_t)count, sizeof(*start), error);
    if (start == NULL)
        return HR_STATUS_NO_MEMORY;
    for (int64_t o = 0; o < count; o++)
        start[o] = f->start[first + o] - (int32_t)origin;
    *out = start;
    return HR_STATUS_OK;
}

/* Rounds each output's weights to fixed point. The rounding error is carried from tap to tap, so
 * the weights sum to exactly one. */
static hr_status fix_coefs(hr_rows *r, const hr_filter_taps *f, int64_t first, int64_t count,
                           int32_t stride, int16_t **out, hr_error *error)
{
    int16_t *coef = scratch(r, (size_t)count * (size_t)stride, sizeof(*coef), error);
    if (coef == NULL)
        return HR_STATUS_NO_MEMORY;
    for (int64_t o = 0; o < count; o++) {
        const float *weight = f->coef + (size_t)(first + o) * (size_t)f->taps;
        int16_t *to = coef + (size_t)o * (size_t)stride;
        if (o > 0 && first + o > f->even_from && first + o < f->even_to) {
            memcpy(to, to - stride, (size_t)stride * sizeof(*to));
            continue;
        }
        hr_taps_fix fix = {0.0, 0};
        for (int32_t k = 0; k < f->taps; k++)
            to[k] = taps_fix_next(&fix, weight[k]);
        for (int32_t k = f->taps; k < stride; k++)
            to[k] = 0;
    }
    *out = coef;
    return HR_STATUS_OK;
}

/* An end of the even outputs, within the view. */
static int32_t even_part(int32_t at, hr_window view)
{
    return (int32_t)HR_MIN(HR_MAX(at - view.x, 0), view.w);
}

static hr_status init_fixed(hr_rows *r, const hr_filter_taps *fy, const hr_filter_taps *fx,
                            hr_error *error)
{
    const hr_window view = r->view;
    int32_t stride = fx->taps + (fx->taps & 1);
    int16_t *x_coef;
    HR_TRY(fix_coefs(r, fy, view.y, view.h, fy->taps, &r->y_fixed, error));
    HR_TRY(fix_coefs(r, fx, view.x, view.w, stride, &x_coef, error));
    r->x_fixed = (hr_filter_fix){.out = (int32_t)view.w,
                                 .taps = fx->taps,
                                 .stride = stride,
                                 .start = r->x_start,
                                 .coef = x_coef,
                                 .even_from = even_part(fx->even_from, view),
                                 .even_to = even_part(fx->even_to, view)};
    const hr_kernels *k = r->call->kernels;
    size_t table_size = k->hfilter_table_size(&r->x_fixed, r->p->channels);
    if (table_size > 0) {
        void *table = scratch(r, table_size, 1, error);
        if (table == NULL)
            return HR_STATUS_NO_MEMORY;
        k->hfilter_table(table, &r->x_fixed, r->p->channels);
        r->x_fixed.table = table;
    }
    r->row_fixed = scratch(r, r->need_elements + HR_FIX_ROW_PAD, sizeof(int16_t), error);
    r->tail_stride = r->need_elements + HR_PAD;
    r->tail_rows = HR_MIN(r->need.h, (int64_t)(HR_PAD / r->need_elements) + 2);
    r->tail = scratch(r, (size_t)r->tail_rows, r->tail_stride, error);
    return r->row_fixed != NULL && r->tail != NULL ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

/* Whether rows of the source are needed in rising order. */
static bool is_rising(const hr_rows *r)
{
    return !r->p->mirror_y && (r->y_start == NULL || r->y_start[0] <= r->y_start[r->view.h - 1]);
}

/* Rows of a coded source are kept only where that takes less memory than the sums of all outputs
 * that need them: many outputs over few rows. */
static hr_status init_sums(hr_rows *r, hr_error *error)
{
    int32_t count = (int32_t)r->view.h, overlap = hr__sums_overlap(r->y_start, r->y_taps, count);
    size_t sums = (size_t)overlap * 2 * sizeof(float) * r->need_elements;
    size_t rows = (size_t)r->y_taps * (size_t)r->need.w * r->pixel;
    r->summing = true;
    r->running =
        is_rising(r) && (overlap <= SUMS_FREE || (r->p->coded.open != NULL && sums < rows));
    r->sums = (hr_sums){.kernels = r->call->kernels,
                        .start = r->y_start,
                        .coef = r->y_coef,
                        .taps = r->y_taps,
                        .count = count,
                        .slots = r->running ? overlap : 1,
                        .n = r->need_elements};
    return hr__sums_init(&r->sums, r->call->arena, error);
}

static hr_filter_float float_filter(const hr_rows *r, const hr_filter_taps *f, const int32_t *start)
{
    return (hr_filter_float){.out = (int32_t)r->view.w,
                             .taps = f->taps,
                             .stride = f->taps,
                             .start = start,
                             .coef = f->coef + (size_t)r->view.x * (size_t)f->taps,
                             .even_from = even_part(f->even_from, r->view),
                             .even_to = even_part(f->even_to, r->view)};
}

static hr_status init_float(hr_rows *r, const hr_filter_taps *fy, const hr_filter_taps *fx,
                            hr_error *error)
{
    r->y_coef = fy->coef + (size_t)r->view.y * (size_t)fy->taps;
    r->x_float = float_filter(r, fx, r->x_start);
    r->row_float = scratch(r, r->need_elements, sizeof(float), error);
    r->row_out = scratch(r, r->elements, sizeof(float), error);
    r->cache_row = scratch(r, (size_t)fy->taps, sizeof(int64_t), error);
    if (r->row_float == NULL || r->row_out == NULL || r->cache_row == NULL)
        return HR_STATUS_NO_MEMORY;
    if (r->p->src_dtype == HR_DTYPE_FLOAT && r->p->coded.decode == NULL)
        return HR_STATUS_OK;
    if (!r->p->sum && r->need_elements > CACHE_MAX / sizeof(float) / (size_t)fy->taps)
        return init_sums(r, error);
    if (r->p->src_dtype == HR_DTYPE_FLOAT)
        return HR_STATUS_OK;
    r->cache = scratch(r, r->need_elements * (size_t)fy->taps, sizeof(float), error);
    return r->cache != NULL ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

/* The second filter. Its rows are among those of the first. */
static hr_status init_sum(hr_rows *r, hr_error *error)
{
    const hr_image_program *p = r->p;
    const hr_window view = r->view;
    hr_filter_taps fy, fx;
    const int32_t *x_start;
    int64_t at, length;
    HR_TRY(hr_filter_make(&fy, &p->sum_y, p->clamp.h, r->call->arena, error));
    HR_TRY(hr_filter_make(&fx, &p->sum_x, p->clamp.w, r->call->arena, error));
    taps_extent(&fx, view.x, view.w, &at, &length);
    int64_t end = HR_MAX(r->need.x + r->need.w, at + length);
    r->need.x = HR_MIN(r->need.x, at);
    r->need.w = end - r->need.x;
    HR_TRY(relative_starts(r, &fy, view.y, view.h, r->need.y, &r->sum.y_start, error));
    HR_TRY(relative_starts(r, &fx, view.x, view.w, r->need.x, &x_start, error));
    r->sum.y_taps = fy.taps;
    r->sum.y_coef = fy.coef + (size_t)view.y * (size_t)fy.taps;
    r->sum.x = float_filter(r, &fx, x_start);
    r->sum.row = scratch(r, (size_t)r->need.w * (size_t)p->channels, sizeof(float), error);
    return r->sum.row != NULL ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static hr_status init_resample(hr_rows *r, hr_error *error)
{
    const hr_image_program *p = r->p;
    const hr_window view = r->view;
    hr_filter_taps fy, fx;
    hr_filter_axis y = p->y, x = p->x;
    y.resample.running = true;
    x.resample.running = false;
    HR_TRY(hr_filter_make(&fy, &y, p->clamp.h, r->call->arena, error));
    HR_TRY(hr_filter_make(&fx, &x, p->clamp.w, r->call->arena, error));
    taps_extent(&fy, view.y, view.h, &r->need.y, &r->need.h);
    taps_extent(&fx, view.x, view.w, &r->need.x, &r->need.w);
    if (p->sum)
        HR_TRY(init_sum(r, error));
    HR_TRY(relative_starts(r, &fy, view.y, view.h, r->need.y, &r->y_start, error));
    HR_TRY(relative_starts(r, &fx, view.x, view.w, r->need.x, &r->x_start, error));
    r->need.y += p->clamp.y;
    r->need.x += p->clamp.x;
    r->need_elements = (size_t)r->need.w * (size_t)p->channels;
    r->y_taps = fy.taps;
    r->list = scratch(r, (size_t)fy.taps, sizeof(*r->list), error);
    if (r->list == NULL)
        return HR_STATUS_NO_MEMORY;
    r->kind = hr__rows_kind(p, fy.taps, fx.taps);
    if (r->kind == HR_ROWS_KIND_FIXED)
        return init_fixed(r, &fy, &fx, error);
    return r->kind == HR_ROWS_KIND_FLOAT ? init_float(r, &fy, &fx, error) : HR_STATUS_OK;
}

/* Room for positions: of several rows, unless they are very wide. */
static hr_status init_positions(hr_rows *r, hr_error *error)
{
    hr_rows_positions *at = &r->positions;
    if (r->p->gather.axes != 2)
        return HR_STATUS_OK;
    at->rows = r->view.w > WIDE ? 1 : HR_GATHER_ROWS;
    at->stride = HR_GATHER_STRIDE(r->view.w);
    at->x = scratch(r, at->stride * (size_t)at->rows, sizeof(float), error);
    at->y = scratch(r, at->stride * (size_t)at->rows, sizeof(float), error);
    return at->x != NULL && at->y != NULL ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

hr_status hr__rows_init(hr_rows *r, const hr_image_program *p, hr_op_call *c, hr_window view,
                        bool whole, hr_error *error)
{
    memset(r, 0, sizeof(*r));
    r->whole = whole;
    r->p = p;
    r->call = c;
    r->view = view;
    r->pixel = hr_dtype_size(p->src_dtype) * (size_t)p->channels;
    r->elements = (size_t)view.w * (size_t)p->channels;
    if (p->resample)
        return init_resample(r, error);
    r->kind = hr__rows_kind(p, 1, 1);
    r->need = view;
    r->need.y += p->clamp.y;
    r->need.x += p->clamp.x;
    r->need_elements = r->elements;
    if (r->kind == HR_ROWS_KIND_COPY)
        return HR_STATUS_OK;
    r->need = p->clamp;
    r->need_elements = (size_t)r->need.w * (size_t)p->channels;
    r->row_out = scratch(r, r->elements, sizeof(float), error);
    return r->row_out != NULL ? init_positions(r, error) : HR_STATUS_NO_MEMORY;
}

/* Opens the source for reading by rows, with a ring that holds the rows of a filter and one read.
 */
static hr_status open_source(hr_rows *r, hr_error *error)
{
    const hr_image_source *source = &r->p->coded;
    size_t row = (size_t)r->need.w * r->pixel;
    r->ring = 0;
    if (source->open == NULL || r->whole || r->kind == HR_ROWS_KIND_GATHER || !is_rising(r))
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(source->open(source->context, r->need, r->call, error));
    r->ring = (HR_MAX(r->running ? 1 : r->y_taps, 1) + 2 * ROWS_AT_ONCE - 1) / ROWS_AT_ONCE *
              ROWS_AT_ONCE;
    r->stride = (row + 2 * HR_PAD - 1) / HR_PAD * HR_PAD; /* kernels read whole vectors */
    r->made = 0;
    r->tail_from = r->need.h;
    r->decoded = scratch(r, (size_t)r->ring, r->stride, error);
    r->src = r->decoded;
    return r->decoded != NULL ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static hr_status decode_source(hr_rows *r, hr_error *error)
{
    const hr_image_program *p = r->p;
    hr_status status = open_source(r, error);
    if (status != HR_STATUS_NOT_FUSABLE)
        return status;
    r->stride = (size_t)r->need.w * r->pixel;
    if (r->decoded == NULL) {
        r->decoded = scratch(r, (size_t)r->need.h, r->stride, error);
        if (r->decoded == NULL)
            return error != NULL ? error->status : HR_STATUS_NO_MEMORY;
    }
    r->src = r->decoded;
    r->tail_from = r->need.h; /* arena memory is padded */
    return p->coded.decode(p->coded.context, r->need, r->decoded, r->stride, r->call, error);
}

static void copy_tail(hr_rows *r, const char *end)
{
    r->tail_from = r->need.h;
    while (r->tail_from > 0 && (size_t)(end - (r->src + (size_t)(r->tail_from - 1) * r->stride)) <
                                   r->need_elements + HR_PAD)
        r->tail_from--;
    for (int64_t y = r->tail_from; y < r->need.h; y++)
        memcpy(r->tail + (size_t)(y - r->tail_from) * r->tail_stride,
               r->src + (size_t)y * r->stride, r->need_elements);
}

hr_status hr__rows_image(hr_rows *r, const void *data, hr_error *error)
{
    const hr_image_program *p = r->p;
    if (r->running)
        hr__sums_restart(&r->sums, 0);
    if (r->cache_row != NULL)
        for (int32_t k = 0; k < r->y_taps; k++)
            r->cache_row[k] = -1;
    if (p->coded.decode != NULL)
        return decode_source(r, error);
    r->stride = (size_t)p->width * r->pixel;
    r->src = (const char *)data + (size_t)r->need.y * r->stride + (size_t)r->need.x * r->pixel;
    r->tail_from = r->need.h;
    if (r->kind == HR_ROWS_KIND_FIXED)
        copy_tail(r, (const char *)data + (size_t)p->height * r->stride);
    return HR_STATUS_OK;
}

/* Row `at` of `need`. */
static const char *source_row(const hr_rows *r, int64_t at)
{
    if (r->ring > 0)
        return r->src + (size_t)(at % r->ring) * r->stride;
    if (at >= r->tail_from)
        return r->tail + (size_t)(at - r->tail_from) * r->tail_stride;
    return r->src + (size_t)at * r->stride;
}

/* Row `at` of `need` arrives while those before it are filtered. */
static void fetch_row(const hr_rows *r, int64_t at)
{
    if (r->ring == 0 && at < r->need.h)
        hr_prefetch(source_row(r, at), (size_t)r->need.w * r->pixel);
}

/* Reads the source into the ring up to row `end`. */
static hr_status fill_ring(hr_rows *r, int64_t end, hr_error *error)
{
    const hr_image_source *source = &r->p->coded;
    while (r->ring > 0 && r->made < end) {
        int32_t rows = (int32_t)HR_MIN(ROWS_AT_ONCE, r->need.h - r->made);
        HR_TRY(source->read(source->context, r->decoded + (size_t)(r->made % r->ring) * r->stride,
                            r->stride, rows, error));
        r->made += rows;
    }
    return HR_STATUS_OK;
}

/* Makes the positions of row y, if they are not there. Returns how many come before them. */
static size_t find_positions(hr_rows *r, int64_t y)
{
    hr_rows_positions *at = &r->positions;
    if (at->map != r->map || y < at->at || y >= at->at + at->rows) {
        at->map = r->map;
        at->at = y - y % at->rows;
        const int64_t first[2] = {r->view.x, r->view.y + at->at};
        r->call->kernels->gather_positions(at->x, at->y, at->stride, at->rows, r->map, first,
                                           r->view.w);
    }
    return (size_t)(y - at->at) * at->stride;
}

static const void *read_gather(hr_rows *r, int64_t y, void *out)
{
    const hr_image_program *p = r->p;
    int64_t channels = p->channels, element = (int64_t)hr_dtype_size(p->src_dtype);
    hr_gather_row row = {.gather = &p->gather,
                         .map = r->map,
                         .src = r->src,
                         .step = {channels, (int64_t)r->stride / element, p->depth_step},
                         .from = p->src_dtype,
                         .to = p->resampled,
                         .channels = p->channels,
                         .first = {r->view.x, r->view.y + y, r->slice},
                         .n = r->view.w};
    if (p->gather.axes == 2) {
        const size_t before = find_positions(r, y);
        row.x = r->positions.x + before;
        row.y = r->positions.y + before;
    }
    r->call->kernels->gather_row(&row, r->row_out, out);
    return out;
}

static const void *read_pick(hr_rows *r, int64_t y, char *out)
{
    const char *row = source_row(r, r->y_start[y]);
    size_t pixel = r->pixel;
    for (int64_t x = 0; x < r->view.w; x++) {
        const char *from = row + (size_t)r->x_start[x] * pixel;
        char *to = out + (size_t)x * pixel;
        switch (pixel) { /* constant sizes become plain moves */
        case 1:
            *to = *from;
            break;
        case 3:
            memcpy(to, from, 3);
            break;
        case 4:
            memcpy(to, from, 4);
            break;
        default:
            memcpy(to, from, pixel);
        }
    }
    return out;
}

static const void *read_fixed(hr_rows *r, int64_t y, uint8_t *out)
{
    const hr_kernels *k = r->call->kernels;
    for (int32_t t = 0; t < r->y_taps; t++)
        r->list[t] = source_row(r, (int64_t)r->y_start[y] + t);
    k->vfilter_u8(r->row_fixed, (const uint8_t *const *)r->list,
                  r->y_fixed + (size_t)y * (size_t)r->y_taps, r->y_taps, r->need_elements);
    fetch_row(r, (int64_t)r->y_start[y] + r->y_taps);
    k->hfilter_u8(out, r->row_fixed, &r->x_fixed, r->p->channels);
    return out;
}

/* Adds the source rows of output row y. */
static hr_status sum_rows(hr_rows *r, int64_t y, hr_error *error)
{
    hr_sums *s = &r->sums;
    const float *rows[HR_SUMS_ROWS];
    int64_t end = (int64_t)r->y_start[y] + r->y_taps, last = r->running ? r->need.h : end;
    if (!r->running)
        hr__sums_restart(s, (int32_t)y);
    while (s->next < end) {
        int32_t count = (int32_t)HR_MIN(HR_SUMS_ROWS, last - s->next);
        HR_TRY(fill_ring(r, s->next + count, error));
        for (int32_t i = 0; i < count; i++) {
            float *row = s->rows + (size_t)i * s->n;
            hr_kernels_convert(r->call->kernels, row, HR_DTYPE_FLOAT, source_row(r, s->next + i),
                               r->p->src_dtype, s->n);
            rows[i] = row;
        }
        hr__sums_add(s, rows, count);
    }
    return HR_STATUS_OK;
}

hr_status hr__rows_want(hr_rows *r, int64_t y, hr_error *error)
{
    if (r->summing)
        return sum_rows(r, y, error);
    return fill_ring(r, r->y_start != NULL ? (int64_t)r->y_start[y] + r->y_taps : y + 1, error);
}

static const float *float_row(hr_rows *r, int64_t at)
{
    const char *row = source_row(r, at);
    if (r->cache == NULL)
        return (const float *)row;
    int64_t slot = at % r->y_taps;
    float *cached = r->cache + (size_t)slot * r->need_elements;
    if (r->cache_row[slot] != at) {
        hr_kernels_convert(r->call->kernels, cached, HR_DTYPE_FLOAT, row, r->p->src_dtype,
                           r->need_elements);
        r->cache_row[slot] = at;
    }
    return cached;
}

/* Row y after the vertical filter. */
static void filter_rows(hr_rows *r, int64_t y, const int32_t *start, int32_t taps,
                        const float *coef, float *to)
{
    for (int32_t t = 0; t < taps; t++)
        r->list[t] = float_row(r, (int64_t)start[y] + t);
    fetch_row(r, (int64_t)start[y] + taps);
    r->call->kernels->vfilter_f32(to, (const float *const *)r->list,
                                  coef + (size_t)y * (size_t)taps, taps, r->need_elements);
}

/* Row y after both vertical filters: r->row_float and r->sum.row. With as many taps, they read the
 * same rows. */
static void filter_rows_twice(hr_rows *r, int64_t y)
{
    const hr_rows_sum *sum = &r->sum;
    const size_t at = (size_t)y * (size_t)r->y_taps;
    if (sum->y_taps != r->y_taps) {
        filter_rows(r, y, r->y_start, r->y_taps, r->y_coef, r->row_float);
        filter_rows(r, y, sum->y_start, sum->y_taps, sum->y_coef, sum->row);
        return;
    }
    float *const to[2] = {r->row_float, sum->row};
    const float *const coef[2] = {r->y_coef + at, sum->y_coef + at};
    for (int32_t t = 0; t < r->y_taps; t++)
        r->list[t] = float_row(r, (int64_t)r->y_start[y] + t);
    fetch_row(r, (int64_t)r->y_start[y] + r->y_taps);
    r->call->kernels->vfilter_two_f32(to, (const float *const *)r->list, coef, r->y_taps,
                                      r->need_elements);
}

static const void *read_float(hr_rows *r, int64_t y, void *out)
{
    const hr_kernels *k = r->call->kernels;
    bool keep = r->p->resampled == HR_DTYPE_FLOAT;
    const float *row = r->row_float;
    if (r->summing)
        row = hr__sums_take(&r->sums);
    else if (r->p->sum)
        filter_rows_twice(r, y);
    else
        filter_rows(r, y, r->y_start, r->y_taps, r->y_coef, r->row_float);
    float *to = keep ? out : r->row_out;
    k->hfilter_f32(to, NULL, row, &r->x_float, r->p->channels);
    if (r->p->sum)
        k->hfilter_f32(to, to, r->sum.row, &r->sum.x, r->p->channels);
    if (!keep)
        hr_kernels_convert(k, out, r->p->resampled, to, HR_DTYPE_FLOAT, r->elements);
    return out;
}

const void *hr__rows_read(hr_rows *r, int64_t y, void *out)
{
    switch (r->kind) {
    case HR_ROWS_KIND_PICK:
        return read_pick(r, y, out);
    case HR_ROWS_KIND_GATHER:
        return read_gather(r, y, out);
    case HR_ROWS_KIND_FIXED:
        return read_fixed(r, y, out);
    case HR_ROWS_KIND_FLOAT:
        return read_float(r, y, out);
    default:
        return source_row(r, y);
    }
}
