/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* crop: takes a window of images, sequences and volumes: a step of an image program, or, if it
 * repeats the image outside of it, copied in parts. */
#include "ops/generic/border_parts.h"
#include "ops/generic/window_parts.h"
#include "ops/image/crop_window.h"
#include "ops/common/wrap.h"

#include <string.h>

#define LAYOUTS "HWC|CHW|DHWC|CDHW|FHWC|FCHW|CFHW|FDHWC|FCDHW|CFDHW|HW|DHW"

typedef struct crop_args {
    hr_crop_args crop;
    const char *out_of_bounds_policy;
    int32_t dtype;
    hr_floats fill_values;
} crop_args;

static hr_status crop_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)args;
    return hr__crop_check(given, error);
}

static hr_status output_type(const crop_args *a, hr_dtype in, hr_dtype *out, hr_error *error)
{
    *out = a->dtype == HR_DTYPE_NONE ? in : (hr_dtype)a->dtype;
    if (*out == in || *out == HR_DTYPE_FLOAT || *out == HR_DTYPE_FLOAT16 || *out == HR_DTYPE_UINT8)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`dtype` is %s: it must be the input's type, %s, or FLOAT, FLOAT16, UINT8",
                   hr_dtype_name(*out), hr_dtype_name(in));
}

static bool sticks_out(const hr_crop_box *b, int64_t depth, int64_t height, int64_t width)
{
    return b->z.start < 0 || b->z.size > depth - b->z.start || b->y.start < 0 ||
           b->y.size > height - b->y.start || b->x.start < 0 || b->x.size > width - b->x.start;
}

static hr_status crop_lower(hr_op_call *c, hr_image_program *p, hr_error *error)
{
    const crop_args *a = c->args;
    hr_bounds bounds = hr__bounds_parse(a->out_of_bounds_policy);
    char depth = hr__crop_depth_axis(p);
    int64_t d = depth ? hr_program_extent(p, depth) : 1, h = hr_program_extent(p, 'H');
    int64_t w = hr_program_extent(p, 'W');
    float values[HR_CHANNELS_MAX] = {0}, *fill = bounds == HR_BOUNDS_PAD ? values : NULL;
    hr_point_step cut = {.kind = HR_POINT_KIND_CUT};
    hr_image_program before = *p;
    int32_t fills = HR_MAX(a->fill_values.n, 1); /* an empty list means zero */
    hr_crop_box box;

    HR_TRY(output_type(a, hr_program_dtype(p), &cut.dtype, error));
    HR_TRY(hr__crop_box(&a->crop, depth != 0, d, h, w, &box, error));
    HR_TRY(hr__crop_bound(c, &box, bounds, d, h, w, error));
    if (bounds == HR_BOUNDS_REPEAT && sticks_out(&box, d, h, w))
        return HR_STATUS_NOT_FUSABLE;
    if (a->fill_values.n > HR_CHANNELS_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`fill_values` has %d elements: it can have at most %d",
                       (int)a->fill_values.n, HR_CHANNELS_MAX);
    for (int32_t i = 0; i < a->fill_values.n; i++)
        values[i] = hr__value_wrap(a->fill_values.v[i], cut.dtype);
    hr_window window = {box.y.start, box.x.start, box.y.size, box.x.size};
    hr_status status = hr_program_point(p, &cut, error);
    if (status == HR_STATUS_OK && (box.z.start != 0 || box.z.size != d))
        status = hr_program_crop_outer(p, depth, box.z.start, box.z.size, fill, fills, error);
    if (status == HR_STATUS_OK)
        status = hr_program_crop(p, window, fill, fills, error);
    if (status != HR_STATUS_OK)
        *p = before;
    return status;
}

/* Any window, outside of an image program. */
static hr_status crop_infer(hr_op_call *c, hr_error *error)
{
    const crop_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    int64_t start[HR_MAX_NDIM] = {0}, size[HR_MAX_NDIM];
    const float zero = 0.0f;
    hr_border border = HR_BORDER_CONSTANT;
    hr_layout layout;
    hr_dtype dtype;
    hr_crop_box box;

    HR_TRY(hr_layout_match(LAYOUTS, &in->layout, in->shape.ndim, &layout, error));
    int32_t z = hr_layout_find(&layout, 'D'), y = hr_layout_find(&layout, 'H');
    int32_t x = hr_layout_find(&layout, 'W');
    if (z < 0)
        z = hr_layout_find(&layout, 'F');
    int64_t d = z < 0 ? 1 : in->shape.extent[z], h = in->shape.extent[y], w = in->shape.extent[x];
    HR_TRY(output_type(a, in->dtype, &dtype, error));
    HR_TRY(hr__crop_box(&a->crop, z >= 0, d, h, w, &box, error));
    HR_TRY(hr__crop_bound(c, &box, hr__bounds_parse(a->out_of_bounds_policy), d, h, w, error));
    hr__border_named(a->out_of_bounds_policy, &border);
    memcpy(size, in->shape.extent, sizeof(size));
    const hr_crop_range *const ranges[] = {&box.z, &box.y, &box.x};
    const int32_t axes[] = {z, y, x};
    for (int32_t i = 0; i < 3; i++) {
        if (axes[i] < 0)
            continue;
        start[axes[i]] = ranges[i]->start;
        size[axes[i]] = ranges[i]->size;
    }
    hr_tensor_describe(&c->out[0], dtype, hr_shape_make(in->shape.ndim, size), layout.name);
    if (border != HR_BORDER_CONSTANT)
        return hr__border_parts(c, start, border, error);
    return hr__window_parts(c, start, a->fill_values.n ? a->fill_values.v : &zero,
                            HR_MAX(a->fill_values.n, 1), hr_layout_find(&layout, 'C'), error);
}

const hr_op_def hr_op_crop = {
    HR_OP("crop"),
    .doc =
        "Takes a window of height and width, and of the depth of volumes or the frames of "
        "sequences if `crop_d` or three elements of `crop` are given. The layout does not change.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        crop_args, HR_CROP_ARG_DEFS(crop_args, crop),
        HR_ARG(crop_args, out_of_bounds_policy, STRING, 0, "\"error\"",
               "What to do if the window extends beyond the image: \"error\"; \"trim_to_shape\" "
               "(make the window smaller); \"pad\" or \"constant\" (fill with `fill_values`); "
               "\"clamp\" or \"edge\" (aaa|abcd|ddd); \"reflect_1001\" or \"reflect\" "
               "(cba|abcd|dcb); \"reflect_101\" (dcb|abcd|cba); \"wrap\" (bcd|abcd|abc).",
               .choices = HR_BOUNDS_CHOICES "|" HR_BOUNDS_REPEAT_CHOICES),
        HR_ARG(crop_args, fill_values, FLOATS, 0, "[0.0]",
               "What \"pad\" writes outside the image: one value, or one per channel."),
        HR_ARG(crop_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
               "Type of the output: that of the input (default), FLOAT, FLOAT16 or UINT8. "
               "Fractions are truncated, and values outside the range saturate."),
        HR_ARG_RENAMED(output_dtype, DTYPE, dtype, "0.24"),
        HR_ARG_GONE(image_type, IMAGE_TYPE, NULL, "0.24")),
    .in = HR_INPUTS({.name = "data", .layouts = LAYOUTS}),
    .check = crop_check,
    .infer = crop_infer,
    .lower = crop_lower,
    .lower_rank = HR_LOWER_RANK_WINDOW,
    .run = hr__parts_run,
};
