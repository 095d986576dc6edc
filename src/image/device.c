/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Flattens an image program into a record for a device. */
#include "image/device.h"
#include "image/filter.h"
#include "image/output_map.h"
#include "image/rows.h"

#include <math.h>
#include <string.h>

_Static_assert(HR_DEVICE_OUTER_MAX == HR_OUTER_MAX && HR_DEVICE_CHANNELS_MAX == HR_CHANNELS_MAX &&
                   HR_MATRIX_MAX <= HR_DEVICE_GROUP,
               "a record holds as many steps and dimensions as a program");

/* The outputs to make, and the source pixels that they need. */
typedef struct reach {
    hr_output_map map;
    hr_rows_kind kind;
    bool nothing; /* only fill, or an empty output */
    hr_taps y, x, sum_y, sum_x;
    hr_window view; /* outputs of the resample, or source pixels in clamp's coordinates */
    hr_window need; /* source pixels in clamp's coordinates */
} reach;

static hr_status too_large(hr_error *error, const char *what)
{
    return hr_fail(error, HR_STATUS_LIMIT, "%s is too large for the device", what);
}

/* Source elements that outputs first .. first + count - 1 read. Starts only rise or only fall. */
static void extent_of(const hr_taps *t, int32_t first, int32_t count, int64_t *at, int64_t *length)
{
    int32_t a = taps_start(t, first), b = taps_start(t, first + count - 1);
    *at = HR_MIN(a, b);
    *length = (int64_t)HR_MAX(a, b) + t->taps - *at;
}

/* Nearest neighbour along H accumulates its positions, so all of them have to be computed. */
static void extent_of_running(const hr_taps *t, int32_t first, int32_t count, int64_t *at,
                              int64_t *length)
{
    float position = t->origin + 0.5f * t->scale;
    int32_t a = 0, b = 0;
    for (int32_t o = 0; o < first + count; o++, position += t->scale) {
        if (o == first)
            a = taps_nearest(t, position);
        if (o == first + count - 1)
            b = taps_nearest(t, position);
    }
    *at = HR_MIN(a, b);
    *length = (int64_t)HR_MAX(a, b) + 1 - *at;
}

/* The second filter reads rows of the first, but maybe more columns. */
static hr_status reach_sum(reach *r, const hr_image_program *p, hr_error *error)
{
    int64_t at, length, end;
    HR_TRY(hr__taps_make(&r->sum_y, &p->sum_y, p->clamp.h, error));
    HR_TRY(hr__taps_make(&r->sum_x, &p->sum_x, p->clamp.w, error));
    extent_of(&r->sum_x, (int32_t)r->view.x, (int32_t)r->view.w, &at, &length);
    end = HR_MAX(r->need.x + r->need.w, at + length);
    r->need.x = HR_MIN(r->need.x, at);
    r->need.w = end - r->need.x;
    return HR_STATUS_OK;
}

static hr_status find_reach(reach *r, const hr_image_program *p, hr_error *error)
{
    HR_TRY(hr__output_map_make(&r->map, p, error));
    const hr_window in = r->map.inside;
    r->kind = HR_ROWS_KIND_COPY;
    r->nothing = r->map.all_fill || r->map.total == 0;
    r->view = (hr_window){p->window.y + in.y, p->window.x + in.x, in.h, in.w};
    r->need = r->view;
    memset(&r->y, 0, sizeof(r->y));
    memset(&r->x, 0, sizeof(r->x));
    memset(&r->sum_y, 0, sizeof(r->sum_y));
    memset(&r->sum_x, 0, sizeof(r->sum_x));
    if (r->nothing)
        r->need = r->view = (hr_window){0, 0, 0, 0};
    if (p->gather.axes > 0 && !r->nothing) {
        r->kind = HR_ROWS_KIND_GATHER;
        r->need = (hr_window){0, 0, p->clamp.h, p->clamp.w};
    }
    if (r->nothing || !p->resample)
        return HR_STATUS_OK;
    HR_TRY(hr__taps_make(&r->y, &p->y, p->clamp.h, error));
    HR_TRY(hr__taps_make(&r->x, &p->x, p->clamp.w, error));
    r->kind = hr__rows_kind(p, r->y.taps, r->x.taps);
    int32_t y = (int32_t)r->view.y, h = (int32_t)r->view.h;
    if (r->y.support == 0 && !r->y.cut)
        extent_of_running(&r->y, y, h, &r->need.y, &r->need.h);
    else
        extent_of(&r->y, y, h, &r->need.y, &r->need.h);
    extent_of(&r->x, (int32_t)r->view.x, (int32_t)r->view.w, &r->need.x, &r->need.w);
    return p->sum ? reach_sum(r, p, error) : HR_STATUS_OK;
}

