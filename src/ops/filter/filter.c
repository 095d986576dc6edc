/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* filter: correlates images with a given kernel. A row of the output is a sum of shifted rows of
 * the input, so one kernel for sums of rows does all the work. */
#include "ops/filter/filter.h"
#include "kernels/kernels.h"
#include "ops/common/border.h"
#include "ops/common/word.h"
#include "ops/filter/axes.h"

#include <string.h>

typedef struct filter_args {
    hr_ints anchor;
    const char *border, *mode;
    int32_t dtype;
} filter_args;

static hr_status filter_check(const void *args, const hr_given *given, hr_error *error)
{
    const filter_args *a = args;

    hr_border border;

    (void)given;
    if (!hr__border_named(a->border, &border))
        return hr_fail(error, HR_STATUS_ERROR,
                       "unknown `border` \"%s\"; use reflect_101, reflect_1001, wrap, clamp or "
                       "constant",
                       a->border);
    if (!hr__same_word(a->mode, "same") && !hr__same_word(a->mode, "valid"))
        return hr_fail(error, HR_STATUS_ERROR, "unknown `mode` \"%s\"; use same or valid", a->mode);
    return HR_STATUS_OK;
}

static hr_status read_shapes(const hr_op_call *c, hr_filter2d *m, hr_data_axes *axes,
                             hr_error *error)
{
    const hr_tensor *in = &c->in[0], *filter = &c->in[1];
    const int64_t *extent = in->shape.extent;
    int32_t lead = filter->layout.name[0] == 'F';

    HR_TRY(hr__data_axes(&in->layout, in->shape.ndim, axes, error));
    if (axes->count != 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %d dimensions to filter, other than frames and channels; on "
                       "the CPU it must have 2",
                       (int)axes->count);
    if (filter->dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the filter is %s; it must be FLOAT",
                       hr_dtype_name(filter->dtype));
    if (filter->shape.ndim != 2 + lead)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the filter has %d dimensions; it must have 2, after frames (layout F...) "
                       "if there is one per frame",
                       (int)filter->shape.ndim);
    *m = (hr_filter2d){.outer = 1, .per_frame = 1, .channels = 1, .filters = lead};
    for (int32_t d = 0; d < axes->first; d++) {
        m->outer *= (size_t)extent[d];
        m->per_frame *= d == 0 && axes->frames ? 1 : (size_t)extent[d];
    }
    for (int32_t d = axes->first + 2; d < in->shape.ndim; d++)
        m->channels *= extent[d];
    if (m->channels == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the input has no channels");
    m->height = extent[axes->first];
    m->width = extent[axes->first + 1];
    if (lead && (!axes->frames || filter->shape.extent[0] != extent[0]))
        return hr_fail(error, HR_STATUS_ERROR,
                       "there are %lld filters for %lld frames; there must be one for each frame",
                       (long long)filter->shape.extent[0],
                       axes->frames ? (long long)extent[0] : 0LL);
    if (filter->shape.extent[lead] < 1 || filter->shape.extent[lead] > INT16_MAX ||
        filter->shape.extent[lead + 1] < 1 || filter->shape.extent[lead + 1] > INT16_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the filter has %lld x %lld elements; each axis must have 1 to 32767",
                       (long long)filter->shape.extent[lead],
                       (long long)filter->shape.extent[lead + 1]);
    m->rows = (int32_t)filter->shape.extent[lead];
    m->columns = (int32_t)filter->shape.extent[lead + 1];
    return HR_STATUS_OK;
}

static hr_status check_types(const hr_op_call *c, hr_dtype *out, hr_error *error)
{
    const filter_args *a = c->args;
    hr_dtype in = c->in[0].dtype;

    if (in != HR_DTYPE_UINT8 && in != HR_DTYPE_UINT16 && in != HR_DTYPE_INT16 &&
        in != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s; it must be UINT8, UINT16, INT16 or FLOAT",
                       hr_dtype_name(in));
    if (c->n_in > 2 && (c->in[2].shape.ndim != 0 || c->in[2].dtype != in))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the fill value is %s with %d dimensions; it must be one number of the "
                       "input's type, %s",
                       hr_dtype_name(c->in[2].dtype), (int)c->in[2].shape.ndim, hr_dtype_name(in));
    return hr__filtered_dtype(a->dtype, in, out, error);
}

/* The anchors of the filter, one or one per frame. */
static hr_status find_anchors(hr_op_call *c, hr_filter2d *m, hr_error *error)
{
    const filter_args *a = c->args;
    const int32_t extent[2] = {m->rows, m->columns};

    m->anchor_count = HR_MAX(a->anchor.frames, 1);
    hr_anchor *anchors =
        hr_arena_alloc(c->arena, (size_t)m->anchor_count * sizeof(*anchors), error);
    HR_TRY_ALLOC(anchors);
    for (int32_t f = 0; f < m->anchor_count; f++) {
        const hr_ints given = hr__frame_ints(a->anchor, f);
        int32_t at[2];
        HR_TRY(hr__axis_count_check("anchor", given.n, 2, error));
        for (int32_t i = 0; i < 2; i++) {
            int32_t v = given.v[given.n == 1 ? 0 : i];
            if (v < -1 || v >= extent[i])
                return hr_fail(error, HR_STATUS_ERROR,
                               "the anchor %d is outside the filter of %d x %d elements", (int)v,
                               (int)m->rows, (int)m->columns);
            at[i] = hr__same_word(a->mode, "valid") ? 0 : v == -1 ? extent[i] / 2 : v;
        }
        anchors[f] = (hr_anchor){at[0], at[1]};
    }
    m->anchors = anchors;
    return HR_STATUS_OK;
}

