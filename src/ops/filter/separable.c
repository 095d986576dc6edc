/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/filter/separable.h"

#include <string.h>

enum { CHANNELS_MAX = 64 }; /* of images; with more channels, axes are filtered one by one */

/* The first frame of a tensor. */
static hr_tensor frame_of(const hr_tensor *t, size_t *bytes)
{
    hr_tensor frame = *t;

    frame.shape.ndim--;
    memmove(frame.shape.extent, frame.shape.extent + 1,
            (size_t)frame.shape.ndim * sizeof(*frame.shape.extent));
    hr_tensor_bytes(&frame, bytes);
    return frame;
}

hr_status hr__separable_lower(const hr_op_call *c, hr_image_program *program, int32_t count,
                              hr_dtype dtype, hr_taps_fn taps, hr_error *error)
{
    hr_filters filters;
    hr_data_axes axes;

    HR_TRY(hr__data_axes_of_program(program, &axes, error));
    if (axes.count != 2 || count > 1)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(taps(c, &axes, 0, &filters, error));
    const hr_given_taps y[2] = {filters.taps[0][0], filters.taps[1][0]};
    const hr_given_taps x[2] = {filters.taps[0][1], filters.taps[1][1]};
    return hr_program_filter(program, y, x, filters.count, dtype, error);
}

hr_status hr__separable_infer(hr_op_call *c, const hr_data_axes *axes, int32_t count,
                              hr_dtype dtype, hr_taps_fn taps, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_separable *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    int64_t inner = 1;

    HR_TRY_ALLOC(memo);
    *memo = (hr_separable){.count = count, .in = *in};
    memo->piece = hr_arena_alloc(c->arena, (size_t)HR_MAX(count, 1) * sizeof(*memo->piece), error);
    HR_TRY_ALLOC(memo->piece);
    for (int32_t d = axes->first + axes->count; d < in->shape.ndim; d++)
        inner *= in->shape.extent[d];
    hr_tensor_describe(&c->out[0], dtype, in->shape, in->layout.name);
    memo->out = c->out[0];
    if (count > 1) {
        memo->in = frame_of(in, &memo->in_step);
        memo->out = frame_of(&c->out[0], &memo->out_step);
    }
    memo->in.data = memo->out.data = NULL;
    c->memo = memo;
    for (int32_t i = 0; i < count; i++) {
        hr_resampling *r = &memo->piece[i];
        hr_filters filters;
        hr_tensor from, to;
        memset(r, 0, sizeof(*r));
        r->first = axes->first - (count > 1);
        r->axes = axes->count;
        r->images = axes->count == 2 && inner <= CHANNELS_MAX;
        HR_TRY(taps(c, axes, i, &filters, error));
        r->more_count = filters.count - 1;
        for (int32_t k = 0; k < axes->count; k++) {
            r->axis[k].given = filters.taps[0][k];
            for (int32_t f = 1; f < filters.count; f++)
                r->more[f - 1][k].given = filters.taps[f][k];
        }
        hr_op_call call = hr__separable_piece(c, i, &from, &to);
        HR_TRY(hr__resample_infer(&call, r, error));
    }
    return HR_STATUS_OK;
}

hr_status hr__separable_run(hr_op_call *c, hr_error *error)
{
    const hr_separable *memo = c->memo;
    for (int32_t i = 0; i < memo->count; i++) {
        hr_tensor in, out;
        hr_op_call call = hr__separable_piece(c, i, &in, &out);
        HR_TRY(hr__resample_run(&call, &memo->piece[i], error));
    }
    return HR_STATUS_OK;
}