hr_status hr_device_program_window(const hr_image_program *p, hr_window *out, hr_error *error)
{
    reach r;
    HR_TRY(find_reach(&r, p, error));
    *out = r.need;
    out->y += p->clamp.y;
    out->x += p->clamp.x;
    return HR_STATUS_OK;
}

/* ---- the source and the output ---- */

/* The source's index of the first part of outer dimension `o` that is not fill. */
static int64_t outer_first(const hr_image_program *p, const reach *r, int32_t o)
{
    const hr_outer *outer = &p->outer[o];
    int64_t first = r->map.first[o];
    return outer->start + (outer->reverse ? outer->count - 1 - first : first);
}

static hr_status set_source(hr_device_program *d, const hr_image_program *p, const reach *r,
                            hr_error *error)
{
    int64_t pixel = (int64_t)hr_dtype_size(p->src_dtype) * p->channels;
    bool coded = p->coded.decode != NULL;
    int64_t width = coded ? r->need.w : p->width, height = coded ? r->need.h : p->height;
    if (width > 0 && pixel > INT32_MAX / width)
        return too_large(error, "a row of the source");
    d->src = p->data;
    d->src_stride = width * pixel;
    if (r->nothing)
        return HR_STATUS_OK;
    int64_t size = (height - 1) * d->src_stride + width * pixel;
    if (!coded)
        d->lead = (p->clamp.y + r->need.y) * d->src_stride + (p->clamp.x + r->need.x) * pixel;
    d->tail = size - d->lead;
    d->src_offset = d->lead + p->depth_first * (int64_t)hr_dtype_size(p->src_dtype);
    for (int32_t i = 0; i < p->outer_count; i++) {
        const hr_outer *outer = &p->outer[i];
        int64_t stride = outer->stride * (int64_t)hr_dtype_size(p->src_dtype);
        d->src_offset += outer_first(p, r, i) * stride;
        d->outer[i].src_stride = outer->reverse ? -stride : stride;
    }
    return HR_STATUS_OK;
}

/* The dimension of the frames, if a step has values for each; otherwise -1. */
static int8_t frames_of(const hr_image_program *p)
{
    bool each = false;
    for (int32_t i = 0; i < p->point_count; i++)
        each |= p->point[i].frames > 1;
    for (int32_t o = 0; o < p->outer_count && each; o++)
        if (p->outer[o].letter == 'F')
            return (int8_t)o;
    return -1;
}

static hr_status set_output(hr_device_program *d, const hr_image_program *p, const reach *r,
                            hr_error *error)
{
    const hr_output_map *map = &r->map;
    if (map->total > INT64_MAX / 8)
        return too_large(error, "the output");
    d->window_h = (int32_t)p->window.h;
    d->window_w = (int32_t)p->window.w;
    d->dst_y = (int64_t)map->y;
    d->dst_x = (int64_t)map->x;
    d->dst_c = (int64_t)map->c;
    d->plane = (int8_t)map->plane_outer;
    d->frames = frames_of(p);
    d->channels = p->channels;
    d->out_channels = p->out_channels;
    d->dst_channels =
        map->plane_outer < 0 ? HR_MAX(p->out_channels, p->pad_channels) : p->out_channels;
    d->outer_count = (uint8_t)p->outer_count;
    d->fill = d->window_h != r->view.h || d->window_w != r->view.w;
    for (int32_t i = 0; i < p->outer_count; i++) {
        int64_t extent = hr_program_extent(p, p->outer[i].letter);
        if (extent > INT32_MAX)
            return too_large(error, "the number of images");
        d->outer[i].extent = (int32_t)extent;
        d->outer[i].first = (int32_t)map->first[i];
        d->outer[i].count = (int32_t)map->count[i];
        d->outer[i].dst_stride = (int64_t)map->outer[i];
        d->fill |= extent > map->count[i];
    }
    return HR_STATUS_OK;
}

