/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* experimental.warp_perspective: pixels from positions that a 3x3 matrix gives, one matrix per
 * sample or per frame. */
#include "ops/image/remapped.h"
#include "ops/image/warp.h"

#include <string.h>

typedef struct perspective_args {
    hr_floats matrix, size, fill_value;
    int32_t inverse_map, interp_type;
    const char *border_mode, *pixel_origin;
} perspective_args;

static hr_border border_of(const char *name)
{
    static const char *const names[HR_BORDER_COUNT] = {"constant", "replicate", "reflect",
                                                       "reflect_101", "wrap"};
    hr_border b = HR_BORDER_CONSTANT;
    while (b < HR_BORDER_COUNT - 1 && strcmp(name, names[b]) != 0)
        b++;
    return b;
}

static hr_status set_fill(const hr_op_call *c, hr_remapped *m, hr_error *error)
{
    const perspective_args *a = c->args;
    const int32_t channels = m->image.channels, n = a->fill_value.n;

    if (n > 1 && (n != channels || m->planes > 1))
        return hr_fail(error, HR_STATUS_ERROR, "`fill_value` has %d elements; it must have one%s",
                       (int)n, m->planes > 1 ? " if channels come first" : ", or one per channel");
    float *fill = hr_arena_alloc(c->arena, (size_t)channels * sizeof(*fill), error);
    HR_TRY_ALLOC(fill);
    for (int32_t k = 0; k < channels; k++)
        fill[k] = remap_element(m->image.dtype, n ? a->fill_value.v[n == 1 ? 0 : k] : 0.0f);
    m->image.fill = fill;
    return HR_STATUS_OK;
}

static hr_status set_size(const hr_op_call *c, hr_remapped *m, hr_error *error)
{
    const hr_floats *size = &((const perspective_args *)c->args)->size;

    if (size->n == 0)
        return HR_STATUS_OK;
    if (size->n > 2)
        return hr_fail(error, HR_STATUS_ERROR, "`size` has %d elements; it must have one or two",
                       (int)size->n);
    for (int32_t i = 0; i < 2; i++) {
        double v = (double)size->v[size->n == 1 ? 0 : 1 - i];
        m->out[i] = (int64_t)hr_round(HR_MIN(HR_MAX(v, 1.0), 4294967296.0));
    }
    return HR_STATUS_OK;
}

/* out = a * b, in single precision, as DALI. */
static void multiply(const float *a, const float *b, float *out)
{
    for (int32_t i = 0; i < 9; i++) {
        const float *row = a + i / 3 * 3, *column = b + i % 3;
        out[i] = row[0] * column[0] + row[1] * column[3] + row[2] * column[6];
    }
}

/* By cofactors, in double precision, as OpenCV. A singular matrix becomes 0: it maps all pixels to
 * outside. */
static void invert(float *m)
{
    double cofactor[9], det = 0.0;

    for (int32_t i = 0; i < 9; i++) { /* of row `r`, column `c`: the inverse is transposed */
        const int32_t r = i % 3, c = i / 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3;
        const int32_t c1 = (c + 1) % 3, c2 = (c + 2) % 3;
        cofactor[i] = (double)m[r1 * 3 + c1] * (double)m[r2 * 3 + c2] -
                      (double)m[r1 * 3 + c2] * (double)m[r2 * 3 + c1];
    }
    for (int32_t k = 0; k < 3; k++)
        det += (double)m[k] * cofactor[k * 3];
    for (int32_t i = 0; i < 9; i++)
        m[i] = det != 0.0 ? (float)(cofactor[i] / det) : 0.0f;
}

/* Turns a matrix into one from centres of pixels of the output to those of the input. */
static void prepare(const perspective_args *a, const float *given, float *m)
{
    static const float from[9] = {1, 0, 0.5f, 0, 1, 0.5f, 0, 0, 1};
    static const float to[9] = {1, 0, -0.5f, 0, 1, -0.5f, 0, 0, 1};
    float half[9];

    memcpy(m, given, 9 * sizeof(*m));
    if (strcmp(a->pixel_origin, "corner") == 0) {
        multiply(given, from, half);
        multiply(to, half, m);
    }
    if (!a->inverse_map)
        invert(m);
}

