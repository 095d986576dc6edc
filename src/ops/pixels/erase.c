/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* erase: overwrites regions of a tensor. */
#include "ops/pixels/erase.h"
#include "core/core.h"
#include "headrace/operator.h"

#include <math.h>
#include <string.h>

typedef struct erase_args {
    hr_floats anchor, shape, fill_value;
    hr_ints axes;
    const char *axis_names;
    int32_t centered_anchor, normalized, normalized_anchor, normalized_shape;
} erase_args;

/* The axes that the lists name. */
static hr_status axes_find(const erase_args *a, const hr_tensor *in, int32_t *axis, int32_t *count,
                           hr_error *error)
{
    int32_t given = a->axis_names ? (int32_t)strlen(a->axis_names) : a->axes.v ? a->axes.n : 0;

    if (given > HR_MAX_NDIM)
        return hr_fail(error, HR_STATUS_ERROR, "more axes are given than a tensor has");
    *count = given;
    for (int32_t i = 0; i < given; i++) {
        axis[i] = a->axis_names ? hr_layout_find(&in->layout, a->axis_names[i]) : a->axes.v[i];
        if (a->axis_names && axis[i] < 0)
            return hr_fail(error, HR_STATUS_ERROR, "the layout %s has no axis %c", in->layout.name,
                           a->axis_names[i]);
        if (axis[i] < 0 || axis[i] >= in->shape.ndim)
            return hr_fail(error, HR_STATUS_ERROR, "the input has no axis %d", (int)axis[i]);
    }
    for (int32_t d = 0; d < in->shape.ndim && !a->axis_names && !a->axes.v; d++)
        if (in->layout.name[0] != '\0' && in->layout.name[d] != 'C')
            axis[(*count)++] = d;
    if (*count == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the axes are not known: give `axes`, or an input with a layout");
    return HR_STATUS_OK;
}

/* Truncated, and within reach of an integer. */
static int64_t truncated(float v)
{
    const float far = 0x1p62f;
    return isnan(v) ? 0 : (int64_t)HR_MAX(HR_MIN(v, far), -far);
}

/* Sets the region, clipped to the tensor; false if nothing is left of it. */
static bool box_make(const erase_args *a, const int64_t *extent, int32_t first_axis,
                     const int32_t *axis, int32_t axes, int32_t region, hr_erase_box *box)
{
    bool norm_anchor = a->normalized == 1 || a->normalized_anchor == 1;
    bool norm_shape = a->normalized == 1 || a->normalized_shape == 1;
    bool some = true;

    for (int32_t i = 0; i < HR_ERASE_AXES; i++) {
        box->start[i] = 0;
        box->end[i] = extent[i];
    }
    for (int32_t i = 0; i < axes; i++) {
        int32_t at = first_axis + axis[i], k = region * axes + i;
        float size = (float)extent[at], start = a->anchor.n > 0 ? a->anchor.v[k] : 0.0f;
        float length = norm_shape ? a->shape.v[k] * size : a->shape.v[k];
        if (norm_anchor)
            start *= size;
        if (a->centered_anchor)
            start -= length / 2.0f;
        box->start[at] = HR_MAX(truncated(start), 0);
        box->end[at] = HR_MIN(truncated(start + length), extent[at]);
    }
    for (int32_t i = 0; i < HR_ERASE_AXES; i++)
        some = some && box->start[i] < box->end[i];
    return some;
}

/* As C converts: fractions are cut off, and integers wrap. */
static uint64_t fill_make(float v, hr_dtype dtype)
{
    uint64_t element = 0;

    if (hr_dtype_is_float(dtype))
        hr_convert(&element, dtype, &v, HR_DTYPE_FLOAT, 1);
    else
        element = (uint64_t)truncated(v);
    return element;
}

static hr_status fills_make(const erase_args *a, const hr_tensor *in, hr_arena *arena, hr_erase *e,
                            hr_error *error)
{
    int32_t channel = hr_layout_find(&in->layout, 'C'), n = a->fill_value.n;
    uint64_t *fills = hr_arena_alloc(arena, (size_t)HR_MAX(n, 1) * sizeof(*fills), error);

    HR_TRY_ALLOC(fills);
    if (n > 1 && channel < 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`fill_value` has %d elements, but the layout of the input has no C", n);
    if (n > 1 && in->shape.extent[channel] != n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`fill_value` has %d elements; give one, or one per channel (%lld)", n,
                       (long long)in->shape.extent[channel]);
    fills[0] = 0;
    for (int32_t i = 0; i < n; i++)
        fills[i] = fill_make(a->fill_value.v[i], in->dtype);
    e->fills = fills;
    e->fill_count = HR_MAX(n, 1);
    e->channels = n > 1 ? channel + HR_ERASE_AXES - in->shape.ndim : -1;
    return HR_STATUS_OK;
}

static hr_status boxes_make(const erase_args *a, const hr_tensor *in, hr_arena *arena, hr_erase *e,
                            hr_error *error)
{
    int32_t axis[2 * HR_MAX_NDIM], axes = 0, first = HR_ERASE_AXES - in->shape.ndim;

    if (a->shape.n == 0 && a->anchor.n == 0)
        return HR_STATUS_OK;
    HR_TRY(axes_find(a, in, axis, &axes, error));
    if ((a->anchor.n > 0 && a->anchor.n != a->shape.n) || a->shape.n % axes != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`anchor` has %d and `shape` %d elements; both need %d per region",
                       (int)a->anchor.n, (int)a->shape.n, (int)axes);
    int32_t regions = a->shape.n / axes;
    hr_erase_box *boxes = hr_arena_alloc(arena, (size_t)regions * sizeof(*boxes), error);
    HR_TRY_ALLOC(boxes);
    for (int32_t r = 0; r < regions; r++)
        e->count += box_make(a, e->extent, first, axis, axes, r, &boxes[e->count]);
    e->boxes = boxes;
    return HR_STATUS_OK;
}

static hr_status erase_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_erase *e = hr_arena_alloc(c->arena, sizeof(*e), error);

    HR_TRY_ALLOC(e);
    if (in->dtype == HR_DTYPE_FLOAT64 || in->dtype == HR_DTYPE_BOOL)
        return hr_fail(error, HR_STATUS_ERROR, "the input cannot be %s", hr_dtype_name(in->dtype));
    if (in->shape.ndim < 1 || in->shape.ndim > HR_ERASE_AXES)
        return hr_fail(error, HR_STATUS_ERROR, "the input has %d dimensions; it must have 1 to %d",
                       (int)in->shape.ndim, HR_ERASE_AXES);
    memset(e, 0, sizeof(*e));
    for (int32_t i = 0; i < HR_ERASE_AXES; i++)
        e->extent[i] = i < HR_ERASE_AXES - in->shape.ndim
                           ? 1
                           : in->shape.extent[i - (HR_ERASE_AXES - in->shape.ndim)];
    HR_TRY(fills_make(c->args, in, c->arena, e, error));
    HR_TRY(boxes_make(c->args, in, c->arena, e, error));
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, in->layout.name);
    c->memo = e;
    return HR_STATUS_OK;
}

