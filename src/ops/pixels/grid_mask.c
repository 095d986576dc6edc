/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* grid_mask: sets the squares of a grid to 0. */
#include "ops/pixels/grid_mask.h"
#include "core/core.h"
#include "headrace/operator.h"

typedef struct grid_mask_args {
    int32_t tile;
    float ratio, angle, shift_x, shift_y;
} grid_mask_args;

static hr_status grid_mask_infer(hr_op_call *c, hr_error *error)
{
    const grid_mask_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_grid_mask *g = hr_arena_alloc(c->arena, sizeof(*g), error);

    HR_TRY_ALLOC(g);
    if (in->dtype != HR_DTYPE_UINT8 && in->dtype != HR_DTYPE_INT16 && in->dtype != HR_DTYPE_INT32 &&
        in->dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s; it must be UINT8, INT16, INT32 or FLOAT",
                       hr_dtype_name(in->dtype));
    if (in->shape.ndim != 3)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %d dimensions; it must have 3: height, width, channels",
                       (int)in->shape.ndim);
    if (in->shape.extent[0] > 1 << 24 || in->shape.extent[1] > 1 << 24)
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    if (a->tile < 1)
        return hr_fail(error, HR_STATUS_ERROR, "`tile` is %d; it must be positive", (int)a->tile);
    float tile = (float)a->tile;
    *g = (hr_grid_mask){.dx = (float)hr_cos((double)a->angle) / tile,
                        .dy = (float)hr_sin((double)a->angle) / tile,
                        .shift_x = a->shift_x / tile,
                        .shift_y = a->shift_y / tile,
                        .ratio = a->ratio};
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, in->layout.name);
    c->memo = g;
    return HR_STATUS_OK;
}

/* Element by element: floats keep their sign and NaN, as in a multiplication by 0. */
#define MASK_ROW(type)                                                                             \
    static void mask_##type(type *dst, const type *src, const uint8_t *keep, size_t n,             \
                            size_t channels)                                                       \
    {                                                                                              \
        if (channels == 3) {                                                                       \
            for (size_t x = 0; x < n; x++, src += 3, dst += 3) {                                   \
                dst[0] = (type)(src[0] * (type)keep[x]);                                           \
                dst[1] = (type)(src[1] * (type)keep[x]);                                           \
                dst[2] = (type)(src[2] * (type)keep[x]);                                           \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (size_t x = 0; x < n; x++)                                                             \
            for (size_t c = 0; c < channels; c++, src++, dst++)                                    \
                *dst = (type)(*src * (type)keep[x]);                                               \
    }
MASK_ROW(uint8_t)
MASK_ROW(int16_t)
MASK_ROW(int32_t)
MASK_ROW(float)

static void mask_row(hr_dtype dtype, void *dst, const void *src, const uint8_t *keep, size_t n,
                     size_t channels)
{
    if (dtype == HR_DTYPE_UINT8)
        mask_uint8_t(dst, src, keep, n, channels);
    else if (dtype == HR_DTYPE_INT16)
        mask_int16_t(dst, src, keep, n, channels);
    else if (dtype == HR_DTYPE_INT32)
        mask_int32_t(dst, src, keep, n, channels);
    else
        mask_float(dst, src, keep, n, channels);
}

static hr_status grid_mask_run(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int64_t *extent = in->shape.extent;
    size_t width = (size_t)extent[1], channels = (size_t)extent[2], total;
    size_t row = width * channels * hr_dtype_size(in->dtype);
    uint8_t *keep = hr_arena_alloc(c->arena, width + 1, error);

    HR_TRY_ALLOC(keep);
    if (!hr_shape_volume(&in->shape, &total) || total == 0)
        return HR_STATUS_OK;
    for (int32_t y = 0; y < extent[0]; y++) {
        for (int32_t x = 0; x < (int32_t)width; x++)
            keep[x] = grid_mask_keeps(c->memo, x, y);
        mask_row(in->dtype, (char *)c->out[0].data + (size_t)y * row,
                 (const char *)in->data + (size_t)y * row, keep, width, channels);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_grid_mask = {
    HR_OP("grid_mask"),
    .doc = "Sets the squares of a grid to 0. The input has height, width and channels; its type is "
           "UINT8, INT16, INT32 or FLOAT.",
    .devices = "cpu|gpu",
    HR_ARGS(grid_mask_args,
            HR_ARG(grid_mask_args, tile, INT, HR_ARG_PER_SAMPLE, "100",
                   "Distance from square to square in pixels."),
            HR_ARG(grid_mask_args, ratio, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                   "Side of the squares as a fraction of `tile`: 0 masks nothing, 1 everything."),
            HR_ARG(grid_mask_args, angle, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
                   "Angle of the grid about pixel (0, 0), in radians."),
            HR_ARG(grid_mask_args, shift_x, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
                   "Shift of the grid along its own x axis, in pixels."),
            HR_ARG(grid_mask_args, shift_y, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
                   "Shift of the grid along its own y axis, in pixels.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = grid_mask_infer,
    .run = grid_mask_run,
};
