/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* paste: an image on a larger canvas. */
#include "ops/pixels/paste.h"
#include "core/core.h"
#include "headrace/operator.h"
#include "ops/image/pixels.h"

#include <string.h>

typedef struct paste_args {
    hr_ints fill_value;
    float ratio, paste_x, paste_y, min_canvas_size;
    int32_t n_channels;
} paste_args;

static hr_status paste_check(const void *args, const hr_given *given, hr_error *error)
{
    const paste_args *a = args;

    (void)given;
    if (a->fill_value.n != 1 && a->fill_value.n != a->n_channels)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`fill_value` has %d elements; give one, or one per channel (%d)",
                       (int)a->fill_value.n, (int)a->n_channels);
    return HR_STATUS_OK;
}

static hr_status values_check(const paste_args *a, const hr_tensor *in, hr_error *error)
{
    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must be UINT8; requested type: uint8 current buffer type: %s",
                       hr_dtype_dali_name(in->dtype));
    if (in->shape.extent[2] != a->n_channels)
        return hr_fail(error, HR_STATUS_ERROR, "the input has %lld channels; `n_channels` is %d",
                       (long long)in->shape.extent[2], (int)a->n_channels);
    if (!(a->ratio >= 1.0f))
        return hr_fail(error, HR_STATUS_ERROR, "`ratio` is %g; it must be at least 1",
                       (double)a->ratio);
    if (!(a->min_canvas_size >= 0.0f))
        return hr_fail(error, HR_STATUS_ERROR,
                       "min_canvas_size_ of less than 0 is not supported; it is %g",
                       (double)a->min_canvas_size);
    if (!(a->paste_x >= 0.0f && a->paste_x <= 1.0f && a->paste_y >= 0.0f && a->paste_y <= 1.0f))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`paste_x` and `paste_y` are %g and %g; they must be from 0 to 1",
                       (double)a->paste_x, (double)a->paste_y);
    return HR_STATUS_OK;
}

/* The canvas along one axis. */
static int64_t canvas(const paste_args *a, int64_t in)
{
    float out = HR_MAX(a->ratio * (float)in, a->min_canvas_size);
    return (int64_t)HR_MIN(out, 0x1p30f);
}

static hr_status paste_infer(hr_op_call *c, hr_error *error)
{
    const paste_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_layout layout;
    hr_paste *p = hr_arena_alloc(c->arena, sizeof(*p), error);
    uint8_t *fill = hr_arena_alloc(c->arena, (size_t)a->n_channels, error);

    HR_TRY_ALLOC(p && fill);
    HR_TRY(hr_layout_match("HWC", &in->layout, in->shape.ndim, &layout, error));
    HR_TRY(values_check(a, in, error));
    for (int32_t i = 0; i < a->n_channels; i++)
        fill[i] = (uint8_t)a->fill_value.v[HR_MIN(i, a->fill_value.n - 1)];
    *p = (hr_paste){.in_h = in->shape.extent[0],
                    .in_w = in->shape.extent[1],
                    .out_h = HR_MAX(canvas(a, in->shape.extent[0]), in->shape.extent[0]),
                    .out_w = HR_MAX(canvas(a, in->shape.extent[1]), in->shape.extent[1]),
                    .channels = a->n_channels,
                    .fill = fill};
    p->y = (int64_t)(a->paste_y * (float)(p->out_h - p->in_h));
    p->x = (int64_t)(a->paste_x * (float)(p->out_w - p->in_w));
    HR_TRY(hr__pixels_check(c, 1, p->out_h, p->out_w, error));
    hr_shape shape = hr_shape_make(3, (const int64_t[]){p->out_h, p->out_w, p->channels});
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, shape, layout.name);
    c->memo = p;
    return HR_STATUS_OK;
}

/* n pixels of the fill. */
static void fill_pixels(const hr_paste *p, uint8_t *to, size_t n)
{
    size_t pixel = (size_t)p->channels, total = n * pixel;

    if (n > 0)
        memcpy(to, p->fill, pixel);
    for (size_t done = pixel; done < total; done *= 2)
        memcpy(to + done, to, HR_MIN(done, total - done));
}

static hr_status paste_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const hr_paste *p = c->memo;
    const uint8_t *src = c->in[0].data;
    uint8_t *dst = c->out[0].data;
    size_t pixel = (size_t)p->channels, in = (size_t)p->in_w * pixel;
    size_t out = (size_t)p->out_w * pixel, below = (size_t)(p->out_h - p->y - p->in_h);
    fill_pixels(p, dst, (size_t)(p->y * p->out_w));
    dst += (size_t)p->y * out;
    for (int64_t y = 0; y < p->in_h; y++, src += in, dst += out) {
        fill_pixels(p, dst, (size_t)p->x);
        if (in > 0)
            memcpy(dst + (size_t)p->x * pixel, src, in);
        fill_pixels(p, dst + (size_t)p->x * pixel + in, (size_t)(p->out_w - p->x - p->in_w));
    }
    fill_pixels(p, dst, below * (size_t)p->out_w);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_paste = {
    HR_OP("paste"),
    .doc = "Puts the image on a larger canvas of one colour. The input is UINT8.",
    .devices = "cpu|gpu",
    HR_ARGS(paste_args,
            HR_ARG(paste_args, fill_value, INTS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                   "Colour of the canvas: one value, or one per channel."),
            HR_ARG(paste_args, ratio, FLOAT, HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE, NULL,
                   "Size of the canvas divided by the size of the image; at least 1. Fractions of "
                   "pixels are truncated."),
            HR_ARG(paste_args, n_channels, INT, 0, "3", "Number of channels of the images.",
                   .min = 1, .max = 1024),
            HR_ARG(paste_args, paste_x, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                   "Horizontal position of the image on the canvas: 0.0 is left, 1.0 is right."),
            HR_ARG(paste_args, paste_y, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                   "Vertical position of the image on the canvas: 0.0 is top, 1.0 is bottom."),
            HR_ARG(paste_args, min_canvas_size, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
                   "Least height and width of the canvas, in pixels.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .check = paste_check,
    .infer = paste_infer,
    .run = paste_run,
};
