/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The crop window of `crop`, `crop_mirror_normalize` and `decoders.image_crop`: its arguments, and
 * the window for an image of a given size. */
#pragma once

#include "image/program.h"
#include "kernels/border.h"
#include "ops/common/border.h"

typedef struct hr_crop_args {
    hr_floats crop;
    float crop_d, crop_h, crop_w;
    float crop_pos_x, crop_pos_y, crop_pos_z;
    const char *rounding;
} hr_crop_args;

/* Describes the hr_crop_args called `field` in the args struct S. */
#define HR_CROP_ARG_DEFS(S, field)                                                                 \
    HR_CROP_ARG(S, field, crop, FLOATS, HR_ARG_OPTIONAL, NULL,                                     \
                "Height and width of the window in pixels, or depth, height and width. Fractions " \
                "are truncated. 0 or less keeps the whole extent. Not together with `crop_h`, "    \
                "`crop_w`, `crop_d`.",                                                             \
                .excludes = "crop_h|crop_w|crop_d"),                                               \
        HR_CROP_ARG(S, field, crop_d, FLOAT, HR_ARG_OPTIONAL, "0.0",                               \
                    "Depth of the window in slices, or its frames in sequences of images; 0 "      \
                    "keeps all."),                                                                 \
        HR_CROP_ARG(S, field, crop_h, FLOAT, HR_ARG_OPTIONAL, "0.0",                               \
                    "Height of the window in pixels; 0 keeps the whole height. Needs `crop_w`."),  \
        HR_CROP_ARG(S, field, crop_w, FLOAT, HR_ARG_OPTIONAL, "0.0",                               \
                    "Width of the window in pixels; 0 keeps the whole width. Needs `crop_h`."),    \
        HR_CROP_ARG(S, field, crop_pos_x, FLOAT, 0, "0.5",                                         \
                    "Position of the window along the width, from 0 (left) to 1 (right)."),        \
        HR_CROP_ARG(S, field, crop_pos_y, FLOAT, 0, "0.5",                                         \
                    "Position of the window along the height, from 0 (top) to 1 (bottom)."),       \
        HR_CROP_ARG(S, field, crop_pos_z, FLOAT, 0, "0.5",                                         \
                    "Position of the window along the depth, from 0 (front) to 1 (back)."),        \
    {                                                                                              \
        .name = "rounding", .type = HR_ARG_TYPE_STRING, .offset = offsetof(S, field.rounding),     \
        .size = sizeof(const char *), .def = "\"round\"",                                          \
        .doc = "How the start of the window is rounded to whole pixels: \"round\" (halves away "   \
               "from zero) or \"truncate\" (towards zero).",                                       \
        .choices = "round|truncate"                                                                \
    }

#define HR_CROP_ARG(S, field, id, kind, flag, deflt, ...)                                          \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_PER_SAMPLE | (flag),              \
        .offset = offsetof(S, field.id), .size = sizeof(((S *)0)->field.id), .def = (deflt),       \
        .doc = __VA_ARGS__                                                                         \
    }

/* For `check`: the rules for combining these arguments. */
hr_status hr__crop_check(const hr_given *given, hr_error *error);

/* Start and size along one axis. The start is negative if the window is larger than the image. */
typedef struct hr_crop_range {
    int64_t start, size;
} hr_crop_range;

/* The dimension that is cropped as depth: D, or F in sequences of images, as in DALI. 0: none. */
char hr__crop_depth_axis(const hr_image_program *p);

/* The window in an image of depth x height x width; without depth (an image) `depth`
 * is 1 and `has_depth` false: z is then the whole extent. */
typedef struct hr_crop_box {
    hr_crop_range z, y, x;
} hr_crop_box;

hr_status hr__crop_box(const hr_crop_args *args, bool has_depth, int64_t depth, int64_t height,
                       int64_t width, hr_crop_box *box, hr_error *error);

/* What happens if a window extends beyond the image. REPEAT: see hr__border_named. */
typedef enum hr_bounds {
    HR_BOUNDS_ERROR,
    HR_BOUNDS_PAD,
    HR_BOUNDS_TRIM,
    HR_BOUNDS_REPEAT,
} hr_bounds;

/* The policies of `crop_mirror_normalize`, and what `crop` and `slice` accept in addition. */
#define HR_BOUNDS_CHOICES "error|trim_to_shape|pad|constant|const|fill"
#define HR_BOUNDS_REPEAT_CHOICES                                                                   \
    "clamp|edge|reflect_1001|reflect1001|1001|reflect|reflect_101|reflect101|101|wrap"

/* One of the choices above. */
hr_bounds hr__bounds_parse(const char *policy);
/* Checks or trims the box according to the policy. PAD and REPEAT do not change it. */
hr_status hr__crop_bound(const hr_op_call *c, hr_crop_box *box, hr_bounds bounds, int64_t depth,
                         int64_t height, int64_t width, hr_error *error);