static hr_status set_matrices(const hr_op_call *c, hr_remapped *m, hr_error *error)
{
    const perspective_args *a = c->args;
    hr_floats list;

    if (c->n_in > 1 && a->matrix.n > 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "give either `matrix` or a second input with the matrix, not both");
    HR_TRY(hr__warp_matrices(c, a->matrix, 3, 3, &list, error));
    HR_TRY(hr__warp_frames_check(&list, m->frames, error));
    const int32_t count = list.n / 9;
    float *matrix = hr_arena_alloc(c->arena, (size_t)list.n * sizeof(*matrix), error);
    HR_TRY_ALLOC(matrix);
    for (int32_t k = 0; k < count; k++)
        prepare(a, list.v + (ptrdiff_t)k * 9, matrix + (ptrdiff_t)k * 9);
    m->matrix = matrix;
    m->varies = count > 1;
    return HR_STATUS_OK;
}

static hr_status perspective_infer(hr_op_call *c, hr_error *error)
{
    const perspective_args *a = c->args;
    hr_remapped *m;

    HR_TRY(hr__remapped_begin(c, "HW|HWC|FHWC|CHW|FCHW", a->interp_type, &m, error));
    m->image.border = border_of(a->border_mode);
    HR_TRY(set_fill(c, m, error));
    HR_TRY(set_size(c, m, error));
    HR_TRY(set_matrices(c, m, error));
    return hr__remapped_end(c, m, error);
}

const hr_op_def hr_op_warp_perspective = {
    HR_OP("experimental.warp_perspective"),
    .doc = "Warps images by a perspective map. The input is UINT8, UINT16, INT16 or FLOAT. All "
           "frames of a sequence get the same size; they may have different matrices. Positions "
           "and interpolation are in single precision; integers are rounded, ties to even.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(
        perspective_args,
        HR_ARG(perspective_args, matrix, FLOATS, HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME, "[]",
               "The map: nine numbers, row by row. A position (x, y) in the output becomes (m11 x "
               "+ m12 y + m13, m21 x + m22 y + m23) / (m31 x + m32 y + m33) in the input. The "
               "second input can be given instead."),
        HR_ARG(perspective_args, size, FLOATS,
               HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK, "[]",
               "Output size in pixels: height, width; one number stands for both. Halves are "
               "rounded away from zero, and sizes below 1 are 1. Default: the size of the input."),
        HR_ARG(
            perspective_args, fill_value, FLOATS, HR_ARG_SCALAR_OK, "[]",
            "Value of pixels outside the input for `border_mode` \"constant\", rounded to its "
            "type: one number, or one per channel if channels are the last dimension. Default: 0."),
        HR_ARG(perspective_args, inverse_map, BOOL, 0, "True",
               "True: the matrix maps the output to the input. False: it maps the input to the "
               "output, and is inverted."),
        HR_ARG(perspective_args, interp_type, INTERP, 0, "INTERP_LINEAR",
               "INTERP_NN, INTERP_LINEAR or INTERP_CUBIC."),
        HR_ARG(perspective_args, border_mode, STRING, 0, "\"constant\"",
               "Pixels outside the input: \"constant\" (the fill value), \"replicate\" "
               "(aaa|abcd|ddd), \"reflect\" (cba|abcd|dcb), \"reflect_101\" (dcb|abcd|cba) or "
               "\"wrap\" (bcd|abcd|abc).",
               .choices = "constant|replicate|reflect|reflect_101|wrap"),
        HR_ARG(perspective_args, pixel_origin, STRING, 0, "\"corner\"",
               "Where (0, 0) is: the \"corner\" of the first pixel, or its \"center\".",
               .choices = "corner|center")),
    .in = HR_INPUTS({.name = "input", .layouts = "HW|HWC|FHWC|CHW|FCHW"},
                    {.name = "matrix", .host = true}),
    .in_min = 1,
    .infer = perspective_infer,
    .run = hr__remapped_run,
};
