/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* coord_flip: mirrors points about a centre. */
#include "core/core.h"
#include "headrace/operator.h"
#include "ops/geometry/points.h"

#include <string.h>

typedef struct coord_flip_args {
    float center_x, center_y, center_z;
    int32_t flip_x, flip_y, flip_z;
    const char *layout;
} coord_flip_args;

#define CENTER(field)                                                                              \
    HR_ARG(coord_flip_args, field, FLOAT, HR_ARG_PER_SAMPLE, "0.5",                                \
           "Centre of the mirroring along this axis.")
#define FLIP(field, deflt)                                                                         \
    HR_ARG(coord_flip_args, field, INT, HR_ARG_PER_SAMPLE, deflt,                                  \
           "If not 0, mirror this coordinate.")

static void flip_make(const coord_flip_args *a, int32_t ndim, hr_coord_flip *m)
{
    const float centers[] = {a->center_x, a->center_y, a->center_z};
    const int32_t flips[] = {a->flip_x, a->flip_y, a->flip_z};
    static const char axes[] = "xyz";
    const char *letters = a->layout[0] ? a->layout : axes;

    *m = (hr_coord_flip){.ndim = ndim};
    for (int32_t k = 0; k < ndim; k++) {
        const char *letter = letters[k] ? strchr(axes, letters[k]) : NULL;
        m->flipped[k] = letter && flips[letter - axes];
        m->twice[k] = letter ? 2.0f * centers[letter - axes] : 0.0f;
    }
}

static hr_status coord_flip_infer(hr_op_call *c, hr_error *error)
{
    const coord_flip_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_coord_flip *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    char text[128];

    HR_TRY_ALLOC(memo);
    if (in->dtype != HR_DTYPE_FLOAT || in->shape.ndim != 2 || in->shape.extent[1] > 3)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has type %s and shape %s; it must be FLOAT with shape (points, "
                       "coordinates), with 1 to 3 coordinates",
                       hr_dtype_name(in->dtype), hr_shape_text(&in->shape, text, sizeof(text)));
    for (int64_t i = 0; a->layout[0] && i < in->shape.extent[1]; i++)
        if (!strchr(a->layout, "xyz"[i]))
            return hr_fail(
                error, HR_STATUS_ERROR,
                "`layout` is \"%s\"; with %d coordinates it must contain the letter '%c'",
                a->layout, (int)in->shape.extent[1], "xyz"[i]);
    flip_make(a, (int32_t)in->shape.extent[1], memo);
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, in->shape, in->layout.name);
    c->memo = memo;
    return HR_STATUS_OK;
}

static void flip_one(hr_op_call *c)
{
    const hr_coord_flip *m = c->memo;
    const size_t n = (size_t)c->in[0].shape.extent[0], ndim = (size_t)m->ndim;

    for (size_t k = 0; k < ndim; k++) {
        const float *x = (float *)c->in[0].data + k;
        float *y = (float *)c->out[0].data + k;
        for (size_t i = 0; i < n; i++)
            y[i * ndim] = coord_flip_of(m, (int32_t)k, x[i * ndim]);
    }
}

static hr_status coord_flip_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    flip_one(c);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_coord_flip = {
    HR_OP("coord_flip"),
    .doc =
        "Mirrors points: a coordinate x becomes 2 * center - x. Points are the rows of the input.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP,
    HR_ARGS(
        coord_flip_args, CENTER(center_x), CENTER(center_y), CENTER(center_z), FLIP(flip_x, "1"),
        FLIP(flip_y, "0"), FLIP(flip_z, "0"),
        HR_ARG(
            coord_flip_args, layout, LAYOUT, 0, "\"\"",
            "Order of the coordinates, as letters of \"xyz\". Default: \"x\", \"xy\" or \"xyz\".")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = coord_flip_infer,
    .run = coord_flip_run,
};
