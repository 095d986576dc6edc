/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* tensor_resize: resizes any axes of a tensor. */
#include <math.h>
#include <string.h>

#include "ops/common/axes.h"
#include "ops/image/filters.h"
#include "ops/image/resample.h"
#include "ops/image/resize_size.h"

enum { CHANNELS_MAX = 4 }; /* of images; with more channels, axes are resampled one by one */

typedef struct tensor_resize_args {
    hr_filter_args filter;
    hr_ints axes;
    const char *axis_names, *mode, *size_rounding;
    hr_floats alignment, max_size, roi_start, roi_end, scales, sizes;
    int32_t roi_relative, subpixel_scale;
} tensor_resize_args;

#define WHEN_GIVEN (HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK)

static hr_status tensor_resize_check(const void *args, const hr_given *given, hr_error *error)
{
    const tensor_resize_args *a = args;

    if (hr_arg_given(given, "sizes") == hr_arg_given(given, "scales"))
        return hr_fail(error, HR_STATUS_ERROR, "exactly one of `sizes` and `scales` must be given");
    if (hr_arg_given(given, "scales") && strncmp(a->mode, "not_", 4) == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Providing `scales` is incompatible with the mode \"%s\"", a->mode);
    if (hr_arg_given(given, "roi_start") != hr_arg_given(given, "roi_end"))
        return hr_fail(error, HR_STATUS_ERROR, "`roi_start` and `roi_end` must be given together");
    return HR_STATUS_OK;
}

static hr_status spread(hr_floats list, const char *name, const int32_t *dims, int32_t count,
                        float *out, hr_error *error)
{
    if (!list.v)
        return HR_STATUS_OK;
    if (list.n != 1 && list.n != count)
        return hr_fail(error, HR_STATUS_ERROR, "`%s` has %d elements; it must have %d, or one",
                       name, (int)list.n, (int)count);
    for (int32_t i = 0; i < count; i++)
        out[dims[i]] = list.v[list.n == 1 ? 0 : i];
    return HR_STATUS_OK;
}

/* The axes in the order of the list arguments. */
static hr_status find_axes(const hr_op_call *c, int32_t *dims, int32_t *count, hr_error *error)
{
    const tensor_resize_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    uint32_t mask;

    HR_TRY(hr__axes_mask(a->axes, a->axis_names, in, &mask, error));
    *count = 0;
    for (int32_t i = 0; a->axes.v && i < a->axes.n; i++)
        dims[(*count)++] = a->axes.v[i] + (a->axes.v[i] < 0 ? in->shape.ndim : 0);
    for (const char *letter = a->axis_names; letter && *letter; letter++)
        dims[(*count)++] = hr_layout_find(&in->layout, *letter);
    for (int32_t d = 0; !a->axes.v && !a->axis_names && d < in->shape.ndim; d++)
        dims[(*count)++] = d;
    return HR_STATUS_OK;
}

static hr_resize_mode mode_of(const char *mode)
{
    if (strcmp(mode, "default") == 0)
        return HR_RESIZE_MODE_DEFAULT;
    if (strcmp(mode, "stretch") == 0)
        return HR_RESIZE_MODE_STRETCH;
    return strcmp(mode, "not_larger") == 0 ? HR_RESIZE_MODE_NOT_LARGER : HR_RESIZE_MODE_NOT_SMALLER;
}

/* Requests sizes for all axes; axes that are not named keep their extents. */
static hr_status request_make(const hr_op_call *c, hr_resize_request *q, hr_error *error)
{
    const tensor_resize_args *a = c->args;
    const hr_shape *shape = &c->in[0].shape;
    float scales[HR_MAX_NDIM] = {0}, align[HR_MAX_NDIM];
    int32_t dims[HR_MAX_NDIM], count;

    HR_TRY(find_axes(c, dims, &count, error));
    *q = (hr_resize_request){.axes = shape->ndim,
                             .mode = mode_of(a->mode),
                             .rounding = a->size_rounding[0] == 't'   ? HR_RESIZE_ROUNDING_DOWN
                                         : a->size_rounding[0] == 'c' ? HR_RESIZE_ROUNDING_UP
                                                                      : HR_RESIZE_ROUNDING_NEAREST,
                             .subpixel = a->subpixel_scale != 0};
    for (int32_t d = 0; d < shape->ndim; d++) {
        q->size[d] = q->hi[d] = (float)shape->extent[d];
        align[d] = a->alignment.v ? 0.0f : 0.5f; /* 0: DALI's, for axes that are not named */
    }
    HR_TRY(spread(a->sizes, "sizes", dims, count, q->size, error));
    HR_TRY(spread(a->scales, "scales", dims, count, scales, error));
    HR_TRY(spread(a->max_size, "max_size", dims, count, q->max_size, error));
    HR_TRY(spread(a->alignment, "alignment", dims, count, align, error));
    HR_TRY(spread(a->roi_start, "roi_start", dims, count, q->lo, error));
    HR_TRY(spread(a->roi_end, "roi_end", dims, count, q->hi, error));
    for (int32_t i = 0; i < count; i++) {
        const int32_t d = dims[i];
        if (a->roi_relative && a->roi_start.v) {
            q->lo[d] *= (float)shape->extent[d];
            q->hi[d] *= (float)shape->extent[d];
        }
        if (a->scales.v)
            q->size[d] = scales[d] * (float)shape->extent[d];
    }
    for (int32_t d = 0; d < shape->ndim; d++)
        q->off_centre[d] = align[d] - 0.5f;
    return HR_STATUS_OK;
}

