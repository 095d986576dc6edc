/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* rotate: rotates pictures about their centre, volumes about an axis through their centre, and
 * frames by an angle each. */
#include "ops/image/pixels.h"
#include "ops/image/rotate_warp.h"

#include "headrace/operator.h"

#include <math.h>
#include <string.h>

#define LAYOUTS "HWC|FHWC|DHWC|FDHWC"

typedef struct rotate_args {
    hr_floats angle, axis, size;
    int32_t dtype, interp_type, keep_size;
    float fill_value;
} rotate_args;

static const hr_arg_def rotate_arg_defs[] = {
    HR_ARG(rotate_args, angle, FLOATS,
           HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK, NULL,
           "Angle in degrees, one per sample or per frame. Pictures rotate counter-clockwise. "
           "Volumes with the axis (0, 0, 1) rotate clockwise within a slice."),
    HR_ARG(rotate_args, axis, FLOATS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME, NULL,
           "Axis of the rotation as (x, y, z), a vector of any length. Required for volumes, not "
           "used for pictures."),
    HR_ARG(rotate_args, size, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, "[]",
           "Output size in pixels: (depth,) height, width. Default: as large as the rotated input "
           "needs. Halves are rounded away from zero."),
    HR_ARG(rotate_args, keep_size, BOOL, 0, "False", "Give the output the size of the input."),
    HR_ARG(
        rotate_args, fill_value, FLOAT, HR_ARG_OPTIONAL, NULL,
        "Value of pixels outside the input, rounded to its type. Default: the edge is repeated."),
    HR_ARG(rotate_args, interp_type, INTERP, 0, "INTERP_LINEAR", "INTERP_NN or INTERP_LINEAR."),
    HR_ARG(rotate_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
           "Type of the output: that of the input (default) or FLOAT. FLOAT can also be converted "
           "to UINT8, INT16 or INT32; halves are rounded away from zero."),
    HR_ARG_RENAMED(output_dtype, DTYPE, dtype, "0.24"),
    HR_ARG_END};

static hr_status rotate_check(const void *args, const hr_given *given, hr_error *error)
{
    int32_t interp = ((const rotate_args *)args)->interp_type;

    (void)given;
    if (interp == HR_INTERP_NN || interp == HR_INTERP_LINEAR)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "`interp_type` must be INTERP_NN or INTERP_LINEAR");
}

static bool can_rotate(hr_dtype t)
{
    return t == HR_DTYPE_UINT8 || t == HR_DTYPE_INT16 || t == HR_DTYPE_INT32 || t == HR_DTYPE_FLOAT;
}

static hr_status output_type(const rotate_args *a, hr_dtype in, hr_dtype *out, hr_error *error)
{
    *out = a->dtype == HR_DTYPE_NONE ? in : (hr_dtype)a->dtype;
    if (can_rotate(in) && can_rotate(*out) &&
        (*out == in || *out == HR_DTYPE_FLOAT || in == HR_DTYPE_FLOAT))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s cannot be rotated to %s; supported are UINT8, INT16, INT32 and FLOAT, to "
                   "the same type, to FLOAT or from FLOAT",
                   hr_dtype_name(in), hr_dtype_name(*out));
}

static hr_status frame_rotation(const rotate_args *a, int32_t axes, int64_t frames, int64_t f,
                                hr_rotation *r, hr_error *error)
{
    int64_t at = a->angle.n == 1 ? 0 : f, axis_at = a->axis.n == 3 ? 0 : f;

    if (a->angle.n != 1 && a->angle.n != frames)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`angle` has %d elements; it must have one, or one per frame (%lld)",
                       (int)a->angle.n, (long long)frames);
    if (axes == 3 && !a->axis.v)
        return hr_fail(error, HR_STATUS_ERROR, "`axis` is required to rotate a volume");
    if (a->axis.v && a->axis.n != 3 && a->axis.n != 3 * frames)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`axis` has %d elements; it must be (x, y, z), once or for each frame",
                       (int)a->axis.n);
    return hr__rotation_make(r, (double)a->angle.v[at], axes == 3 ? a->axis.v + 3 * axis_at : NULL,
                             error);
}

/* The canvas fits every frame: the largest extents that a frame needs, odd or even as most frames
 * need. */