/* ---- tiles ---- */

static int32_t divide_up(int64_t a, int32_t b)
{
    return (int32_t)HR_DIVIDE_UP(a, b);
}

/* Source columns that `width` neighbouring outputs read, at most. Positions are floats, so large
 * ones are less exact. */
static int64_t span_of(const hr_device_program *d, int32_t width)
{
    const hr_taps *t = &d->x;
    double far = fabs((double)t->scale) * t->out + fabs((double)t->origin) + t->n;
    double span = (width - 1) * fabs((double)t->scale) + t->taps + 2.0 + ceil(far * 0x1p-20);
    return (int64_t)HR_MIN(span, (double)d->need_w);
}

enum { TILE_ROWS = 16, ROWS_BYTES = 34 * 1024, X_TAPS_BYTES = 10 * 1024, FLOATS = 8 * 1024 };

/* Shared memory of a fixed-point tile: the rows between the passes, and the taps (one word for the
 * start and one per two weights). */
static int64_t fixed_bytes(const hr_device_program *d, int64_t height)
{
    const hr_device_tiles *t = &d->tiles;
    int32_t pixel = d->channels == 1 ? 2 : d->channels == 2 ? 4 : 8;
    int32_t x_words = (d->x.taps + 3) / 2, y_words = (d->y.taps + 3) / 2;
    return height * t->span * pixel + 32 + 4 * (t->width * x_words + height * y_words);
}

/* Tiles have at least 4 rows, unless that makes them narrower than 16 columns. If outputs are so
 * far apart in the source that not even one row of 16 fits, tiles get as narrow as necessary. */
static hr_status cut_fixed(hr_device_program *d, hr_error *error)
{
    hr_device_tiles *t = &d->tiles;
    int32_t pixel = d->channels == 1 ? 2 : d->channels == 2 ? 4 : 8;
    int32_t most = X_TAPS_BYTES / (4 * ((d->x.taps + 3) / 2));
    most = HR_MAX(HR_MIN(most, HR_DEVICE_COLUMNS), 1);
    for (;; most = (most + 1) / 2) {
        t->columns = divide_up(d->view_w, most);
        t->width = divide_up(d->view_w, t->columns);
        t->span = divide_up(span_of(d, t->width), 4) * 4;
        t->height = (int32_t)HR_MIN(ROWS_BYTES / ((int64_t)t->span * pixel), TILE_ROWS);
        if (t->height >= 4 || (t->height >= 1 && most <= 16) || most == 1)
            break;
    }
    while (t->height > 1 && fixed_bytes(d, t->height) > HR_DEVICE_SHARED)
        t->height--;
    if (t->height < 1 || fixed_bytes(d, t->height) > HR_DEVICE_SHARED)
        return too_large(error, "a filter");
    t->rows = divide_up(d->view_h, t->height);
    t->height = divide_up(d->view_h, t->rows);
    t->shared = (int32_t)fixed_bytes(d, t->height);
    return HR_STATUS_OK;
}

static void cut_float(hr_device_program *d)
{
    hr_device_tiles *t = &d->tiles;
    int32_t group = HR_MIN(d->channels, HR_DEVICE_GROUP);
    t->width = HR_MIN(d->view_w, HR_DEVICE_THREADS / 4);
    t->lines = HR_MIN(HR_MIN(HR_DEVICE_THREADS / t->width, d->view_h), TILE_ROWS);
    t->height = 8 * t->lines;
    t->rows = divide_up(d->view_h, t->height);
    t->columns = divide_up(d->view_w, t->width);
    t->span = (int32_t)HR_MIN(span_of(d, t->width), FLOATS / (group * t->lines));
    t->shared = 4 * group * t->lines * t->span;
}