/* ---- on the CPU ---- */

/* The fills of `count` consecutive elements. With a channel axis, its index is `first` for the
 * first of them, and rises after every `each` elements; each = 0: it is the same for all. */
static void pattern_make(const hr_erase *e, int64_t first, int64_t each, size_t count, size_t size,
                         char *to)
{
    for (size_t i = 0; i < count; i++) {
        int64_t at = e->channels < 0 ? 0
                     : each == 0     ? first
                                     : (first + (int64_t)i / each) % e->fill_count;
        memcpy(to + i * size, &e->fills[at], size);
    }
}

/* Erased elements follow one another in runs: whole rows of the last axis, or a part of each. */
static void box_erase(const hr_erase *e, const hr_erase_box *b, size_t size, char *data,
                      char *pattern)
{
    const int64_t *n = e->extent;
    bool whole = b->start[4] == 0 && b->end[4] == n[4];
    int64_t rows = whole ? b->end[3] - b->start[3] : 1, part = b->end[4] - b->start[4];
    size_t run = (size_t)(rows * part);
    int64_t each = e->channels == 4 ? 1 : e->channels == 3 && whole ? n[4] : 0;
    int64_t at[HR_ERASE_AXES] = {b->start[0], b->start[1], b->start[2], b->start[3], b->start[4]};
    int64_t made = -1;

    for (;;) {
        int64_t channel = e->channels < 0 ? 0 : at[e->channels];
        if (channel != made)
            pattern_make(e, channel, each, run, size, pattern);
        made = channel;
        int64_t offset = (((at[0] * n[1] + at[1]) * n[2] + at[2]) * n[3] + at[3]) * n[4] + at[4];
        memcpy(data + (size_t)offset * size, pattern, run * size);
        int32_t d = whole ? 2 : 3;
        while (d >= 0 && ++at[d] == b->end[d]) {
            at[d] = b->start[d];
            d--;
        }
        if (d < 0)
            return;
    }
}

