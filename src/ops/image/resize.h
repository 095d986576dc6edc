/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What resize and resize_crop_mirror share. */
#pragma once

#include "ops/image/filters.h"
#include "ops/image/resample.h"

/* The args structs of resize and resize_crop_mirror begin with these. */
typedef struct hr_resize_args {
    hr_filter_args filter;
    hr_floats size, max_size, roi_start, roi_end;
    float resize_x, resize_y, resize_z, resize_shorter, resize_longer;
    const char *mode;
    int32_t subpixel_scale, roi_relative;
} hr_resize_args;

#define HR_RESIZE_WHEN_GIVEN (HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL)
/* Describes the hr_resize_args called `from` in the args struct S; the filter's arguments are
 * described by HR_FILTER_ARG_DEFS. */
#define HR_RESIZE_ARG_DEFS(S, from)                                                                \
    HR_RESIZE_ARG(                                                                                 \
        S, from, size, FLOATS, HR_RESIZE_WHEN_GIVEN, NULL,                                         \
        "Output size in pixels: (depth,) height, width, or one number for all axes. 0 means not "  \
        "given: `mode` decides. With a negative size, the axis is mirrored. Halves are rounded "   \
        "away from zero.",                                                                         \
        .excludes = "resize_x|resize_y|resize_z|resize_shorter|resize_longer"),                    \
        HR_RESIZE_ARG(S, from, resize_x, FLOAT, HR_RESIZE_WHEN_GIVEN, "0.0",                       \
                      "Output width in pixels; 0: not given."),                                    \
        HR_RESIZE_ARG(S, from, resize_y, FLOAT, HR_RESIZE_WHEN_GIVEN, "0.0",                       \
                      "Output height in pixels; 0: not given."),                                   \
        HR_RESIZE_ARG(S, from, resize_z, FLOAT, HR_RESIZE_WHEN_GIVEN, "0.0",                       \
                      "Output depth in slices; 0: not given."),                                    \
        HR_RESIZE_ARG(S, from, resize_shorter, FLOAT, HR_RESIZE_WHEN_GIVEN, "0.0",                 \
                      "Length of the shortest side in pixels. The aspect ratio is kept.",          \
                      .excludes = "resize_x|resize_y|resize_z|resize_longer|mode"),                \
        HR_RESIZE_ARG(S, from, resize_longer, FLOAT, HR_RESIZE_WHEN_GIVEN, "0.0",                  \
                      "Length of the longest side in pixels. The aspect ratio is kept.",           \
                      .excludes = "resize_x|resize_y|resize_z|mode"),                              \
        HR_RESIZE_ARG(                                                                             \
            S, from, max_size, FLOATS, HR_ARG_OPTIONAL, NULL,                                      \
            "Upper limit of the output size in pixels: one for all axes, or one per axis."),       \
        HR_RESIZE_ARG(                                                                             \
            S, from, mode, STRING, HR_ARG_OPTIONAL, "\"default\"",                                 \
            "How sizes are used. \"default\": axes without a size keep the aspect ratio. "         \
            "\"stretch\": axes without a size are not scaled. \"not_larger\" and "                 \
            "\"not_smaller\": all "                                                                \
            "axes have the same scale, so that none is larger (smaller) than its size.",           \
            .choices = "default|stretch|not_larger|not_smaller"),                                  \
        HR_RESIZE_ARG(                                                                             \
            S, from, roi_start, FLOATS, HR_RESIZE_WHEN_GIVEN, NULL,                                \
            "Start of the region to resize, in pixels or relative; needs `roi_end`. If the "       \
            "start is "                                                                            \
            "greater than the end, the axis is mirrored."),                                        \
        HR_RESIZE_ARG(S, from, roi_end, FLOATS, HR_RESIZE_WHEN_GIVEN, NULL,                        \
                      "End of the region to resize."),                                             \
        HR_RESIZE_ARG(S, from, roi_relative, BOOL, 0, "False",                                     \
                      "Whether the region is given in fractions of the input's extents."),         \
        HR_RESIZE_ARG(                                                                             \
            S, from, subpixel_scale, BOOL, 0, "True",                                              \
            "If the requested size is not an integer, move the ends of the region so that "        \
            "rounding "                                                                            \
            "the size does not change the scale.")
#define HR_RESIZE_ARG(S, from, arg, kind, flag, deflt, ...)                                        \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = (flag),                                 \
        .offset = offsetof(S, from.arg), .size = sizeof(((S *)0)->from.arg), .def = (deflt),       \
        .doc = __VA_ARGS__                                                                         \
    }

#define HR_RESIZE_LAYOUTS "HWC|FHWC|CHW|FCHW|CFHW|DHWC|FDHWC|CDHW|FCDHW|CFDHW|HW|DHW"

/* Changes the axes (depth,) height, width after they are resized: crops or mirrors them. `first` is
 * the number of the dimension of the first axis. */
typedef hr_status (*hr_resize_then_fn)(const hr_op_call *c, int32_t axes, int32_t first,
                                       hr_resample_axis *axis, hr_error *error);

/* Functions of the table; `then` may be NULL. */
hr_status hr__resize_check(const void *args, const hr_given *given, hr_error *error);
hr_status hr__resize_lower(hr_op_call *c, hr_image_program *program, hr_resize_then_fn then,
                           hr_error *error);
hr_status hr__resize_infer(hr_op_call *c, hr_resize_then_fn then, hr_error *error);
hr_status hr__resize_run(hr_op_call *c, hr_error *error);