/* PICK takes pixels by four, in runs: rows, or the whole image if its rows follow one another on
 * both sides. The stride of a coded source is not known yet. */
static bool is_one_run(const hr_device_program *d, const hr_image_program *p)
{
    return p->coded.decode == NULL && !d->resample && !d->mirror_y && !d->mirror_x &&
           d->src_stride == (int64_t)d->view_w * d->channels && d->dst_y == d->view_w * d->dst_x &&
           d->view_h <= INT32_MAX / HR_MAX(d->view_w, 1);
}

static void cut_pixels(hr_device_program *d, const hr_image_program *p)
{
    hr_device_tiles *t = &d->tiles;
    int64_t pixels = (int64_t)d->view_h * d->view_w;
    t->columns = 1;
    t->rows = (int32_t)HR_MIN(HR_DIVIDE_UP(pixels, HR_DEVICE_PIXELS), INT32_MAX);
    if (d->store == HR_DEVICE_STORE_ANY)
        return;
    bool one = is_one_run(d, p);
    t->width = one ? d->view_w * d->view_h : d->view_w;
    t->height = one ? 1 : d->view_h;
    int64_t groups = HR_DIVIDE_UP((int64_t)t->width, 4) * t->height;
    t->rows = (int32_t)HR_MIN(HR_DIVIDE_UP(groups, HR_DEVICE_PIXELS / 4), INT32_MAX);
}

static void cut_gather(hr_device_program *d)
{
    if (d->store != HR_DEVICE_STORE_ANY) {
        d->tiles.columns = divide_up(d->view_w, HR_DEVICE_GATHER_WIDE);
        d->tiles.rows = divide_up(d->view_h, HR_DEVICE_GATHER_HIGH);
        return;
    }
    int64_t runs = (int64_t)d->view_h * HR_DIVIDE_UP(d->view_w, HR_DEVICE_RUN);
    d->tiles.columns = 1;
    d->tiles.rows = (int32_t)HR_MIN(HR_DIVIDE_UP(runs, HR_DEVICE_RUNS), INT32_MAX);
}

static hr_status cut_tiles(hr_device_program *d, const hr_image_program *p, hr_error *error)
{
    int64_t all = 1, filled = 1;
    bool none = d->kind == HR_DEVICE_KIND_NONE;
    if (d->kind == HR_DEVICE_KIND_FIXED)
        HR_TRY(cut_fixed(d, error));
    else if (d->kind == HR_DEVICE_KIND_FLOAT)
        cut_float(d);
    else if (d->kind == HR_DEVICE_KIND_GATHER)
        cut_gather(d);
    else if (!none)
        cut_pixels(d, p);
    for (int32_t i = 0; i < d->outer_count; i++) {
        if (d->outer[i].extent > 0 && filled > INT32_MAX / d->outer[i].extent)
            return too_large(error, "the number of images");
        all *= d->outer[i].count;
        filled *= d->outer[i].extent;
    }
    int64_t tiles = none ? 0 : (int64_t)d->tiles.rows * d->tiles.columns;
    int64_t window = (int64_t)d->window_h * d->window_w;
    int64_t fills = d->fill ? HR_DIVIDE_UP(window, HR_DEVICE_PIXELS) : 0;
    if ((all > 0 && tiles > INT32_MAX / all) || (filled > 0 && fills > INT32_MAX / filled))
        return too_large(error, "the output");
    d->tiles.count = (int32_t)(tiles * all);
    d->fill_tiles = (int32_t)(fills * filled);
    return HR_STATUS_OK;
}

/* ---- per-pixel steps ---- */

/* How u8 pixels of the output's type are stored. */
static hr_device_store store_of_bytes(const hr_image_program *p)
{
    if (!p->normalize)
        return HR_DEVICE_STORE_U8;
    return p->dtype == HR_DTYPE_FLOAT16 ? HR_DEVICE_STORE_F16
           : p->dtype == HR_DTYPE_FLOAT ? HR_DEVICE_STORE_F32
                                        : HR_DEVICE_STORE_ANY;
}

