/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs an image program on the CPU, row by row so that pixels stay in the first cache levels: a row
 * of the resampled window (rows.c), per-pixel steps, normalisation, and the store in the output's
 * layout. */
#include "image/output_map.h"
#include "image/rows.h"
#include "kernels/elements.h"

#include <string.h>

typedef struct runner {
    const hr_image_program *p;
    const hr_kernels *kernels;
    hr_rows rows;
    hr_output_map map;
    char *out;
    size_t element;                /* bytes of an output element */
    int32_t plane;                 /* current index of an outer C, for mean and fill */
    int64_t frame;                 /* current frame of the source */
    bool interleaved;              /* rows are stored unchanged, except for mirroring */
    char *scratch[3];              /* rows of up to 8 bytes per element */
    char fill[HR_CHANNELS_MAX][8]; /* in the output's type */
} runner;

static hr_status init_runner(runner *r, const hr_image_program *p, hr_op_call *c, void *out,
                             hr_error *error)
{
    memset(r, 0, sizeof(*r));
    r->p = p;
    r->kernels = c->kernels;
    r->out = out;
    r->element = hr_dtype_size(p->dtype);
    HR_TRY(hr__output_map_make(&r->map, p, error));
    r->interleaved = r->map.x == (size_t)p->out_channels && (r->map.c == 1 || p->out_channels == 1);
    for (int32_t i = 0; i < HR_CHANNELS_MAX; i++)
        hr_convert(r->fill[i], p->dtype, &p->fill[i], HR_DTYPE_FLOAT, 1);
    size_t bytes, most = (size_t)HR_MAX(p->channels, HR_MATRIX_MAX);
    if (!hr_size_mul((size_t)r->map.inside.w * 8, most, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "a row does not fit in memory");
    for (int32_t i = 0; i < 3; i++) {
        r->scratch[i] = hr_arena_alloc(c->arena, bytes, error);
        if (r->scratch[i] == NULL)
            return HR_STATUS_NO_MEMORY;
    }
    return HR_STATUS_OK;
}

static char *other_scratch(const runner *r, const void *a, const void *b)
{
    for (int32_t i = 0; i < 2; i++)
        if (r->scratch[i] != a && r->scratch[i] != b)
            return r->scratch[i];
    return r->scratch[2];
}

/* A row on its way from the source to the output. */
typedef struct line {
    const void *at;
    hr_dtype dtype;
    size_t channels;
} line;

static size_t line_elements(const runner *r, const line *l)
{
    return (size_t)r->map.inside.w * l->channels;
}

/* `taken`: scratch that is in use. */
static const float *as_float(const runner *r, const line *l, const void *taken)
{
    if (l->dtype == HR_DTYPE_FLOAT)
        return l->at;
    float *to = (float *)other_scratch(r, l->at, taken);
    hr_kernels_convert(r->kernels, to, HR_DTYPE_FLOAT, l->at, l->dtype, line_elements(r, l));
    return to;
}

/* Replaces the line, of floats, by one of another type. */
static void to_type(const runner *r, line *l, hr_dtype dtype)
{
    if (dtype != HR_DTYPE_FLOAT) {
        char *to = other_scratch(r, l->at, NULL);
        hr_kernels_convert(r->kernels, to, dtype, l->at, HR_DTYPE_FLOAT, line_elements(r, l));
        l->at = to;
    }
    l->dtype = dtype;
}

static void point_matrix(const runner *r, line *l, const hr_point_step *step, void *to)
{
    const hr_matrix *m = hr_point_matrix(step, r->frame);
    size_t n = (size_t)r->map.inside.w;
    bool bytes = l->dtype == HR_DTYPE_UINT8 && step->dtype == HR_DTYPE_UINT8;

    if (bytes) {
        r->kernels->matrix_u8(to, l->at, n, m);
    } else {
        const float *in = as_float(r, l, to);
        bool direct = step->dtype == HR_DTYPE_FLOAT;
        float *out = direct ? to : (float *)other_scratch(r, in, to);
        r->kernels->matrix_f32(out, in, n, m);
        if (!direct)
            hr_kernels_convert(r->kernels, to, step->dtype, out, HR_DTYPE_FLOAT,
                               n * (size_t)m->out);
    }
    *l = (line){to, step->dtype, (size_t)m->out};
}

static void point_affine(const runner *r, line *l, const hr_point_step *step, void *to)
{
    const hr_matrix *m = hr_point_matrix(step, r->frame);
    float mul = m->m[0][0], add = m->add[0];
    size_t n = line_elements(r, l);
    bool direct = step->dtype == HR_DTYPE_FLOAT;
    if (l->dtype == HR_DTYPE_UINT8 && step->dtype == HR_DTYPE_UINT8) {
        r->kernels->affine_u8(to, l->at, n, mul, add);
        l->at = to;
        return;
    }
    float *out = direct ? to : (float *)other_scratch(r, l->at, to);
    if (l->dtype != HR_DTYPE_FLOAT)
        hr_kernels_convert(r->kernels, out, HR_DTYPE_FLOAT, l->at, l->dtype, n);
    r->kernels->affine_f32(out, l->dtype == HR_DTYPE_FLOAT ? l->at : out, n, mul, add);
    if (!direct)
        hr_kernels_convert(r->kernels, to, step->dtype, out, HR_DTYPE_FLOAT, n);
    l->at = to;
    l->dtype = step->dtype;
}

/* Eight elements are read at once, which halves the loads. */
#define LOOK_UP(type)                                                                              \
    static void look_up_##type(type *dst, const uint8_t *src, size_t n, const type *table)         \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + 8 <= n; i += 8) {                                                               \
            uint64_t v;                                                                            \
            memcpy(&v, src + i, 8);                                                                \
            for (size_t k = 0; k < 8; k++, v >>= 8)                                                \
                dst[i + k] = table[v & 255];                                                       \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            dst[i] = table[src[i]];                                                                \
    }
