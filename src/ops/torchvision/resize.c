/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.resize: resizes as torchvision does with Pillow. Differs from resize in the size of
 * the longer side, which is truncated, and in the edges: taps outside the image have no weight.
 * Pillow rounds between the passes, which is visible where a filter overshoots: two nodes, of which
 * one has `first_pass`, do the same. resize_mask and resize_boxes: of what belongs to an image. */
#include "image/program.h"
#include "ops/image/pixels.h"
#include "ops/torchvision/rows.h"

#include <math.h>
#include <string.h>

typedef struct tv_resize_args {
    hr_ints size;
    int32_t max_size, interp_type, antialias, first_pass;
} tv_resize_args;

static const hr_arg_def tv_resize_arg_defs[] = {
    HR_ARG(tv_resize_args, size, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
           "Height and width, or the length of the shorter side.", .min = 1, .max = 2147483647,
           .count_min = 1, .count_max = 2),
    HR_ARG(tv_resize_args, max_size, INT, 0, "0",
           "Upper limit of the longer side, or its length if there is no size; 0: none.", .min = 0,
           .max = 2147483647),
    HR_ARG(tv_resize_args, interp_type, INTERP, HR_ARG_PER_SAMPLE, "INTERP_LINEAR", "The filter."),
    HR_ARG(tv_resize_args, antialias, BOOL, 0, "True", "Widen the filter on axes that shrink."),
    HR_ARG(tv_resize_args, first_pass, BOOL, 0, "False",
           "Resize only the axis that Pillow resizes first."),
    HR_ARG_END};

static hr_status size_make(const tv_resize_args *a, int64_t h, int64_t w, int64_t *out,
                           hr_error *error)
{
    int64_t *shorter = h <= w ? &out[0] : &out[1], *longer = h <= w ? &out[1] : &out[0];
    int64_t least = HR_MIN(h, w), most = HR_MAX(h, w), limit = a->max_size;

    if (a->size.n == 2) {
        out[0] = a->size.v[0];
        out[1] = a->size.v[1];
        return HR_STATUS_OK;
    }
    if (a->size.n == 0 && limit == 0)
        return hr_fail(error, HR_STATUS_ERROR, "one of `size` and `max_size` must be given");
    *shorter = a->size.n == 1 ? a->size.v[0] : limit * least / most;
    *longer = a->size.n == 1 ? *shorter * most / least : limit;
    if (limit > 0 && *longer > limit) {
        *shorter = limit * *shorter / *longer;
        *longer = limit;
    }
    *shorter = HR_MAX(*shorter, 1);
    return HR_STATUS_OK;
}

static hr_status tv_resize_lower(hr_op_call *c, hr_image_program *p, hr_error *error)
{
    const tv_resize_args *a = c->args;
    int64_t h = hr_program_extent(p, 'H'), w = hr_program_extent(p, 'W');
    int64_t out[2] = {0, 0};
    bool wide = a->antialias != 0;

    if (h < 1 || w < 1)
        return hr_fail(error, HR_STATUS_ERROR, "an image without pixels cannot be resized");
    HR_TRY(size_make(a, h, w, out, error));
    if (a->first_pass) {
        bool vertical = h > out[0] && h - out[0] > 2 * (w - out[1]);
        out[vertical] = vertical ? w : h;
    }
    HR_TRY(hr__pixels_check(c, 1, out[0], out[1], error));
    hr_resample_axis y = {.hi = (double)h, .out = (int32_t)out[0]}, x;
    y.interp = (hr_interp)a->interp_type;
    y.antialias = wide;
    y.cut = wide || y.interp == HR_INTERP_NN;
    x = y;
    x.hi = (double)w;
    x.out = (int32_t)out[1];
    if (y.interp != HR_INTERP_CUBIC)
        return hr_program_resample(p, &y, &x, hr_program_dtype(p), error);
    /* Coefficients with more bits than those of the integer path. */
    hr_dtype dtype = hr_program_dtype(p);
    HR_TRY(hr_program_resample(p, &y, &x, HR_DTYPE_FLOAT, error));
    return hr_program_cast(p, dtype, error);
}

/* ---- masks: the nearest positions that PyTorch takes, which are rounded down ---- */