/* Whether kernels of bytes can multiply by such a weight and by powers of two (POINT_SCALE in
 * cuda/image/points.cuh). */
static bool is_scalable(float weight)
{
    float size = fabsf(weight);
    return size == 0.0f || (size >= 0x1p-56f && size <= 0x1p46f);
}

static bool is_scalable_matrix(const hr_point_step *step)
{
    const hr_matrix *m = hr_point_matrix(step, step->first_frame);
    bool good = true;
    for (int32_t c = 0; c < m->out; c++) {
        for (int32_t k = 0; k < m->in; k++)
            good = good && is_scalable(m->m[c][k]);
        good = good && is_scalable(m->add[c]);
    }
    return good;
}

static hr_device_store store_of(const hr_image_program *p)
{
    bool bytes = p->resampled == HR_DTYPE_UINT8 && p->channels <= HR_MATRIX_MAX;
    bool color = p->channels == 3;
    for (int32_t i = 0; i < p->point_count; i++) {
        const hr_point_step *step = &p->point[i];
        bool matrix = step->kind == HR_POINT_KIND_MATRIX;
        bytes = bytes && step->dtype == HR_DTYPE_UINT8;
        bytes = bytes && (!matrix || is_scalable_matrix(step));
        color = color && (!matrix || step->matrix.out <= 3);
        if (step->frames > 1)
            return HR_DEVICE_STORE_ANY;
    }
    if (!bytes)
        return HR_DEVICE_STORE_ANY;
    hr_device_store store = store_of_bytes(p);
    if (p->point_count == 0 || store == HR_DEVICE_STORE_ANY)
        return store;
    return color ? HR_DEVICE_STORE_COLOR : HR_DEVICE_STORE_POINTS;
}

bool hr_device_program_is_plain(const hr_image_program *p)
{
    return !p->resample && p->gather.axes == 0 && p->coded.decode == NULL &&
           store_of(p) == HR_DEVICE_STORE_ANY;
}

/* Whether pixels come from a u8 image, not too large for kernels of bytes. */
static bool is_gather_of_bytes(const hr_image_program *p)
{
    const int64_t *in = p->gather.in, most = (int64_t)HR_GATHER_FAR - 2;
    return p->gather.axes == 2 && p->src_dtype == HR_DTYPE_UINT8 && in[0] > 0 && in[1] > 0 &&
           in[0] <= most && in[1] <= most;
}

static hr_device_kind kind_of(const reach *r)
{
    if (r->nothing)
        return HR_DEVICE_KIND_NONE;
    return r->kind == HR_ROWS_KIND_FIXED    ? HR_DEVICE_KIND_FIXED
           : r->kind == HR_ROWS_KIND_FLOAT  ? HR_DEVICE_KIND_FLOAT
           : r->kind == HR_ROWS_KIND_GATHER ? HR_DEVICE_KIND_GATHER
                                            : HR_DEVICE_KIND_PICK;
}

/* The results of an AFFINE step for all UINT8 elements. */
static void fill_table(const hr_point_step *step, void *table)
{
    float v[256];
    for (int32_t i = 0; i < 256; i++)
        v[i] = step->matrix.m[0][0] * (float)i + step->matrix.add[0];
    hr_convert(table, step->dtype, v, HR_DTYPE_FLOAT, 256);
}

/* A step with a matrix per frame, for kernels that count frames from the first one of the output.
 */
static hr_status stage_matrices(hr_point_step *to, const hr_device_program *d,
                                const hr_image_program *p, hr_staging *staging, hr_error *error)
{
    size_t size = (size_t)to->frames * sizeof(hr_matrix);
    const void *matrices;
    if (to->kind == HR_POINT_KIND_TABLE || d->plane >= 0)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "these values per frame are not supported on the GPU; use one value per "
                       "sequence, or device=\"cpu\"");
    HR_TRY(staging->constant(staging, to->matrices, size, &matrices, error));
    to->matrices = matrices;
    to->first_frame -= (int32_t)p->outer[d->frames].start;
    return HR_STATUS_OK;
}