static hr_status filter_infer(hr_op_call *c, hr_error *error)
{
    const filter_args *a = c->args;
    hr_filter2d *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    hr_shape shape = c->in[0].shape;
    hr_data_axes axes;
    hr_dtype dtype;

    HR_TRY_ALLOC(m);
    HR_TRY(check_types(c, &dtype, error));
    HR_TRY(read_shapes(c, m, &axes, error));
    HR_TRY(hr__frame_count_check("anchor", a->anchor.frames, &axes,
                                 axes.frames ? shape.extent[0] : 0, error));
    HR_TRY(find_anchors(c, m, error));
    hr__border_named(a->border, &m->border);
    m->out_height = m->height;
    m->out_width = m->width;
    if (hr__same_word(a->mode, "valid")) {
        m->out_height -= m->rows - 1;
        m->out_width -= m->columns - 1;
    }
    if (m->out_height < 1 || m->out_width < 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the image of %lld x %lld pixels (height x width) is too small for a "
                       "filter of %d x %d elements",
                       (long long)m->height, (long long)m->width, (int)m->rows, (int)m->columns);
    shape.extent[axes.first] = m->out_height;
    shape.extent[axes.first + 1] = m->out_width;
    hr_tensor_describe(&c->out[0], dtype, shape, c->in[0].layout.name);
    c->memo = m;
    return HR_STATUS_OK;
}

/* ---- borders ---- */

static void to_float(const hr_op_call *c, float *dst, const void *src, hr_dtype dtype, size_t n)
{
    if (dtype == HR_DTYPE_UINT8)
        c->kernels->u8_to_f32(dst, src, n);
    else if (dtype == HR_DTYPE_INT16)
        c->kernels->i16_to_f32(dst, src, n);
    else if (dtype == HR_DTYPE_UINT16)
        c->kernels->u16_to_f32(dst, src, n);
    else
        memcpy(dst, src, n * sizeof(*dst));
}

/* The rows of a padded image as floats. As many as the filter has are kept. */
typedef struct padded_rows {
    const hr_op_call *c;
    const hr_filter2d *m;
    const uint8_t *image;
    float fill;
    int32_t top, left; /* rows and columns of the border, before the image */
    size_t size;       /* floats of a row */
    float *rows;
    int64_t next; /* the first row that was not made yet; -top is the first one */
} padded_rows;

static void pad_columns(const padded_rows *p, float *row, int64_t begin, int64_t end)
{
    size_t channels = (size_t)p->m->channels;
    for (int64_t x = begin; x < end; x++) {
        int64_t from = border_index(x, p->m->width, p->m->border);
        float *dst = row + (size_t)(x + p->left) * channels;
        const float *src = row + (size_t)(HR_MAX(from, 0) + p->left) * channels;
        for (size_t k = 0; k < channels; k++)
            dst[k] = from < 0 ? p->fill : src[k];
    }
}

static void make_row(const padded_rows *p, int64_t y, float *row)
{
    int64_t from = border_index(y, p->m->height, p->m->border), width = p->m->width;
    size_t n = (size_t)(width * p->m->channels);
    hr_dtype dtype = p->c->in[0].dtype;

    if (from < 0) {
        for (size_t i = 0; i < p->size; i++)
            row[i] = p->fill;
        return;
    }
    to_float(p->c, row + (size_t)p->left * (size_t)p->m->channels,
             p->image + (size_t)from * n * hr_dtype_size(dtype), dtype, n);
    pad_columns(p, row, -p->left, 0);
    pad_columns(p, row, width, (int64_t)(p->size / (size_t)p->m->channels) - p->left);
}

/* Row y of the padded image; rows are asked for from top to bottom. */
static float *row_at(padded_rows *p, int64_t y)
{
    size_t rows = (size_t)p->m->rows;
    for (; p->next <= y; p->next++)
        make_row(p, p->next, p->rows + (size_t)(p->next + p->top) % rows * p->size);
    return p->rows + (size_t)(y + p->top) % rows * p->size;
}

/* ---- one image ---- */

typedef struct scratch {
    float *rows, *line;
    const float **taps; /* the shifted rows of one output row */
} scratch;

/* Rounds a row of sums to the nearest integers, ties to even, and stores it. Next to 1.5 * 2^23, no
 * float has a fraction. Larger sums than 2^22 saturate. */
