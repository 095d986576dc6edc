/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* warp_affine: pixels from positions that a matrix gives, one matrix per sample or per frame. */
#include "ops/image/warp.h"

#include <math.h>
#include <string.h>

#define POSITION_MAX 0x1p40f /* positions beyond it are not computed */

typedef struct warp_affine_args {
    hr_floats matrix;
    int32_t inverse_map;
    hr_warp_args warp;
} warp_affine_args;

static hr_status warp_affine_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__warp_check(&((const warp_affine_args *)args)->warp, error);
}

/* Inverts the linear part by cofactors, in single precision as DALI, and moves the offset. */
static hr_status invert(const float *m, int32_t axes, float *out, hr_error *error)
{
    const int32_t row = axes + 1;
    float det = 0.0f, inverse[3][3];

    for (int32_t i = 0; i < axes; i++) {
        for (int32_t j = 0; j < axes; j++) { /* the cofactor of row j, column i */
            const int32_t j1 = (j + 1) % 3, j2 = (j + 2) % 3, i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            inverse[i][j] = axes == 2 ? (i == j ? m[(1 - j) * row + (1 - i)] : -m[i * row + j])
                                      : m[j1 * row + i1] * m[j2 * row + i2] -
                                            m[j1 * row + i2] * m[j2 * row + i1];
        }
    }
    for (int32_t i = 0; i < axes; i++)
        det += m[i] * inverse[i][0];
    if (!(det != 0.0f && fabsf(1.0f / det) <= 0x1p120f))
        return hr_fail(error, HR_STATUS_VALUE,
                       "the matrix is singular: it cannot be inverted for `inverse_map=False`");
    for (int32_t i = 0; i < axes; i++) {
        float offset = 0.0f;
        for (int32_t j = 0; j < axes; j++) {
            out[i * row + j] = inverse[i][j] / det;
            offset += out[i * row + j] * m[j * row + axes];
        }
        out[i * row + axes] = -offset;
    }
    return HR_STATUS_OK;
}

static hr_status map_make(const warp_affine_args *a, const float *given, const hr_gather_spec *g,
                          hr_map *map, hr_error *error)
{
    const int32_t axes = g->axes;
    float inverse[12];

    for (int32_t k = 0; k < axes * (axes + 1); k++)
        if (!isfinite(given[k]))
            return hr_fail(error, HR_STATUS_ERROR,
                           "the matrix contains %g; its elements must be finite", (double)given[k]);
    if (!a->inverse_map)
        HR_TRY(invert(given, axes, inverse, error));
    const float *m = a->inverse_map ? given : inverse;
    memset(map, 0, sizeof(*map));
    for (int32_t i = 0; i < axes; i++) {
        float most = fabsf(m[i * (axes + 1) + axes]);
        for (int32_t j = 0; j < axes; j++) {
            map->m[i][j] = m[i * (axes + 1) + j];
            most += fabsf(map->m[i][j]) * ((float)g->out[j] + (float)HR_GATHER_RUN);
        }
        map->m[i][3] = m[i * (axes + 1) + axes];
        if (!(most <= POSITION_MAX))
            return hr_fail(error, HR_STATUS_ERROR,
                           "the matrix maps pixels to positions as far away as %g", (double)most);
    }
    return HR_STATUS_OK;
}

static hr_status warp_affine_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const warp_affine_args *a = c->args;
    hr_gather_spec g;
    hr_floats list;
    hr_dtype dtype;

    HR_TRY(hr__warp_begin(&a->warp, program, &g, &dtype, error));
    HR_TRY(hr__warp_matrices(c, a->matrix, g.axes, g.axes + 1, &list, error));
    memcpy(g.out, g.in, sizeof(g.out));
    if (a->warp.size.v)
        HR_TRY(hr__warp_size(&a->warp, &g, error));
    const int32_t count = list.frames > 1 ? list.frames : 1, n = g.axes * (g.axes + 1);
    HR_TRY(hr__warp_frames_check(&list, hr_program_extent(program, 'F'), error));
    hr_map *maps = hr_arena_alloc(c->arena, (size_t)count * sizeof(*maps), error);
    HR_TRY_ALLOC(maps);
    for (int32_t f = 0; f < count; f++)
        HR_TRY(map_make(a, list.v + (ptrdiff_t)f * n, &g, &maps[f], error));
    return hr__warp_end(c, program, &g, maps, count, dtype, error);
}

const hr_op_def hr_op_warp_affine = {
    HR_OP("warp_affine"),
    .doc = "Warps images and volumes by an affine map. All frames of a sequence get the same size; "
           "they may have different matrices.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        warp_affine_args,
        HR_ARG(warp_affine_args, matrix, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME, "[]",
               "The map, row by row: 2x3 for images, 3x4 for volumes. A position (x, y) in the "
               "output becomes (m11 x + m12 y + m13, m21 x + m22 y + m23) in the input, where (0, "
               "0) is the corner of the first pixel. The second input can be given instead."),
        HR_ARG(warp_affine_args, inverse_map, BOOL, 0, "True",
               "True: the matrix maps the output to the input. False: it maps the input to the "
               "output, and is inverted."),
        HR_WARP_ARG(warp_affine_args, warp, size, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, "[]",
                    "Output size in pixels: (depth,) height, width. Default: the size of the "
                    "input. Halves are rounded away from zero."),
        HR_WARP_ARG_DEFS(warp_affine_args, warp)),
    .in = HR_INPUTS({.name = "data", .layouts = HR_WARP_LAYOUTS}, {.name = "mtx", .host = true}),
    .in_min = 1,
    .check = warp_affine_check,
    .lower = warp_affine_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
};
