/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Matrices of transforms: shapes, frames, combination with the input. */
#include "ops/geometry/transform.h"

#include <string.h>

typedef struct named_list {
    const char *name;
    size_t offset;
} named_list;

#define LIST(field)                                                                                \
    {                                                                                              \
#field, offsetof(hr_transform_args, field)                                                 \
    }
static const named_list lists[] = {LIST(angle),    LIST(angles),   LIST(axis),  LIST(center),
                                   LIST(offset),   LIST(scale),    LIST(shear), LIST(from_start),
                                   LIST(from_end), LIST(to_start), LIST(to_end)};

static hr_floats *list_of(const hr_transform_args *a, size_t i)
{
    return (hr_floats *)((char *)a + lists[i].offset);
}

hr_status hr__transform_input(const hr_op_call *c, int32_t i, int32_t *ndim, hr_frames *frames,
                              hr_error *error)
{
    const hr_tensor *in = &c->in[i];
    const bool sequence = hr_layout_find(&in->layout, 'F') == 0;
    const int64_t *extent = in->shape.extent + sequence;
    char text[128];

    if (in->dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the transform has type %s; it must be FLOAT",
                       hr_dtype_name(in->dtype));
    if (in->shape.ndim != 2 + sequence || extent[0] < 1 || extent[0] > HR_TRANSFORM_MAX ||
        extent[1] != extent[0] + 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s is not the shape of a transform: D x (D + 1), optionally with frames as "
                       "first dimension",
                       hr_shape_text(&in->shape, text, sizeof(text)));
    *ndim = (int32_t)extent[0];
    return sequence ? hr__frames_join_input(frames, c, i, error) : HR_STATUS_OK;
}

void hr__transform_describe(hr_op_call *c, int32_t ndim, int64_t frames)
{
    const int64_t extent[] = {frames, ndim, ndim + 1};
    const bool sequence = frames != HR_FRAMES_NONE;

    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT,
                       hr_shape_make(sequence ? 3 : 2, sequence ? extent : extent + 1),
                       sequence ? "F**" : "**");
}

static void identity(hr_affine *matrix, int32_t ndim)
{
    matrix->ndim = ndim;
    memset(matrix->m, 0, (size_t)(ndim * (ndim + 1)) * sizeof(*matrix->m));
    for (int32_t i = 0; i < ndim; i++)
        matrix->m[i * (ndim + 2)] = 1.0f;
}

/* The operator's own matrix of a frame. */
static hr_status make_frame(const hr_op_call *c, hr_transform_fn make, int32_t ndim, int64_t frame,
                            hr_affine *matrix, hr_error *error)
{
    const hr_transform_args *a = c->args;
    hr_transform_args of_frame = *a;

    for (size_t i = 0; i < HR_COUNT_OF(lists); i++)
        *list_of(&of_frame, i) = hr__frames_part(*list_of(a, i), frame);
    identity(matrix, ndim);
    return make(&of_frame, matrix, error);
}

hr_status hr__transform_leave(hr_op_call *c, int32_t ndim, int64_t frames, const float *made,
                              hr_error *error)
{
    hr_transform_product *chain = hr_arena_alloc(c->arena, sizeof(*chain), error);

    HR_TRY_ALLOC(chain);
    *chain = (hr_transform_product){.ndim = ndim,
                                    .reverse = ((const hr_transform_args *)c->args)->reverse_order,
                                    .frames = frames == HR_FRAMES_NONE ? 1 : frames,
                                    .made = made};
    c->memo = chain;
    return HR_STATUS_OK;
}

/* Makes the matrices of all frames and stages them. */
static hr_status leave_made(hr_op_call *c, hr_transform_fn make, int32_t ndim, int64_t frames,
                            hr_error *error)
{
    const size_t size = (size_t)(ndim * (ndim + 1)), count = frames < 0 ? 1 : (size_t)frames;
    const void *device;
    float *made = hr_arena_alloc(c->arena, (count * size + 1) * sizeof(*made), error);

    HR_TRY_ALLOC(made);
    for (size_t f = 0; f < count; f++) {
        hr_affine matrix;
        HR_TRY(make_frame(c, make, ndim, (int64_t)f, &matrix, error));
        memcpy(made + f * size, matrix.m, size * sizeof(*made));
    }
    HR_TRY(c->staging->constant(c->staging, made, count * size * sizeof(*made), &device, error));
    return hr__transform_leave(c, ndim, frames, device, error);
}

