/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* coord_transform: multiplies points by a matrix and adds a vector. */
#include "ops/geometry/frames.h"
#include "ops/geometry/points.h"

#include <string.h>

enum { MAX = HR_POINT_MAX_DIMS, RUN = 240 }; /* RUN: elements that are converted at once */

typedef struct coord_transform_args {
    hr_floats M, MT, T;
    int32_t dtype;
} coord_transform_args;

#define LIST(field, ...)                                                                           \
    HR_ARG(coord_transform_args, field, FLOATS,                                                    \
           HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK | HR_ARG_OPTIONAL, NULL,        \
           __VA_ARGS__)

static const hr_arg_def coord_transform_arg_defs[] = {
    LIST(M, "The matrix, row by row, with one column per coordinate; or one number, by which all "
            "coordinates are multiplied. Default: the identity."),
    LIST(MT,
         "Matrix and vector side by side, row by row; or one number, as for `M`. Cannot be given "
         "together with `M` or `T`.",
         .excludes = "M|T"),
    LIST(T, "The vector to add, or one number for all coordinates. Default: 0."),
    HR_ARG(coord_transform_args, dtype, DTYPE, 0, "FLOAT",
           "Type of the output: FLOAT, or that of the input. Results are rounded to integers."),
    HR_ARG_END};

static hr_status fail_length(const char *name, int32_t n, int32_t cols, hr_error *error)
{
    return hr_fail(error, HR_STATUS_ERROR,
                   "`%s` has %d elements: it must have 1 to %d rows of %d elements", name, (int)n,
                   MAX, (int)cols);
}

/* `empty`: there are no points; any matrix and vector are accepted then, as in DALI. */
static hr_status map_make(const coord_transform_args *a, int32_t in, int64_t frame, bool empty,
                          hr_point_map *map, hr_error *error)
{
    const hr_floats M = hr__frames_part(a->M, frame), T = hr__frames_part(a->T, frame);
    const hr_floats MT = hr__frames_part(a->MT, frame);
    const hr_floats both = MT.v ? MT : M;
    const int32_t cols = MT.v ? in + 1 : in;
    const float scale = both.v && both.n == 1 ? both.v[0] : 1.0f;
    const bool whole = both.v && both.n != 1;

    memset(map, 0, sizeof(*map));
    map->in = map->out = in;
    if (whole && (in < 1 || both.n % cols || both.n < cols || both.n / cols > MAX)) {
        if (empty)
            return HR_STATUS_OK;
        return fail_length(MT.v ? "MT" : "M", both.n, cols, error);
    }
    if (whole)
        map->out = both.n / cols;
    for (int32_t r = 0; r < map->out; r++) {
        for (int32_t k = 0; k < in; k++)
            map->m[r][k] = whole ? both.v[r * cols + k] : r == k ? scale : 0.0f;
        map->t[r] = MT.v && whole ? both.v[r * cols + in] : 0.0f;
    }
    if (T.v && T.n != 1 && T.n != map->out && !empty)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`T` has %d elements: it must have %d, or one for all", (int)T.n,
                       (int)map->out);
    for (int32_t r = 0; T.v && r < map->out && !empty; r++)
        map->t[r] = hr__frames_element(T, r);
    return HR_STATUS_OK;
}

/* An input without elements may have any type, as in DALI. */
static hr_status check_input(const hr_tensor *in, int32_t dtype, hr_error *error)
{
    size_t count;

    switch (hr_shape_volume(&in->shape, &count) && count == 0 ? HR_DTYPE_FLOAT : in->dtype) {
    case HR_DTYPE_UINT8:
    case HR_DTYPE_UINT16:
    case HR_DTYPE_INT16:
    case HR_DTYPE_INT32:
    case HR_DTYPE_FLOAT:
        break;
    default:
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s: it must be UINT8, UINT16, INT16, INT32 or FLOAT",
                       hr_dtype_name(in->dtype));
    }
    if (dtype != HR_DTYPE_FLOAT && dtype != (int32_t)in->dtype)
        return hr_fail(error, HR_STATUS_ERROR, "`dtype` is %s: it must be FLOAT or the input's, %s",
                       hr_dtype_name((hr_dtype)dtype), hr_dtype_name(in->dtype));
    if (in->shape.ndim < 2 || in->shape.extent[in->shape.ndim - 1] > MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %d dimensions: it must have 2 or more, and the last one at "
                       "most %d coordinates",
                       (int)in->shape.ndim, MAX);
    return HR_STATUS_OK;
}

/* The number of frames. If the input has none, those of the arguments become a new first dimension.
 */
static hr_status frames_find(const hr_op_call *c, int64_t *count, hr_error *error)
{
    const coord_transform_args *a = c->args;
    const hr_floats lists[] = {a->M, a->MT, a->T};
    hr_frames frames = {.count = HR_FRAMES_NONE};

    if (hr_layout_find(&c->in[0].layout, 'F') == 0)
        HR_TRY(hr__frames_join_input(&frames, c, 0, error));
    for (size_t i = 0; i < HR_COUNT_OF(lists); i++)
        HR_TRY(hr__frames_join_argument(&frames, c, lists[i], coord_transform_arg_defs[i].name,
                                        error));
    *count = frames.count;
    return HR_STATUS_OK;
}