/* Step i. AFFINE steps of UINT8 elements become tables. */
static hr_status stage_point(hr_point_step *to, int32_t i, const hr_device_program *d,
                             const hr_image_program *p, hr_staging *staging, hr_error *error)
{
    const hr_point_step *step = &p->point[i];
    uint64_t table[256]; /* of elements of at most 8 bytes */
    hr_dtype from = i > 0 ? p->point[i - 1].dtype : p->resampled;
    bool affine = step->kind == HR_POINT_KIND_AFFINE && from == HR_DTYPE_UINT8;
    *to = *step;
    if (step->frames > 1)
        return stage_matrices(to, d, p, staging, error);
    if (step->frames == 1)
        to->matrix = step->matrices != NULL ? *step->matrices : to->matrix;
    to->frames = 0;
    to->matrices = NULL;
    to->table = NULL;
    if (step->kind != HR_POINT_KIND_TABLE && !affine)
        return HR_STATUS_OK;
    if (affine)
        fill_table(to, table);
    to->kind = HR_POINT_KIND_TABLE;
    return staging->constant(staging, affine ? table : step->table,
                             256 * hr_dtype_size(step->dtype), &to->table, error);
}

static hr_status stage_tables(hr_device_program *d, const hr_image_program *p, hr_staging *staging,
                              hr_error *error)
{
    int64_t planes = d->plane >= 0 ? d->outer[d->plane].extent : p->out_channels;
    bool many = p->normalize && planes > 4;
    if (!many && p->point_count == 0 && !d->fill && d->dst_channels == d->out_channels)
        return HR_STATUS_OK;
    hr_device_tables t;
    const void *tables;
    memset(&t, 0, sizeof(t)); /* equal tables have equal bytes */
    memcpy(t.mean, p->mean, sizeof(t.mean));
    memcpy(t.mul, p->mul, sizeof(t.mul));
    for (int32_t c = 0; c < HR_CHANNELS_MAX; c++)
        hr_convert(&t.fill[c], p->dtype, &p->fill[c], HR_DTYPE_FLOAT, 1);
    for (int32_t i = 0; i < p->point_count; i++)
        HR_TRY(stage_point(&t.point[i], i, d, p, staging, error));
    HR_TRY(staging->constant(staging, &t, sizeof(t), &tables, error));
    d->tables = tables;
    return HR_STATUS_OK;
}

static hr_status stage_table(hr_taps *t, const hr_filter_axis *axis, hr_staging *staging,
                             hr_error *error)
{
    float curve[TAPS_TABLE_MAX];
    const void *table = NULL;
    size_t size = (size_t)hr__taps_table_size(t) * sizeof(float);
    if (size == 0)
        return HR_STATUS_OK;
    if (!t->given)
        hr__taps_table(axis, curve);
    HR_TRY(staging->constant(staging, t->given ? axis->given.taps : curve, size, &table, error));
    t->table = table;
    return HR_STATUS_OK;
}

hr_status hr_device_taps_make(const hr_filter_axis *axis, int64_t n, hr_staging *staging,
                              hr_taps *out, hr_error *error)
{
    HR_TRY(hr__taps_make(out, axis, n, error));
    return stage_table(out, axis, staging, error);
}

static bool is_same_table(const hr_device_program *d, const hr_image_program *p)
{
    if (d->x.given || d->y.given)
        return p->x.given.taps == p->y.given.taps && p->x.given.count == p->y.given.count;
    return d->x.support != 0 && d->x.last == d->y.last &&
           p->x.resample.interp == p->y.resample.interp;
}