/* Whether axis d keeps the extent of the whole input. The region that rounding changed is compared
 * after truncation to whole elements, as in DALI. (DALI truncates what the user gives, too, and so
 * ignores [0.5, 3) of 3.) */
static bool is_kept(const hr_resize_request *q, const hr_resample_axis *axis, int32_t d,
                    int64_t extent)
{
    return q->lo[d] == 0.0f && q->hi[d] == (float)extent && axis->lo <= axis->hi &&
           axis->out == extent && (int64_t)axis->lo == 0 && (int64_t)axis->hi == extent;
}

/* As in DALI, axes are skipped only at the two ends of the shape, first at the front, and at least
 * two axes are resampled. GAUSSIAN, which filters also at scale 1, makes this visible. */
static void find_block(const hr_resize_request *q, const hr_shape *shape,
                       const hr_resample_axis *axis, hr_resampling *r)
{
    const int64_t *extent = shape->extent;
    int32_t first = 0, end = shape->ndim;
    size_t inner = 1;

    while (end - first > 2 && is_kept(q, &axis[first], first, extent[first]))
        first++;
    while (end - first > 2 && is_kept(q, &axis[end - 1], end - 1, extent[end - 1])) {
        end--;
        inner *= (size_t)extent[end];
    }
    *r = (hr_resampling){.first = first, .axes = end - first};
    r->images = r->axes == 2 && inner <= CHANNELS_MAX;
    for (int32_t i = 0; i < r->axes; i++)
        r->axis[i].resample = axis[first + i];
}

static hr_status tensor_resize_infer(hr_op_call *c, hr_error *error)
{
    const tensor_resize_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_resampling *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    hr_resample_axis axis[HR_MAX_NDIM] = {0};
    hr_shape shape = in->shape;
    hr_resize_request q;
    hr_dtype dtype;
    size_t volume = 0;

    HR_TRY_ALLOC(memo);
    if (in->shape.ndim < 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is a number without dimensions, which cannot be resized");
    HR_TRY(hr__filter_dtype(&a->filter, in->dtype, &dtype, error));
    HR_TRY(request_make(c, &q, error));
    HR_TRY(hr__resize_solve(&q, axis, error));
    for (int32_t d = 0; d < shape.ndim; d++) {
        hr__filter_choose(&a->filter, &axis[d]);
        shape.extent[d] = in->shape.extent[d] > 0 ? axis[d].out : 0;
    }
    find_block(&q, &in->shape, axis, memo);
    if (!hr_shape_volume(&shape, &volume) || volume > (size_t)1 << 40)
        return hr_fail(error, HR_STATUS_LIMIT, "the resized tensor is too large");
    hr_tensor_describe(&c->out[0], dtype, shape, in->layout.name);
    c->memo = memo;
    return hr__resample_infer(c, memo, error);
}

static hr_status tensor_resize_run(hr_op_call *c, hr_error *error)
{
    return hr__resample_run(c, c->memo, error);
}

const hr_op_def hr_op_tensor_resize = {
    HR_OP("tensor_resize"),
    .doc = "Resizes any axes of a tensor, as `resize` resizes images. Inputs are UINT8, INT16, "
           "UINT16 or FLOAT; the output has the type of the input or FLOAT.",
    .aliases = HR_NAMES("experimental.tensor_resize"),
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        tensor_resize_args, HR_FILTER_ARG_DEFS(tensor_resize_args, filter),
        HR_AXES_ARG_DEFS(tensor_resize_args),
        HR_ARG(tensor_resize_args, alignment, FLOATS, WHEN_GIVEN, "[0.5]",
               "The point of the region that does not move when the size is rounded: 0 the start, "
               "0.5 the centre, 1 the end. If given, it is 0 for axes that are not named."),
        HR_ARG(tensor_resize_args, max_size, FLOATS, HR_ARG_OPTIONAL, NULL,
               "Upper limit of the output extents, one for all axes or one per axis."),
        HR_ARG(tensor_resize_args, mode, STRING, 0, "\"default\"",
               "How axes without a size are scaled: see `resize`.",
               .choices = "default|stretch|not_larger|not_smaller"),
        HR_ARG(tensor_resize_args, roi_start, FLOATS, WHEN_GIVEN, NULL,
               "Start of the region to resize, one element per axis. Needs `roi_end`."),
        HR_ARG(tensor_resize_args, roi_end, FLOATS, WHEN_GIVEN, NULL,
               "End of the region to resize."),
        HR_ARG(tensor_resize_args, roi_relative, BOOL, 0, "False",
               "The region is given in fractions of the extents of the input."),
        HR_ARG(
            tensor_resize_args, scales, FLOATS, WHEN_GIVEN, NULL,
            "Factors of the extents of the input, one per axis or one for all, whatever the region "
            "is. Not together with `sizes`, or with the modes `not_larger` and `not_smaller`."),
        HR_ARG(tensor_resize_args, size_rounding, STRING, 0, "\"round\"",
               "How sizes are rounded to whole numbers.", .choices = "round|truncate|ceil"),
        HR_ARG(tensor_resize_args, sizes, FLOATS, WHEN_GIVEN, NULL,
               "Extents of the output, one per axis or one for all. 0: `mode` decides. Negative: "
               "the axis is mirrored."),
        HR_ARG(tensor_resize_args, subpixel_scale, BOOL, 0, "True",
               "If a size is not a whole number, move the ends of the region so that the scale is "
               "not changed by rounding.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = tensor_resize_check,
    .infer = tensor_resize_infer,
    .run = tensor_resize_run,
};
