/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* resize_crop_mirror: resizes only what the window needs. Outside the image, its edge repeats. */
#include "ops/image/resize_crop_mirror.h"

/* Keeps outputs start .. start + size - 1 of the axis. */
static hr_status crop_axis(const hr_crop_range *range, bool mirror, hr_resample_axis *axis,
                           hr_error *error)
{
    double lo = axis->lo, scale = axis->out > 0 ? (axis->hi - lo) / (double)axis->out : 0.0;

    if (range->size > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "a window of %lld pixels is too large",
                       (long long)range->size);
    if (range->start != 0 || range->size != axis->out) {
        axis->lo = lo + (double)range->start * scale;
        axis->hi = lo + (double)(range->start + range->size) * scale;
        axis->out = (int32_t)range->size;
    }
    if (mirror) {
        double hi = axis->hi;
        axis->hi = axis->lo;
        axis->lo = hi;
    }
    return HR_STATUS_OK;
}

/* Whether dimension `dim` is mirrored. As in DALI, bits are counted from the first dimension, even
 * if that is a channel or a frame: only in HWC and DHWC does bit 0 mean the width. */
static bool is_mirrored(int32_t mirror, int32_t axes, int32_t dim)
{
    int32_t bit = axes - 1 - dim;
    return bit >= 0 && (mirror >> bit & 1) != 0;
}

static hr_status crop_and_mirror(const hr_op_call *c, int32_t axes, int32_t first,
                                 hr_resample_axis *axis, hr_error *error)
{
    const hr_resize_crop_mirror_args *a = c->args;
    hr_resample_axis *y = &axis[axes - 2], *x = &axis[axes - 1];
    int32_t w = first + axes - 1;
    hr_crop_box box;

    HR_TRY(hr__crop_box(&a->crop, axes == 3, axes == 3 ? axis[0].out : 1, y->out, x->out, &box,
                        error));
    if (axes == 3)
        HR_TRY(crop_axis(&box.z, is_mirrored(a->mirror, axes, first), &axis[0], error));
    HR_TRY(crop_axis(&box.y, is_mirrored(a->mirror, axes, w - 1), y, error));
    return crop_axis(&box.x, is_mirrored(a->mirror, axes, w), x, error);
}

hr_status hr__resize_crop_mirror_check(const void *args, const hr_given *given, hr_error *error)
{
    HR_TRY(hr__resize_check(args, given, error));
    return hr__crop_check(given, error);
}

hr_status hr__resize_crop_mirror_infer(hr_op_call *c, hr_error *error)
{
    return hr__resize_infer(c, crop_and_mirror, error);
}

hr_status hr__resize_crop_mirror_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    return hr__resize_lower(c, program, crop_and_mirror, error);
}

const hr_op_def hr_op_resize_crop_mirror = {
    HR_OP("resize_crop_mirror"),
    .doc = "Resizes, crops a window of the result and mirrors it, in one step. Without a window, "
           "the whole result is kept. In a window larger than the result, the edge repeats.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(hr_resize_crop_mirror_args, HR_FILTER_ARG_DEFS(hr_resize_args, filter),
            HR_RESIZE_CROP_MIRROR_ARG_DEFS),
    .in = HR_INPUTS({.name = "data", .layouts = HR_RESIZE_LAYOUTS}),
    .check = hr__resize_crop_mirror_check,
    .infer = hr__resize_crop_mirror_infer,
    .lower = hr__resize_crop_mirror_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
    .run = hr__resize_run,
};
