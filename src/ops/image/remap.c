/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* experimental.remap: pixels from positions that are given for each of them. */
#include "ops/image/remapped.h"

#include <string.h>

#define MAP_LAYOUTS "HWC|HW|FHWC|FHW|F***|F**"

typedef struct remap_args {
    int32_t interp;
    const char *pixel_origin;
} remap_args;

/* The shape of a map without its channels, of which there must be one: frames (-1: none), height,
 * width. */
static hr_status map_shape(const hr_tensor *map, int64_t shape[3], hr_error *error)
{
    const int64_t *extent = map->shape.extent;
    hr_layout layout;
    char text[128];

    HR_TRY(hr_layout_match(MAP_LAYOUTS, &map->layout, map->shape.ndim, &layout, error));
    const bool frames = layout.name[0] == 'F';
    const int32_t ndim = map->shape.ndim, last = ndim - 1;
    if (map->dtype != HR_DTYPE_FLOAT || (ndim == 3 + frames && extent[last] != 1))
        return hr_fail(error, HR_STATUS_ERROR,
                       "a map has type %s, layout %s and shape %s; it must be FLOAT with one "
                       "number per pixel",
                       hr_dtype_name(map->dtype), layout.name,
                       hr_shape_text(&map->shape, text, sizeof(text)));
    shape[0] = frames ? extent[0] : -1;
    shape[1] = extent[frames];
    shape[2] = extent[frames + 1];
    return HR_STATUS_OK;
}

static hr_status set_maps(const hr_op_call *c, hr_remapped *m, hr_error *error)
{
    int64_t shape[3], other[3];

    HR_TRY(map_shape(&c->in[1], shape, error));
    HR_TRY(map_shape(&c->in[2], other, error));
    if (memcmp(shape, other, sizeof(shape)) != 0)
        return hr_fail(error, HR_STATUS_ERROR, "the maps of x and y must have the same shape");
    if (shape[0] != -1 && shape[0] != 1 && shape[0] != m->frames)
        return hr_fail(error, HR_STATUS_ERROR, "there are maps for %lld frames; the input has %lld",
                       (long long)shape[0], (long long)m->frames);
    m->varies = shape[0] > 1;
    m->out[0] = shape[2];
    m->out[1] = shape[1];
    return HR_STATUS_OK;
}

static hr_status remap_infer(hr_op_call *c, hr_error *error)
{
    const remap_args *a = c->args;
    hr_remapped *m;

    HR_TRY(hr__remapped_begin(c, "HWC|FHWC", a->interp, &m, error));
    float *fill = hr_arena_alloc(c->arena, (size_t)m->image.channels * sizeof(*fill), error);
    HR_TRY_ALLOC(fill);
    memset(fill, 0, (size_t)m->image.channels * sizeof(*fill));
    m->image.fill = fill;
    m->shift = strcmp(a->pixel_origin, "corner") == 0 ? -0.5f : 0.0f;
    HR_TRY(set_maps(c, m, error));
    return hr__remapped_end(c, m, error);
}

const hr_op_def hr_op_remap = {
    HR_OP("experimental.remap"),
    .doc = "Takes every pixel of the output from a position in the input: the second and the third "
           "input hold the x and the y of these positions, in pixels. They are FLOAT and have the "
           "size of the output. Pixels outside the input are 0. The input is UINT8, UINT16, INT16 "
           "or FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(
        remap_args,
        HR_ARG(remap_args, interp, INTERP, 0, "INTERP_LINEAR",
               "INTERP_NN, INTERP_LINEAR or INTERP_CUBIC."),
        HR_ARG(
            remap_args, pixel_origin, STRING, 0, "\"corner\"",
            "Where the position (0, 0) is: the \"corner\" of the first pixel, or its \"center\".",
            .choices = "corner|center")),
    .in = HR_INPUTS({.name = "input", .layouts = "HWC|FHWC"},
                    {.name = "mapx", .layouts = MAP_LAYOUTS},
                    {.name = "mapy", .layouts = MAP_LAYOUTS}),
    .infer = remap_infer,
    .run = hr__remapped_run,
};