static hr_status erase_run(hr_op_call *c, hr_error *error)
{
    const hr_erase *e = c->memo;
    size_t bytes, most = 0, size = hr_dtype_size(c->in[0].dtype);

    if (!hr_tensor_bytes(&c->in[0], &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    if (bytes == 0)
        return HR_STATUS_OK;
    memcpy(c->out[0].data, c->in[0].data, bytes);
    for (int32_t i = 0; i < e->count; i++) {
        const hr_erase_box *b = &e->boxes[i];
        size_t run = (size_t)((b->end[3] - b->start[3]) * (b->end[4] - b->start[4]));
        most = HR_MAX(most, run);
    }
    char *pattern = hr_arena_alloc(c->arena, most * size, error);
    HR_TRY_ALLOC(pattern);
    for (int32_t i = 0; i < e->count; i++)
        box_erase(e, &e->boxes[i], size, c->out[0].data, pattern);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_erase = {
    HR_OP("erase"),
    .doc = "Overwrites one or more regions of the input. Parts of regions outside the input are "
           "ignored.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        erase_args,
        HR_ARG(erase_args, anchor, FLOATS, HR_ARG_PER_SAMPLE, "[]",
               "Starts of the regions, one number per axis and region: y0, x0, y1, x1, ... "
               "Default: 0. Starts and ends are truncated to integers."),
        HR_ARG(erase_args, shape, FLOATS, HR_ARG_PER_SAMPLE, "[]",
               "Extents of the regions, in the same order: h0, w0, h1, w1, ..."),
        HR_ARG(erase_args, fill_value, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_SCALAR_OK, "[0.0]",
               "Value of erased elements: one, or one per channel."),
        HR_ARG(erase_args, axes, INTS, HR_ARG_OPTIONAL, "[1, 0]",
               "Axes that the numbers in `anchor` and `shape` refer to. Not used if `axis_names` "
               "is given. Default: all axes except the channels, in the order of the layout."),
        HR_ARG(erase_args, axis_names, STRING, HR_ARG_OPTIONAL, "\"HW\"",
               "Like `axes`, as letters of the layout."),
        HR_ARG(erase_args, centered_anchor, BOOL, 0, "False",
               "Whether anchors are the centres of the regions."),
        HR_ARG(erase_args, normalized, BOOL, HR_ARG_OPTIONAL, "False",
               "Whether anchors and shapes are fractions of the input's extents.",
               .excludes = "normalized_anchor|normalized_shape"),
        HR_ARG(erase_args, normalized_anchor, BOOL, HR_ARG_OPTIONAL, "False",
               "Whether anchors are fractions of the input's extents."),
        HR_ARG(erase_args, normalized_shape, BOOL, HR_ARG_OPTIONAL, "False",
               "Whether shapes are fractions of the input's extents.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = erase_infer,
    .run = erase_run,
};
