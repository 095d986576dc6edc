/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* rotate: rotates pictures about their centre, volumes about an axis through their centre, and
 * frames by an angle each. */
#include "image/program.h"
#include "ops/image/pixels.h"
#include "ops/image/rotation.h"

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
static void canvas_fit(const hr_rotation *r, int32_t count, const int64_t *in, int64_t *out)
{
    int64_t odd[3] = {0};

    for (int32_t f = 0; f < count; f++) {
        int64_t need[3];
        int32_t alike[3];
        hr__rotation_canvas(&r[f], in, need, alike);
        for (int32_t i = 0; i < r->axes; i++) {
            out[i] = HR_MAX(out[i], need[i]);
            odd[i] += in[alike[i]] & 1;
        }
    }
    for (int32_t i = 0; i < r->axes; i++)
        out[i] += (out[i] & 1) != (2 * odd[i] > count);
}

static hr_status canvas(const rotate_args *a, const hr_rotation *r, int32_t count,
                        const int64_t *in, int64_t *out, hr_error *error)
{
    int32_t axes = r->axes;

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
    } else {
        canvas_fit(r, count, in, out);
    }
    return HR_STATUS_OK;
}

/* Makes one map per frame, or one for all frames, and sets the size of the output. */
static hr_status maps_make(const rotate_args *a, hr_arena *arena, int64_t frames, hr_gather_spec *g,
                           const hr_map **maps, int32_t *count, hr_error *error)
{
    bool one = a->angle.n == 1 && (a->axis.n == 3 || !a->axis.v);

    *count = one ? 1 : (int32_t)HR_MIN(frames, INT32_MAX);
    size_t n = HR_MAX((size_t)*count, 1);
    hr_rotation *r = hr_arena_alloc(arena, n * sizeof(*r), error);
    hr_map *map = r ? hr_arena_alloc(arena, n * sizeof(*map), error) : NULL;
    if (!map)
        return HR_STATUS_NO_MEMORY;
    r->axes = g->axes;
    for (int32_t f = 0; f < *count && frames > 0; f++)
        HR_TRY(frame_rotation(a, g->axes, frames, f, &r[f], error));
    HR_TRY(canvas(a, r, frames > 0 ? *count : 0, g->in, g->out, error));
    for (int32_t f = 0; f < *count && frames > 0; f++)
        hr__rotation_map(&r[f], g->in, g->out, &map[f]);
    *maps = map;
    return HR_STATUS_OK;
}

/* The fill, rounded to a pixel of the type. */
static float fill_of(const rotate_args *a, hr_dtype type)
{
    double pixel;
    float fill;

    hr_convert(&pixel, type, &a->fill_value, HR_DTYPE_FLOAT, 1);
    hr_convert(&fill, HR_DTYPE_FLOAT, &pixel, type, 1);
    return fill;
}

static hr_status rotate_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const rotate_args *a = c->args;
    hr_dtype in = hr_program_dtype(program), dtype;
    hr_layout layout;
    const hr_map *maps;
    int32_t count;

    HR_TRY(hr_layout_match(LAYOUTS, &program->layout, (int32_t)strlen(program->layout.name),
                           &layout, error));
    HR_TRY(output_type(a, in, &dtype, error));
    hr_gather_spec g = {.axes = hr_program_has(program, 'D') ? 3 : 2,
                        .nearest = a->interp_type == HR_INTERP_NN,
                        .has_fill = !isnan(a->fill_value),
                        .in = {hr_program_extent(program, 'W'), hr_program_extent(program, 'H'),
                               hr_program_extent(program, 'D')}};
    if (g.has_fill)
        g.fill = fill_of(a, in);
    HR_TRY(maps_make(a, c->arena, hr_program_extent(program, 'F'), &g, &maps, &count, error));
    HR_TRY(hr__pixels_check(c, g.axes == 3 ? g.out[2] : 1, g.out[1], g.out[0], error));
    return hr_program_gather(program, &g, maps, count, dtype, error);
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
    .lower = rotate_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
};