static hr_status stage_filters(hr_device_program *d, const hr_image_program *p, hr_staging *staging,
                               hr_error *error)
{
    HR_TRY(stage_table(&d->y, &p->y, staging, error));
    if (is_same_table(d, p))
        d->x.table = d->y.table;
    else
        HR_TRY(stage_table(&d->x, &p->x, staging, error));
    HR_TRY(stage_table(&d->sum_y, &p->sum_y, staging, error));
    HR_TRY(stage_table(&d->sum_x, &p->sum_x, staging, error));
    if (d->y.support != 0)
        return HR_STATUS_OK;
    hr_staged staged;
    int32_t count = d->view_y + d->view_h;
    HR_TRY(staging->alloc(staging, (size_t)count * sizeof(int32_t), &staged, error));
    hr__taps_running(&d->y, count, staged.host);
    d->y.starts = staged.device;
    return HR_STATUS_OK;
}

static hr_status stage_gather(hr_device_program *d, const hr_image_program *p, const reach *r,
                              hr_staging *staging, hr_error *error)
{
    const void *maps, *gather;
    hr_device_gather made;
    HR_TRY(
        staging->constant(staging, p->maps, (size_t)p->map_count * sizeof(hr_map), &maps, error));
    memset(&made, 0, sizeof(made)); /* equal ones have equal bytes */
    made.gather = p->gather;
    made.maps = maps;
    made.map_count = p->map_count;
    made.frames = made.depth = -1;
    made.slice_by = 1;
    made.slice_step = p->depth_step * (int64_t)hr_dtype_size(p->src_dtype);
    for (int32_t o = 0; o < p->outer_count; o++) {
        if (p->outer[o].letter == 'F' && p->map_count > 1) {
            made.frames = o;
            made.first_frame = (int32_t)(outer_first(p, r, o) - p->first_frame);
        } else if (p->outer[o].letter == 'D') {
            made.depth = o;
            made.first_slice = (int32_t)outer_first(p, r, o);
            made.slice_by = p->outer[o].reverse ? -1 : 1;
        }
    }
    HR_TRY(staging->constant(staging, &made, sizeof(made), &gather, error));
    d->gather = gather;
    return HR_STATUS_OK;
}

static void set_pixels(hr_device_program *d, const hr_image_program *p, const reach *r)
{
    d->kind = (uint8_t)kind_of(r);
    d->store = (uint8_t)store_of(p);
    d->src_dtype = (uint8_t)p->src_dtype;
    d->resampled = (uint8_t)p->resampled;
    d->dtype = (uint8_t)p->dtype;
    d->point_count = (uint8_t)p->point_count;
    d->resample = p->resample;
    d->normalize = p->normalize;
    d->mirror_y = p->mirror_y;
    d->mirror_x = p->mirror_x;
    memcpy(d->mean, p->mean, sizeof(d->mean));
    memcpy(d->mul, p->mul, sizeof(d->mul));
    d->y = r->y;
    d->x = r->x;
    d->sum = p->sum;
    d->sum_y = r->sum_y;
    d->sum_x = r->sum_x;
    d->need_y = (int32_t)r->need.y;
    d->need_x = (int32_t)r->need.x;
    d->need_h = (int32_t)r->need.h;
    d->need_w = (int32_t)r->need.w;
    d->view_y = (int32_t)r->view.y;
    d->view_x = (int32_t)r->view.x;
    d->view_h = (int32_t)r->view.h;
    d->view_w = (int32_t)r->view.w;
    d->inside_y = (int32_t)r->map.inside.y;
    d->inside_x = (int32_t)r->map.inside.x;
}

hr_status hr_device_program_make(const hr_image_program *p, hr_staging *staging,
                                 hr_device_program *out, hr_error *error)
{
    reach r;
    memset(out, 0, sizeof(*out));
    HR_TRY(find_reach(&r, p, error));
    set_pixels(out, p, &r);
    HR_TRY(set_source(out, p, &r, error));
    if (r.kind == HR_ROWS_KIND_GATHER && !is_gather_of_bytes(p))
        out->store = HR_DEVICE_STORE_ANY;
    HR_TRY(set_output(out, p, &r, error));
    HR_TRY(cut_tiles(out, p, error));
    HR_TRY(stage_tables(out, p, staging, error));
    if (r.kind == HR_ROWS_KIND_GATHER)
        return stage_gather(out, p, &r, staging, error);
    return p->resample && !r.nothing ? stage_filters(out, p, staging, error) : HR_STATUS_OK;
}