/* The memo that infer leaves for the run. */
typedef struct how {
    hr_transform_fn make;
} how;

hr_status hr__transform_infer(hr_op_call *c, int32_t ndim, bool any, hr_transform_fn make,
                              hr_error *error)
{
    const hr_transform_args *a = c->args;
    how *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    hr_frames frames = {.count = HR_FRAMES_NONE};
    int32_t of_input = 0;

    HR_TRY_ALLOC(memo);
    memo->make = make;
    c->memo = memo;
    if (c->n_in > 0) {
        HR_TRY(hr__transform_input(c, 0, &of_input, &frames, error));
        if (!any && ndim != of_input)
            return hr_fail(error, HR_STATUS_ERROR,
                           "the input is a transform with %d dimensions, but the arguments have %d",
                           (int)of_input, (int)ndim);
        ndim = of_input;
    }
    if (ndim < 1 || ndim > HR_TRANSFORM_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "a transform with %d dimensions is not supported, only 1 .. %d", (int)ndim,
                       HR_TRANSFORM_MAX);
    for (size_t i = 0; i < HR_COUNT_OF(lists); i++)
        HR_TRY(hr__frames_join_argument(&frames, c, *list_of(a, i), lists[i].name, error));
    hr__transform_describe(c, ndim, frames.count);
    return c->staging ? leave_made(c, make, ndim, frames.count, error) : HR_STATUS_OK;
}

hr_status hr__transform_length(hr_floats list, const char *name, int32_t n, hr_error *error)
{
    if (list.n == 1 || list.n == n)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "`%s` has %d elements; it must have %d, or one for all",
                   name, (int)list.n, (int)n);
}

hr_status hr__transform_center(hr_affine *matrix, hr_floats center, hr_error *error)
{
    const int32_t n = matrix->ndim;

    if (!center.v)
        return HR_STATUS_OK;
    HR_TRY(hr__transform_length(center, "center", n, error));
    for (int32_t r = 0; r < n; r++) {
        float *row = matrix->m + r * (n + 1), moved = 0.0f;
        for (int32_t k = 0; k < n; k++)
            moved += row[k] * hr__frames_element(center, k);
        row[n] = hr__frames_element(center, r) - moved;
    }
    return HR_STATUS_OK;
}

/* Writes the matrix of a frame to all samples of the call, which are `sample` numbers apart. */
static void store(const hr_op_call *c, const hr_affine *matrix, size_t frame, size_t sample)
{
    const int32_t ndim = matrix->ndim;
    const size_t size = (size_t)(ndim * (ndim + 1));
    const bool reverse = ((const hr_transform_args *)c->args)->reverse_order;
    const bool inputs = c->n_in > 0 && c->in[0].shape.ndim == 3;
    float *out = (float *)c->out[0].data + frame * size;
    const float *in = c->n_in > 0 ? (float *)c->in[0].data + (inputs ? frame * size : 0) : NULL;

    for (int32_t k = 0; k < c->count; k++, out += sample) {
        if (!in) {
            memcpy(out, matrix->m, size * sizeof(*out));
            continue;
        }
        transform_chain(out, reverse ? in : matrix->m, reverse ? matrix->m : in, ndim);
        in += inputs ? sample : size;
    }
}

hr_status hr__transform_run(hr_op_call *c, hr_error *error)
{
    const how *memo = c->memo;
    const hr_shape *shape = &c->out[0].shape;
    const bool sequence = shape->ndim == 3;
    const int32_t ndim = (int32_t)shape->extent[sequence];
    const size_t frames = sequence ? (size_t)shape->extent[0] : 1;

    for (size_t f = 0; f < frames; f++) {
        hr_affine matrix;
        HR_TRY(make_frame(c, memo->make, ndim, (int64_t)f, &matrix, error));
        store(c, &matrix, f, frames * (size_t)(ndim * (ndim + 1)));
    }
    return HR_STATUS_OK;
}