LOOK_UP(uint16_t)
LOOK_UP(uint32_t)
LOOK_UP(uint64_t)

static void point_table(const runner *r, line *l, const hr_point_step *step, void *to)
{
    size_t n = line_elements(r, l), size = hr_dtype_size(step->dtype);
    const void *table = hr_point_table(step, r->frame, (int32_t)size);
    switch (size) {
    case 1:
        r->kernels->table_u8(to, l->at, n, table);
        break;
    case 2:
        look_up_uint16_t(to, l->at, n, table);
        break;
    case 4:
        look_up_uint32_t(to, l->at, n, table);
        break;
    default:
        look_up_uint64_t(to, l->at, n, table);
    }
    l->at = to;
    l->dtype = step->dtype;
}

static void point_convert(const runner *r, line *l, const hr_point_step *step, void *to)
{
    size_t n = line_elements(r, l);
    if (step->kind == HR_POINT_KIND_CUT)
        hr_convert_cut(to, step->dtype, l->at, l->dtype, n);
    else
        hr_kernels_convert(r->kernels, to, step->dtype, l->at, l->dtype, n);
    l->at = to;
    l->dtype = step->dtype;
}

/* If `dst` is given, a last step that writes no more than the line writes there. */
static void apply_points(const runner *r, line *l, void *dst)
{
    for (int32_t i = 0; i < r->p->point_count; i++) {
        const hr_point_step *step = &r->p->point[i];
        bool is_last = i + 1 == r->p->point_count;
        void *to = is_last && dst != NULL ? dst : other_scratch(r, l->at, NULL);
        if (step->kind == HR_POINT_KIND_MATRIX)
            point_matrix(r, l, step, to);
        else if (step->kind == HR_POINT_KIND_AFFINE)
            point_affine(r, l, step, to);
        else if (step->kind == HR_POINT_KIND_TABLE)
            point_table(r, l, step, to);
        else
            point_convert(r, l, step, to);
    }
}

static void normalize_line(const runner *r, line *l)
{
    const hr_image_program *p = r->p;
    const float *in = as_float(r, l, NULL);
    float *out = (float *)other_scratch(r, l->at, in);
    size_t channels = l->channels, elements = line_elements(r, l);
    for (size_t c = 0; c < channels; c++) {
        size_t at = r->map.plane_outer >= 0 ? (size_t)r->plane : HR_MIN(c, HR_CHANNELS_MAX - 1);
        float mean = p->mean[HR_MIN(at, HR_CHANNELS_MAX - 1)];
        float mul = p->mul[HR_MIN(at, HR_CHANNELS_MAX - 1)];
        for (size_t i = c; i < elements; i += channels)
            out[i] = (in[i] - mean) * mul;
    }
    *l = (line){out, HR_DTYPE_FLOAT, channels};
    to_type(r, l, p->dtype);
}