static void store_row(const hr_kernels *k, void *dst, float *line, hr_dtype dtype, size_t n)
{
    const float magic = 12582912.0f;

    if (dtype == HR_DTYPE_FLOAT) {
        memcpy(dst, line, n * sizeof(*line));
        return;
    }
    k->affine_f32(line, line, n, 1.0f, magic);
    k->affine_f32(line, line, n, 1.0f, -magic);
    if (dtype == HR_DTYPE_UINT8)
        k->f32_to_u8(dst, line, n);
    else
        hr_convert(dst, dtype, line, HR_DTYPE_FLOAT, n);
}

static void filter_image(padded_rows *p, const float *filter, const scratch *s, uint8_t *dst,
                         hr_dtype dtype)
{
    const hr_filter2d *m = p->m;
    size_t n = (size_t)(m->out_width * m->channels), step = (size_t)m->channels;
    int32_t taps = m->rows * m->columns;

    for (int64_t y = 0; y < m->out_height; y++) {
        for (int32_t r = 0; r < m->rows; r++) {
            const float *row = row_at(p, y - p->top + r);
            for (int32_t k = 0; k < m->columns; k++)
                s->taps[r * m->columns + k] = row + (size_t)k * step;
        }
        p->c->kernels->vfilter_f32(s->line, s->taps, filter, taps, n);
        store_row(p->c->kernels, dst + (size_t)y * n * hr_dtype_size(dtype), s->line, dtype, n);
    }
}

static hr_status filter_one(const hr_op_call *c, hr_error *error)
{
    const hr_filter2d *m = c->memo;
    hr_dtype in = c->in[0].dtype, out = c->out[0].dtype;
    size_t in_size = (size_t)(m->height * m->width * m->channels) * hr_dtype_size(in);
    size_t out_size = (size_t)(m->out_height * m->out_width * m->channels) * hr_dtype_size(out);
    size_t taps = (size_t)m->rows * (size_t)m->columns;
    padded_rows p = {.c = c, .m = m};
    scratch s;

    p.size = (size_t)(m->out_width + m->columns - 1) * (size_t)m->channels;
    /* vfilter_f32 may read and write up to 63 elements more. */
    s.rows = hr_arena_alloc(c->arena, ((size_t)m->rows * p.size + 64) * sizeof(float), error);
    s.line = hr_arena_alloc(c->arena, (p.size + 64) * sizeof(float), error);
    s.taps = hr_arena_alloc(c->arena, taps * sizeof(*s.taps), error);
    HR_TRY_ALLOC(s.rows && s.line && s.taps);
    p.rows = s.rows;
    if (c->n_in > 2)
        to_float(c, &p.fill, c->in[2].data, in, 1);
    for (size_t i = 0; i < m->outer; i++) {
        int64_t frame = (int64_t)(i / m->per_frame);
        const hr_anchor *anchor = &m->anchors[m->anchor_count == 1 ? 0 : frame];
        p.top = anchor->row;
        p.left = anchor->column;
        p.next = -p.top;
        p.image = (const uint8_t *)c->in[0].data + i * in_size;
        filter_image(&p, (const float *)c->in[1].data + (m->filters ? (size_t)frame * taps : 0), &s,
                     (uint8_t *)c->out[0].data + i * out_size, out);
    }
    return HR_STATUS_OK;
}

static hr_status filter_run(hr_op_call *c, hr_error *error)
{
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_status status = filter_one(c, error);
    hr_arena_restore(c->arena, mark);
    return status;
}

const hr_op_def hr_op_filter = {
    HR_OP("filter"),
    .doc = "Correlates images with a filter (the filter is not flipped). The first input has two "
           "dimensions besides frames and channels; its type is UINT8, UINT16, INT16 or FLOAT. The "
           "second input is the filter, of type FLOAT and shape (rows, columns), or (frames, rows, "
           "columns) with a layout that begins with F. The third input is optional: the value of "
           "pixels outside the image. Integer results are rounded to the nearest integer, ties to "
           "even.",
    .aliases = HR_NAMES("experimental.filter"),
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(
        filter_args,
        HR_ARG(filter_args, anchor, INTS, HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK,
               "[-1]",
               "Row and column of the filter element that lies on the pixel being computed; one "
               "number stands for both. -1: the middle, extent // 2. Not used if `mode` is "
               "\"valid\"."),
        HR_ARG(
            filter_args, border, STRING, 0, "\"reflect_101\"",
            "Pixels outside the image: \"reflect_101\" (dcb|abcd|cba), \"reflect_1001\" or "
            "\"reflect\" (cba|abcd|dcb), \"wrap\" (bcd|abcd|abc), \"clamp\" or \"edge\" "
            "(aaa|abcd|ddd), or \"constant\", \"fill\" or \"pad\": the third input (default: 0)."),
        HR_ARG(filter_args, mode, STRING, 0, "\"same\"",
               "\"same\": the output has the size of the input. \"valid\": only pixels for which "
               "the filter lies within the image."),
        HR_ARG(filter_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
               "Type of the output: that of the input (default) or FLOAT.")),
    .in = HR_INPUTS({.name = "data"}, {.name = "filter"}, {.name = "fill_value"}),
    .in_min = 2,
    .check = filter_check,
    .infer = filter_infer,
    .run = filter_run,
};