/* One map per frame, or one map without frames: the shape of the output depends on it. */
static hr_status memo_make(const hr_op_call *c, hr_coord_transform **out, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int32_t coordinates = (int32_t)in->shape.extent[in->shape.ndim - 1];
    hr_coord_transform *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    int64_t frames;
    size_t bytes, count;

    HR_TRY_ALLOC(memo);
    HR_TRY(frames_find(c, &frames, error));
    *memo = (hr_coord_transform){.frames = frames == HR_FRAMES_NONE ? 1 : frames, .points = 1};
    memo->repeated = frames != HR_FRAMES_NONE && in->layout.name[0] != 'F';
    for (int32_t d = frames != HR_FRAMES_NONE && !memo->repeated; d < in->shape.ndim - 1; d++)
        memo->points *= in->shape.extent[d];
    if (!hr_size_mul((size_t)HR_MAX(memo->frames, 1), sizeof(*memo->maps), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "there are too many frames");
    memo->maps = hr_arena_alloc(c->arena, bytes, error);
    HR_TRY_ALLOC(memo->maps);
    if (!hr_shape_volume(&in->shape, &count))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    for (int64_t f = 0; f < HR_MAX(memo->frames, 1); f++)
        HR_TRY(map_make(c->args, coordinates, f, count == 0, &memo->maps[f], error));
    *out = memo;
    return HR_STATUS_OK;
}

static hr_status coord_transform_infer(hr_op_call *c, hr_error *error)
{
    const coord_transform_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    char layout[HR_MAX_NDIM + 2] = "F";
    hr_coord_transform *memo = NULL;
    hr_shape shape = in->shape;

    HR_TRY(check_input(in, a->dtype, error));
    HR_TRY(memo_make(c, &memo, error));
    shape.extent[shape.ndim - 1] = memo->maps->out;
    memcpy(layout + 1, in->layout.name, sizeof(in->layout.name));
    if (memo->repeated && shape.ndim == HR_MAX_NDIM)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %d dimensions, too many to add one for frames",
                       (int)shape.ndim);
    if (memo->repeated) {
        memmove(shape.extent + 1, shape.extent, (size_t)shape.ndim * sizeof(*shape.extent));
        shape.extent[0] = memo->frames;
        shape.ndim++;
    }
    hr_tensor_describe(&c->out[0], (hr_dtype)a->dtype, shape,
                       memo->repeated && layout[1] ? layout : layout + 1);
    c->memo = memo;
    return HR_STATUS_OK;
}

/* `in` and `out` are constants in the calls that matter for speed. */
static inline void map_points(const hr_point_map *map, const float *x, float *y, size_t n,
                              int32_t in, int32_t out)
{
    for (size_t i = 0; i < n; i++, x += in, y += out)
        for (int32_t r = 0; r < out; r++)
            y[r] = point_map_row(map, in, r, x);
}

static void map_any(const hr_point_map *map, const float *x, float *y, size_t n)
{
    if (map->in == 2 && map->out == 2)
        map_points(map, x, y, n, 2, 2);
    else if (map->in == 3 && map->out == 3)
        map_points(map, x, y, n, 3, 3);
    else
        map_points(map, x, y, n, map->in, map->out);
}

static void map_run(const hr_point_map *map, const uint8_t *x, hr_dtype from, uint8_t *y,
                    hr_dtype to, size_t n)
{
    const size_t in = (size_t)map->in, out = (size_t)map->out, run = RUN / MAX;

    if (from == HR_DTYPE_FLOAT) {
        map_any(map, (const float *)x, (float *)y, n);
        return;
    }
    for (size_t i = 0; i < n; i += run) {
        float points[RUN], mapped[RUN];
        size_t count = HR_MIN(run, n - i);
        hr_convert(points, HR_DTYPE_FLOAT, x + i * in * hr_dtype_size(from), from, count * in);
        map_any(map, points, mapped, count);
        hr_convert(y + i * out * hr_dtype_size(to), to, mapped, HR_DTYPE_FLOAT, count * out);
    }
}

static void transform_one(hr_op_call *c)
{
    const hr_coord_transform *m = c->memo;
    const hr_tensor *in = &c->in[0], *out = &c->out[0];
    const size_t points = (size_t)m->points;
    const size_t from = m->repeated ? 0 : points * (size_t)m->maps->in * hr_dtype_size(in->dtype);
    const size_t to = points * (size_t)m->maps->out * hr_dtype_size(out->dtype);

    if (points == 0 || m->maps->in == 0)
        return;
    for (size_t f = 0; f < (size_t)m->frames; f++)
        map_run(&m->maps[f], (const uint8_t *)in->data + f * from, in->dtype,
                (uint8_t *)out->data + f * to, out->dtype, points);
}

static hr_status coord_transform_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    transform_one(c);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_coord_transform = {
    HR_OP("coord_transform"),
    .doc = "Maps points by a matrix and a vector: M * p + T. The last dimension of the input holds "
           "the coordinates of a point; that of the output has one per row of the matrix.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_CHEAP,
    .args = coord_transform_arg_defs,
    .args_size = sizeof(coord_transform_args),
    .in = HR_INPUTS({.name = "data"}),
    .infer = coord_transform_infer,
    .run = coord_transform_run,
};