#define SCATTER(type)                                                                              \
    static void scatter_##type(type *dst, size_t step, const type *src, size_t n, size_t channels, \
                               bool mirror)                                                        \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            dst[i * step] = src[(mirror ? n - 1 - i : i) * channels];                              \
    }
SCATTER(uint8_t)
SCATTER(uint16_t)
SCATTER(uint32_t)
SCATTER(uint64_t)

static void scatter(const runner *r, char *dst, const char *row)
{
    size_t n = (size_t)r->map.inside.w, channels = (size_t)r->p->out_channels;
    bool mirror = r->p->mirror_x;
    for (size_t c = 0; c < channels; c++) {
        char *to = dst + c * r->map.c * r->element;
        const char *from = row + c * r->element;
        if (r->element == 1)
            scatter_uint8_t((uint8_t *)to, r->map.x, (const uint8_t *)from, n, channels, mirror);
        else if (r->element == 2)
            scatter_uint16_t((uint16_t *)to, r->map.x, (const uint16_t *)from, n, channels, mirror);
        else if (r->element == 4)
            scatter_uint32_t((uint32_t *)to, r->map.x, (const uint32_t *)from, n, channels, mirror);
        else
            scatter_uint64_t((uint64_t *)to, r->map.x, (const uint64_t *)from, n, channels, mirror);
    }
}

/* Copies n pixels of `size` bytes in reverse order. `size` is a constant wherever this is inlined.
 */
static inline void reverse(char *dst, const char *row, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++)
        memcpy(dst + i * size, row + (n - 1 - i) * size, size);
}

/* Pixels of three floats: moves 16 bytes at a time; the next pixel overwrites the excess. */
static void reverse_12(char *dst, const char *row, size_t n)
{
    if (n == 0)
        return;
    memcpy(dst, row + (n - 1) * 12, 12);
    for (size_t i = 1; i + 1 < n; i++)
        memcpy(dst + i * 12, row + (n - 1 - i) * 12, 16);
    memcpy(dst + (n - 1) * 12, row, 12);
}

static void mirror_pixels(char *dst, const char *row, size_t n, size_t size)
{
    if (size == 12)
        reverse_12(dst, row, n);
    else if (size == 6)
        reverse(dst, row, n, 6);
    else if (size == 4)
        reverse(dst, row, n, 4);
    else
        reverse(dst, row, n, size);
}

/* Normalises and stores in one kernel; false if no kernel fits. */
static bool store_normalized(const runner *r, char *dst, const void *row)
{
    const hr_image_program *p = r->p;
    size_t n = (size_t)r->map.inside.w;
    size_t at = r->map.plane_outer >= 0 ? (size_t)HR_MIN(r->plane, HR_CHANNELS_MAX - 1) : 0;
    const float *mean = p->mean + at, *mul = p->mul + at;
    if (p->out_channels > 4)
        return false;
    if (r->map.x == 1 && p->dtype == HR_DTYPE_FLOAT)
        r->kernels->norm_u8_chw_f32((float *)dst, r->map.c, row, n, p->out_channels, mean, mul,
                                    p->mirror_x);
    else if (r->map.x == 1 && p->dtype == HR_DTYPE_FLOAT16)
        r->kernels->norm_u8_chw_f16((uint16_t *)dst, r->map.c, row, n, p->out_channels, mean, mul,
                                    p->mirror_x);
    else if (r->interleaved && p->dtype == HR_DTYPE_FLOAT)
        r->kernels->norm_u8_hwc_f32((float *)dst, p->out_channels, row, n, p->out_channels, mean,
                                    mul, p->mirror_x);
    else
        return false;
    return true;
}

static void store_row(const runner *r, char *dst, const char *row)
{
    const hr_image_program *p = r->p;
    size_t n = (size_t)r->map.inside.w;
    if (!r->interleaved)
        scatter(r, dst, row);
    else if (!p->mirror_x)
        memcpy(dst, row, n * (size_t)p->out_channels * r->element);
    else if (r->element == 1 && p->out_channels <= 4)
        r->kernels->mirror_u8((uint8_t *)dst, (const uint8_t *)row, n, p->out_channels);
    else
        mirror_pixels(dst, row, n, (size_t)p->out_channels * r->element);
}