static hr_status canvas(const rotate_args *a, const hr_rotate *m, int64_t *out, hr_error *error)
{
    int64_t odd[3] = {0};
    const int64_t *in = m->warps->in;
    int32_t axes = m->warps->rotation.axes;

    for (int32_t f = 0; f < m->count; f++) {
        int64_t need[3];
        int32_t alike[3];
        hr__rotation_canvas(&m->warps[f].rotation, in, need, alike);
        for (int32_t i = 0; i < axes; i++) {
            out[i] = HR_MAX(out[i], need[i]);
            odd[i] += in[alike[i]] & 1;
        }
    }
    for (int32_t i = 0; i < axes; i++)
        out[i] += (out[i] & 1) != (2 * odd[i] > m->count);
    if (a->size.v && a->size.n > 0) {
        if (a->size.n != axes)
            return hr_fail(error, HR_STATUS_ERROR, "`size` has %d elements; it must have %d",
                           (int)a->size.n, (int)axes);
        for (int32_t i = 0; i < axes; i++) {
            float size = a->size.v[axes - 1 - i];
            if (!(size > 0.0f && size < 2147483000.0f))
                return hr_fail(error, HR_STATUS_ERROR, "`size` has %g; sizes must be positive",
                               (double)size);
            out[i] = (int64_t)HR_MAX(hr_round((double)size), 1.0);
        }
    } else if (a->keep_size) {
        for (int32_t i = 0; i < axes; i++)
            out[i] = in[i];
    }
    return HR_STATUS_OK;
}

/* Makes one warp per frame, or one for all frames. */
static hr_status warps_make(const rotate_args *a, hr_arena *arena, const hr_warp *like,
                            hr_rotate *m, hr_error *error)
{
    int64_t out[3] = {0};
    int32_t axes = like->rotation.axes;
    bool one = a->angle.n == 1 && (a->axis.n == 3 || !a->axis.v);
    bool empty = like->channels == 0;

    m->count = one ? HR_MIN(m->frames, 1) : (int32_t)HR_MIN(m->frames, INT32_MAX);
    m->warps = hr_arena_alloc(arena, HR_MAX((size_t)m->count, 1) * sizeof(*m->warps), error);
    if (!m->warps)
        return HR_STATUS_NO_MEMORY;
    m->warps[0] = *like;
    for (int32_t f = 0; f < m->count; f++) {
        m->warps[f] = *like;
        HR_TRY(frame_rotation(a, axes, m->frames, f, &m->warps[f].rotation, error));
    }
    HR_TRY(canvas(a, m, out, error));
    for (int32_t i = 0; i < axes; i++)
        empty = empty || like->in[i] == 0;
    for (int32_t f = 0; f < HR_MAX(m->count, 1); f++) {
        hr_warp *w = &m->warps[f];
        memcpy(w->out, out, sizeof(out));
        hr__warp_center(w);
        if (empty && !w->has_fill) { /* there is no pixel to repeat */
            w->has_fill = true;
            w->fill = 0.0f;
        }
    }
    return HR_STATUS_OK;
}

static hr_status rotate_infer(hr_op_call *c, hr_error *error)
{
    const rotate_args *a = c->args;
    hr_shape shape = c->in[0].shape;
    hr_rotate *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    hr_layout layout;
    hr_dtype dtype;

    if (!m)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(hr_layout_match(LAYOUTS, &c->in[0].layout, shape.ndim, &layout, error));
    HR_TRY(output_type(a, c->in[0].dtype, &dtype, error));
    int32_t axes = hr_layout_find(&layout, 'D') >= 0 ? 3 : 2, last = shape.ndim - 2;
    hr_warp like = {.rotation = {.axes = axes},
                    .nearest = a->interp_type == HR_INTERP_NN,
                    .has_fill = !isnan(a->fill_value)};
    if (like.has_fill) { /* a pixel of the type of the input */
        double pixel;
        hr_convert(&pixel, c->in[0].dtype, &a->fill_value, HR_DTYPE_FLOAT, 1);
        hr_convert(&like.fill, HR_DTYPE_FLOAT, &pixel, c->in[0].dtype, 1);
    }
    if (shape.extent[last + 1] > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "too many channels");
    like.channels = (int32_t)shape.extent[last + 1];
    for (int32_t i = 0; i < axes; i++)
        like.in[i] = shape.extent[last - i];
    m->frames = hr_layout_find(&layout, 'F') >= 0 ? shape.extent[0] : 1;
    HR_TRY(warps_make(a, c->arena, &like, m, error));
    const int64_t *out = m->warps->out;
    HR_TRY(hr__pixels_check(c, axes == 3 ? out[2] : 1, out[1], out[0], error));
    for (int32_t i = 0; i < axes; i++)
        shape.extent[last - i] = out[i];
    hr_tensor_describe(&c->out[0], dtype, shape, layout.name);
    c->memo = m;
    return HR_STATUS_OK;
}

