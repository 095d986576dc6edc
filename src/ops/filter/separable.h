/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Operators that filter data axes with given taps. Images whose frames have the same taps are a
 * step of an image program. Everything else is processed piece by piece: one per frame, if frames
 * have taps of their own. */
#pragma once

#include "image/program.h"
#include "ops/filter/axes.h"
#include "ops/image/resample.h"

/* Makes the taps for one frame, in memory of the arena: of each filter, and each of its axes. The
 * results of `count` filters are added. */
typedef struct hr_filters {
    int32_t count;
    hr_given_taps taps[HR_DATA_AXES_MAX][HR_DATA_AXES_MAX];
} hr_filters;
typedef hr_status (*hr_taps_fn)(const hr_op_call *c, const hr_data_axes *axes, int64_t frame,
                                hr_filters *out, hr_error *error);

/* The memo of infer. */
typedef struct hr_separable {
    int32_t count;            /* of pieces */
    hr_tensor in, out;        /* the first piece's, without data */
    size_t in_step, out_step; /* bytes from piece to piece */
    hr_resampling *piece;
} hr_separable;

/* Adds the filters of the one frame to a program, if it has two data axes and `count`, the number
 * of pieces, is 1. */
hr_status hr__separable_lower(const hr_op_call *c, hr_image_program *program, int32_t count,
                              hr_dtype dtype, hr_taps_fn taps, hr_error *error);
/* Describes output 0, and prepares `count` pieces: 1, or one per frame. */
hr_status hr__separable_infer(hr_op_call *c, const hr_data_axes *axes, int32_t count,
                              hr_dtype dtype, hr_taps_fn taps, hr_error *error);
/* `run` of these operators. */
hr_status hr__separable_run(hr_op_call *c, hr_error *error);

/* The call for piece i of a call; `in` and `out` get its tensors. */
static inline hr_op_call hr__separable_piece(const hr_op_call *c, int32_t i, hr_tensor *in,
                                             hr_tensor *out)
{
    const hr_separable *memo = (const hr_separable *)c->memo;
    hr_op_call call = *c;

    *in = memo->in;
    *out = memo->out;
    if (c->in[0].data != NULL)
        in->data = (char *)c->in[0].data + (size_t)i * memo->in_step;
    if (c->out[0].data != NULL)
        out->data = (char *)c->out[0].data + (size_t)i * memo->out_step;
    call.in = in;
    call.n_in = 1;
    call.out = out;
    call.memo = &memo->piece[i];
    return call;
}