/* Makes row y of the part of the window that exists, at the output address `dst`. */
static hr_status make_row(runner *r, int64_t y, char *dst, hr_error *error)
{
    const hr_image_program *p = r->p;
    bool as_made = r->interleaved && !p->mirror_x && !p->normalize;
    bool direct = as_made && p->point_count == 0 && r->rows.kind != HR_ROWS_KIND_COPY;
    HR_TRY(hr__rows_want(&r->rows, y, error));
    const void *row = hr__rows_read(&r->rows, y, direct ? dst : r->scratch[0]);
    if (direct)
        return HR_STATUS_OK;
    line l = {row, p->resampled, (size_t)p->channels};
    apply_points(r, &l, as_made ? dst : NULL);
    if (l.at == dst)
        return HR_STATUS_OK;
    if (p->normalize) {
        if (l.dtype == HR_DTYPE_UINT8 && store_normalized(r, dst, l.at))
            return HR_STATUS_OK;
        normalize_line(r, &l);
    }
    store_row(r, dst, l.at);
    return HR_STATUS_OK;
}

/* Repeats the first `step` bytes at `to` until `n` bytes are written. */
static void repeat(char *to, size_t step, size_t n)
{
    for (size_t done = step, total = step * n; done < total;) {
        size_t more = HR_MIN(done, total - done);
        memcpy(to + done, to, more);
        done += more;
    }
}

/* Channels written per output image, added ones included. */
static size_t channels_written(const runner *r)
{
    const hr_image_program *p = r->p;
    return (size_t)(r->map.plane_outer < 0 ? HR_MAX(p->out_channels, p->pad_channels)
                                           : p->out_channels);
}

/* Writes the fill of channels [c0, c1) into `n` pixels; `dst` is the first one's channel 0. */
static void fill_pixels(const runner *r, char *dst, size_t n, size_t c0, size_t c1)
{
    size_t element = r->element, step = r->map.x * element;
    bool pixels = r->map.c == 1 && r->map.x == c1 - c0; /* adjacent in memory */

    for (size_t c = c0; c < c1 && n > 0; c++) {
        size_t at = r->map.plane_outer >= 0 ? (size_t)r->plane : c;
        const char *value = r->fill[HR_MIN(at, HR_CHANNELS_MAX - 1)];
        char *to = dst + c * r->map.c * element;
        memcpy(to, value, element);
        if (step == element)
            repeat(to, element, n);
        else
            for (size_t i = 1; i < n && !pixels; i++)
                memcpy(to + i * step, value, element);
    }
    if (pixels && step > element && n > 0)
        repeat(dst + c0 * element, step, n);
}

static hr_status run_row(runner *r, int64_t oy, char *dst, hr_error *error)
{
    const hr_image_program *p = r->p;
    const hr_window in = r->map.inside;
    size_t channels = (size_t)p->out_channels, width = (size_t)p->window.w;
    int64_t y = (p->mirror_y ? p->window.h - 1 - oy : oy) - in.y;
    if (y < 0 || y >= in.h) {
        fill_pixels(r, dst, width, 0, channels);
    } else {
        size_t left = (size_t)(p->mirror_x ? p->window.w - (in.x + in.w) : in.x);
        size_t end = left + (size_t)in.w;
        HR_TRY(make_row(r, y, dst + left * r->map.x * r->element, error));
        fill_pixels(r, dst, left, 0, channels);
        fill_pixels(r, dst + end * r->map.x * r->element, width - end, 0, channels);
    }
    if (channels_written(r) > channels)
        fill_pixels(r, dst, width, channels, channels_written(r));
    return HR_STATUS_OK;
}

/* The source's index of outer dimension `i`. */
static int64_t outer_at(const hr_image_program *p, const int64_t *index, int32_t i)
{
    const hr_outer *outer = &p->outer[i];
    return outer->start + (outer->reverse ? outer->count - 1 - index[i] : index[i]);
}

