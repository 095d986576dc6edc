/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.resize: resizes as torchvision does with Pillow. Differs from resize in the size of
 * the longer side, which is truncated, and in the edges: taps outside the image have no weight.
 * Pillow rounds between the passes, which is visible where a filter overshoots: two nodes, of which
 * one has `first_pass`, do the same. */
#include "image/program.h"
#include "ops/image/pixels.h"

typedef struct tv_resize_args {
    hr_ints size;
    int32_t max_size, interp_type, antialias, first_pass;
} tv_resize_args;

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

const hr_op_def hr_op_torchvision_resize = {
    HR_OP("_torchvision.resize"),
    .doc = "Resizes images as torchvision does with Pillow.",
    .devices = "cpu|gpu",
    .flags = HR_OP_HIDDEN,
    HR_ARGS(
        tv_resize_args,
        HR_ARG(tv_resize_args, size, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
               "Height and width, or the length of the shorter side.", .min = 1, .max = 2147483647,
               .count_min = 1, .count_max = 2),
        HR_ARG(tv_resize_args, max_size, INT, 0, "0",
               "Upper limit of the longer side, or its length if there is no size; 0: none.",
               .min = 0, .max = 2147483647),
        HR_ARG(tv_resize_args, interp_type, INTERP, 0, "INTERP_LINEAR", "The filter."),
        HR_ARG(tv_resize_args, antialias, BOOL, 0, "True", "Widen the filter on axes that shrink."),
        HR_ARG(tv_resize_args, first_pass, BOOL, 0, "False",
               "Resize only the axis that Pillow resizes first.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|CHW"}),
    .lower = tv_resize_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
};