static hr_status resize_mask_infer(hr_op_call *c, hr_error *error)
{
    const int64_t *extent = c->in[0].shape.extent;
    int64_t out[3] = {0, 0, extent[2]};

    if (extent[0] < 1 || extent[1] < 1)
        return hr_fail(error, HR_STATUS_ERROR, "a mask without pixels cannot be resized");
    HR_TRY(size_make(c->args, extent[0], extent[1], out, error));
    HR_TRY(hr__pixels_check(c, 1, out[0], out[1], error));
    hr_tensor_describe(&c->out[0], c->in[0].dtype, hr_shape_make(3, out), "HWC");
    return HR_STATUS_OK;
}

static int64_t source_of(int64_t i, int64_t in, int64_t out)
{
    float scale = (float)in / (float)out;
    return HR_MIN((int64_t)floorf((float)i * scale), in - 1);
}

static hr_status resize_mask_one(const hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0], *out = &c->out[0];
    const int64_t *from = in->shape.extent, *to = out->shape.extent;
    size_t pixel = hr_dtype_size(in->dtype) * (size_t)from[2];
    int64_t *columns = hr_arena_alloc(c->arena, sizeof(*columns) * (size_t)to[1], error);
    char *at = out->data;

    HR_TRY_ALLOC(columns);
    for (int64_t x = 0; x < to[1]; x++)
        columns[x] = source_of(x, from[1], to[1]);
    for (int64_t y = 0; y < to[0]; y++) {
        size_t row = (size_t)source_of(y, from[0], to[0]) * (size_t)from[1];
        const char *line = (const char *)in->data + row * pixel;
        if (pixel == 1) {
            for (int64_t x = 0; x < to[1]; x++)
                *at++ = line[columns[x]];
            continue;
        }
        for (int64_t x = 0; x < to[1]; x++, at += pixel)
            memcpy(at, line + (size_t)columns[x] * pixel, pixel);
    }
    return HR_STATUS_OK;
}

static hr_status resize_mask_run(hr_op_call *c, hr_error *error)
{
    return resize_mask_one(c, error);
}

const hr_op_def hr_op_torchvision_resize_mask = {
    HR_OP("_torchvision.resize_mask"),
    .doc = "Resizes masks as torchvision does with PyTorch.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN,
    .args = tv_resize_arg_defs,
    .args_size = sizeof(tv_resize_args),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .infer = resize_mask_infer,
    .run = resize_mask_run,
};

/* ---- boxes ---- */

static hr_status resize_boxes(const hr_op_call *c, hr_box_rows *rows, hr_error *error)
{
    int64_t h = hr__rows_height(rows), w = hr__rows_width(rows), out[2] = {0, 0};

    if (h < 1 || w < 1)
        return hr_fail(error, HR_STATUS_ERROR, "an image without pixels cannot be resized");
    HR_TRY(size_make(c->args, h, w, out, error));
    const float ratio[2] = {(float)((double)out[1] / (double)w),
                            (float)((double)out[0] / (double)h)};
    for (int64_t i = 1; i < rows->n; i++)
        for (int32_t k = 0; k < 4; k++)
            rows->v[i * HR_ROW + k] *= ratio[k % 2];
    hr__rows_resize(rows, out[0], out[1]);
    return HR_STATUS_OK;
}

static hr_status resize_boxes_run(hr_op_call *c, hr_error *error)
{
    return hr__rows_run(c, resize_boxes, error);
}

const hr_op_def hr_op_torchvision_resize_boxes = {
    HR_OP("_torchvision.resize_boxes"),
    .doc = "Resizes boxes with their image.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    .args = tv_resize_arg_defs,
    .args_size = sizeof(tv_resize_args),
    .in = HR_INPUTS({.name = "boxes", .host = true}),
    .infer = hr__rows_infer,
    .run = resize_boxes_run,
};

const hr_op_def hr_op_torchvision_resize = {
    HR_OP("_torchvision.resize"),
    .doc = "Resizes images as torchvision does with Pillow.",
    .devices = "cpu|gpu",
    .flags = HR_OP_HIDDEN,
    .args = tv_resize_arg_defs,
    .args_size = sizeof(tv_resize_args),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|CHW"}),
    .lower = tv_resize_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
};