/* What depends on the frame and the slice. */
static void set_place(runner *r, const int64_t *index)
{
    const hr_image_program *p = r->p;
    r->frame = 0;
    r->rows.slice = 0;
    for (int32_t i = 0; i < p->outer_count; i++) {
        if (p->outer[i].letter == 'F')
            r->frame = outer_at(p, index, i);
        if (p->outer[i].letter == 'D' && p->gather.axes == 3)
            r->rows.slice = outer_at(p, index, i);
    }
    r->rows.map = p->map_count > 1 ? p->maps + (r->frame - p->first_frame) : p->maps;
}

/* The image at `index` of the outer dimensions. */
static hr_status run_image(runner *r, const int64_t *index, hr_error *error)
{
    const hr_image_program *p = r->p;
    size_t to = 0;
    int64_t from = p->depth_first;
    bool added = r->map.all_fill; /* the whole image is fill */
    for (int32_t i = 0; i < p->outer_count; i++) {
        added |= index[i] < r->map.first[i] || index[i] - r->map.first[i] >= r->map.count[i];
        to += (size_t)index[i] * r->map.outer[i];
    }
    for (int32_t i = 0; i < p->outer_count && !added; i++)
        from += outer_at(p, index, i) * p->outer[i].stride;
    if (!added)
        set_place(r, index);
    r->plane = r->map.plane_outer >= 0 ? (int32_t)index[r->map.plane_outer] : 0;
    char *dst = r->out + to * r->element;
    if (!added) {
        const char *data = p->data;
        size_t element = hr_dtype_size(p->src_dtype);
        HR_TRY(
            hr__rows_image(&r->rows, data != NULL ? data + (size_t)from * element : NULL, error));
    }
    for (int64_t oy = 0; oy < p->window.h; oy++) {
        char *row = dst + (size_t)oy * r->map.y * r->element;
        if (added)
            fill_pixels(r, row, (size_t)p->window.w, 0, channels_written(r));
        else
            HR_TRY(run_row(r, oy, row, error));
    }
    return HR_STATUS_OK;
}

/* A program that only decodes does so directly into the output. */
static bool is_plain_decode(const runner *r)
{
    const hr_image_program *p = r->p;
    return p->coded.decode != NULL && !p->resample && p->gather.axes == 0 && !p->has_fill &&
           p->point_count == 0 && !p->normalize && !p->mirror_x && !p->mirror_y && r->interleaved &&
           r->map.y == r->map.x * (size_t)p->window.w && p->pad_channels == 0;
}

static hr_status run_images(runner *r, hr_op_call *c, bool whole, hr_error *error)
{
    const hr_image_program *p = r->p;
    if (is_plain_decode(r)) {
        hr_window window = {p->clamp.y + p->window.y, p->clamp.x + p->window.x, p->window.h,
                            p->window.w};
        return p->coded.decode(p->coded.context, window, r->out, r->map.y * r->element, c, error);
    }
    if (!r->map.all_fill) {
        hr_window view = {p->window.y + r->map.inside.y, p->window.x + r->map.inside.x,
                          r->map.inside.h, r->map.inside.w};
        HR_TRY(hr__rows_init(&r->rows, p, c, view, whole, error));
    }
    int64_t index[HR_OUTER_MAX] = {0};
    for (;;) {
        HR_TRY(run_image(r, index, error));
        int32_t i = p->outer_count - 1;
        for (; i >= 0; i--) {
            if (++index[i] < hr_program_extent(p, p->outer[i].letter))
                break;
            index[i] = 0;
        }
        if (i < 0)
            return HR_STATUS_OK;
    }
}

static hr_status run(const hr_image_program *p, hr_op_call *c, void *out, bool whole,
                     hr_error *error)
{
    runner r;
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_status status = init_runner(&r, p, c, out, error);
    if (status == HR_STATUS_OK && r.map.total > 0)
        status = run_images(&r, c, whole, error);
    hr_arena_restore(c->arena, mark);
    return status;
}

hr_status hr_program_run(const hr_image_program *p, hr_op_call *c, void *out, hr_error *error)
{
    hr_status status = run(p, c, out, false, error);
    /* The source cannot be read by rows after all: start again from its whole window. */
    return status == HR_STATUS_NOT_FUSABLE ? run(p, c, out, true, error) : status;
}
