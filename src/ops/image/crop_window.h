/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The crop window that `crop`, `crop_mirror_normalize` and `decoders.image_crop` share: its
 * arguments, and the window that they mean for a picture of a given size. */
#ifndef HR_OPS_IMAGE_CROP_WINDOW_H
#define HR_OPS_IMAGE_CROP_WINDOW_H

#include "image/program.h"
#include "ops/given.h"

typedef struct hr_crop_args {
    hr_floats crop;
    float crop_d, crop_h, crop_w;
    float crop_pos_x, crop_pos_y, crop_pos_z;
    const char *rounding;
} hr_crop_args;

/* Describes the hr_crop_args called `field` in the args struct S. */
#define HR_CROP_ARG_DEFS(S, field)                                                                 \
    HR_CROP_ARG(S, field, crop, FLOATS, HR_ARG_OPTIONAL, NULL,                                     \
                "Height and width of the window in pixels, or depth, height and width; fractions " \
                "are cut off. 0 or less keeps the whole extent. Not together with `crop_h`, "      \
                "`crop_w`, `crop_d`."),                                                            \
        HR_CROP_ARG(S, field, crop_d, FLOAT, HR_ARG_OPTIONAL, "0.0",                               \
                    "Depth of the window in slices, or its frames in sequences of pictures; 0 "    \
                    "keeps all."),                                                                 \
        HR_CROP_ARG(S, field, crop_h, FLOAT, HR_ARG_OPTIONAL, "0.0",                               \
                    "Height of the window in pixels; 0 keeps all. Needs `crop_w`."),               \
        HR_CROP_ARG(S, field, crop_w, FLOAT, HR_ARG_OPTIONAL, "0.0",                               \
                    "Width of the window in pixels; 0 keeps all. Needs `crop_h`."),                \
        HR_CROP_ARG(S, field, crop_pos_x, FLOAT, 0, "0.5",                                         \
                    "Where the window lies in the free space along the width: 0 is left, 1 is "    \
                    "right."),                                                                     \
        HR_CROP_ARG(S, field, crop_pos_y, FLOAT, 0, "0.5",                                         \
                    "Where the window lies in the free space along the height: 0 is top, 1 is "    \
                    "bottom."),                                                                    \
        HR_CROP_ARG(S, field, crop_pos_z, FLOAT, 0, "0.5",                                         \
                    "Where the window lies in the free space along the depth: 0 is front, 1 is "   \
                    "back."),                                                                      \
    {                                                                                              \
        .name = "rounding", .type = HR_ARG_TYPE_STRING, .offset = offsetof(S, field.rounding),     \
        .size = sizeof(const char *), .def = "\"round\"",                                          \
        .doc = "How the window's start becomes whole pixels: \"round\" (halves away from zero) "   \
               "or \"truncate\" "                                                                  \
               "(towards zero).",                                                                  \
        .choices = "round|truncate"                                                                \
    }

#define HR_CROP_ARG(S, field, id, kind, flag, deflt, text)                                         \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_PER_SAMPLE | (flag),              \
        .offset = offsetof(S, field.id), .size = sizeof(((S *)0)->field.id), .def = (deflt),       \
        .doc = (text)                                                                              \
    }

/* The rules across these arguments; for an operator's `check`. */
hr_status hr__crop_check(const hr_arg_def *defs, uint64_t given, hr_error *error);

/* One axis: start and size. Starts are negative where the window is larger than the picture. */
typedef struct hr_crop_range {
    int64_t start, size;
} hr_crop_range;

/* The dimension that is cropped as depth: D, or F in sequences of pictures, as in DALI. 0: none. */
char hr__crop_depth_axis(const hr_image_program *p);

/* The window in a picture of depth x height x width; without depth (a picture) `depth`
 * is 1 and `has_depth` false: z is then the whole extent. */
typedef struct hr_crop_box {
    hr_crop_range z, y, x;
} hr_crop_box;

hr_status hr__crop_box(const hr_crop_args *args, bool has_depth, int64_t depth, int64_t height,
                       int64_t width, hr_crop_box *box, hr_error *error);

/* What happens where a window leaves the picture. */
typedef enum hr_bounds { HR_BOUNDS_ERROR, HR_BOUNDS_PAD, HR_BOUNDS_TRIM } hr_bounds;

/* "error", "pad" or "trim_to_shape". */
hr_bounds hr__bounds_parse(const char *policy);
/* Checks or trims the box by the policy; PAD leaves it as it is. */
hr_status hr__crop_bound(const hr_op_call *c, hr_crop_box *box, hr_bounds bounds, int64_t depth,
                         int64_t height, int64_t width, hr_error *error);

#endif