/* Like hr_convert, with a loop that vectorises for the usual type. */
static void store(uint8_t *out, hr_dtype type, const float *line, size_t n)
{
    if (type != HR_DTYPE_UINT8) {
        hr_convert(out, type, line, HR_DTYPE_FLOAT, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = warp_u8(line[i]);
}

/* Nearest pixels of pictures that keep their type need not be converted to float and back. */
static bool picks(const hr_op_call *c, const hr_warp *w)
{
    hr_dtype type = c->in[0].dtype;

    return w->nearest && w->rotation.axes == 2 && type == c->out[0].dtype && w->in[0] > 0 &&
           w->in[1] > 0 && (hr_dtype_size(type) < 4 || type == HR_DTYPE_FLOAT);
}

static hr_status pick_one(hr_op_call *c, hr_error *error)
{
    const hr_rotate *m = c->memo;
    const hr_warp *w = m->warps;
    size_t item = hr_dtype_size(c->out[0].dtype), size = item * (size_t)w->channels;
    const uint8_t *src = c->in[0].data;
    uint8_t *out = c->out[0].data, *fill = hr_arena_alloc(c->arena, size, error);

    if (!fill)
        return HR_STATUS_NO_MEMORY;
    for (int32_t k = 0; k < w->channels; k++)
        hr_convert(fill + (size_t)k * item, c->out[0].dtype, &w->fill, HR_DTYPE_FLOAT, 1);
    for (int64_t f = 0; f<m->frames; f++, w += m->count> 1) {
        for (int64_t y = 0; y < w->out[1]; y++, out += (size_t)w->out[0] * size)
            hr__warp_pick_row(w, src, y, fill, size, out);
        src += (size_t)(w->in[0] * w->in[1]) * size;
    }
    return HR_STATUS_OK;
}

static hr_status rotate_one(hr_op_call *c, hr_error *error)
{
    const hr_rotate *m = c->memo;
    const hr_warp *w = m->warps;
    int32_t axes = w->rotation.axes;
    size_t frame_in = (size_t)w->channels, row = (size_t)w->channels * (size_t)w->out[0], count;
    size_t bytes, row_bytes = row * hr_dtype_size(c->out[0].dtype);
    uint8_t *out = c->out[0].data;

    if (picks(c, w))
        return pick_one(c, error);
    for (int32_t i = 0; i < axes; i++)
        frame_in *= (size_t)w->in[i];
    if (!hr_shape_volume(&c->in[0].shape, &count) || !hr_size_mul(count, sizeof(float), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    float *src = hr_arena_alloc(c->arena, bytes, error);
    float *line = src ? hr_arena_alloc(c->arena, row * sizeof(*line), error) : NULL;
    if (!line)
        return HR_STATUS_NO_MEMORY;
    hr_convert(src, HR_DTYPE_FLOAT, c->in[0].data, c->in[0].dtype, count);
    for (int64_t f = 0; f<m->frames; f++, src += frame_in, w += m->count> 1) {
        for (int64_t z = 0; z < (axes == 3 ? w->out[2] : 1); z++) {
            for (int64_t y = 0; y < w->out[1]; y++, out += row_bytes) {
                hr__warp_row(w, src, y, z, line);
                store(out, c->out[0].dtype, line, row);
            }
        }
    }
    return HR_STATUS_OK;
}

static hr_status rotate_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(rotate_one(&calls[i], error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_rotate = {
    HR_OP_ABI,
    .name = "rotate",
    .doc = "Rotates pictures and volumes about their centre. Without `size` or `keep_size`, the "
           "output is as large as the rotated input. Frames of a sequence have the same size, and "
           "may have different angles.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    .args = rotate_arg_defs,
    .args_size = sizeof(rotate_args),
    .in = HR_INPUTS({.name = "data", .layouts = LAYOUTS}),
    .in_min = 1,
    .in_max = 1,
    .out = HR_OUTPUTS({"output"}),
    .out_count = 1,
    .check = rotate_check,
    .infer = rotate_infer,
    .run_cpu = rotate_run,
};
