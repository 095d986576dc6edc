/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* rotate: rotates images about their centre, volumes about an axis through their centre, and
 * frames by an angle each. */
#include "ops/image/rotation.h"
#include "ops/image/warp.h"

typedef struct rotate_args {
    hr_floats angle, axis;
    int32_t keep_size;
    hr_warp_args warp;
} rotate_args;

static hr_status rotate_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__warp_check(&((const rotate_args *)args)->warp, error);
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
                        hr_gather_spec *g, hr_error *error)
{
    if (a->warp.size.v && a->warp.size.n > 0)
        return hr__warp_size(&a->warp, g, error);
    if (!a->keep_size) {
        canvas_fit(r, count, g->in, g->out);
        return HR_STATUS_OK;
    }
    for (int32_t i = 0; i < r->axes; i++)
        g->out[i] = g->in[i];
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
    HR_TRY_ALLOC(map);
    r->axes = g->axes;
    for (int32_t f = 0; f < *count && frames > 0; f++)
        HR_TRY(frame_rotation(a, g->axes, frames, f, &r[f], error));
    HR_TRY(canvas(a, r, frames > 0 ? *count : 0, g, error));
    for (int32_t f = 0; f < *count && frames > 0; f++)
        hr__rotation_map(&r[f], g->in, g->out, &map[f]);
    *maps = map;
    return HR_STATUS_OK;
}

static hr_status rotate_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const rotate_args *a = c->args;
    hr_gather_spec g;
    const hr_map *maps;
    hr_dtype dtype;
    int32_t count;

    HR_TRY(hr__warp_begin(&a->warp, program, &g, &dtype, error));
    HR_TRY(maps_make(a, c->arena, hr_program_extent(program, 'F'), &g, &maps, &count, error));
    return hr__warp_end(c, program, &g, maps, count, dtype, error);
}

const hr_op_def hr_op_rotate = {
    HR_OP("rotate"),
    .doc = "Rotates images and volumes about their centre. Without `size` or `keep_size`, the "
           "output is as large as the rotated input. Frames of a sequence have the same size, and "
           "may have different angles.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        rotate_args,
        HR_ARG(rotate_args, angle, FLOATS,
               HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK, NULL,
               "Angle in degrees, one per sample or per frame. Images rotate counter-clockwise. "
               "Volumes with the axis (0, 0, 1) rotate clockwise within a slice."),
        HR_ARG(rotate_args, axis, FLOATS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME,
               NULL,
               "Axis of the rotation as (x, y, z), a vector of any length. Required for volumes, "
               "not used for images."),
        HR_WARP_ARG(rotate_args, warp, size, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, "[]",
                    "Output size in pixels: (depth,) height, width. Default: as large as the "
                    "rotated input needs. Halves are rounded away from zero."),
        HR_ARG(rotate_args, keep_size, BOOL, 0, "False", "Give the output the size of the input."),
        HR_WARP_ARG_DEFS(rotate_args, warp)),
    .in = HR_INPUTS({.name = "data", .layouts = HR_WARP_LAYOUTS}),
    .check = rotate_check,
    .lower = rotate_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
};
