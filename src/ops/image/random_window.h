/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The random window of `decoders.image_random_crop` and `random_resized_crop`: its arguments and
 * the draw. */
#pragma once

#include "image/program.h"

typedef struct hr_random_window_args {
    hr_floats random_area, random_aspect_ratio;
    int32_t num_attempts;
} hr_random_window_args;

/* Describes the hr_random_window_args called `field` in the args struct S. */
#define HR_RANDOM_WINDOW_ARG_DEFS(S, field)                                                        \
    {.name = "random_area",                                                                        \
     .type = HR_ARG_TYPE_FLOATS,                                                                   \
     .offset = offsetof(S, field.random_area),                                                     \
     .size = sizeof(hr_floats),                                                                    \
     .def = "[0.08, 1.0]",                                                                         \
     .doc =                                                                                        \
         "Range of the area of the window as a fraction of that of the image; drawn uniformly.",   \
     .count_min = 2,                                                                               \
     .count_max = 2},                                                                              \
        {.name = "random_aspect_ratio",                                                            \
         .type = HR_ARG_TYPE_FLOATS,                                                               \
         .offset = offsetof(S, field.random_aspect_ratio),                                         \
         .size = sizeof(hr_floats),                                                                \
         .def = "[0.75, 1.3333333333333333]",                                                      \
         .doc = "Range of the width of the window divided by its height; its logarithm is drawn "  \
                "uniformly.",                                                                      \
         .count_min = 2,                                                                           \
         .count_max = 2},                                                                          \
    {                                                                                              \
        .name = "num_attempts", .type = HR_ARG_TYPE_INT,                                           \
        .offset = offsetof(S, field.num_attempts), .size = sizeof(int32_t), .def = "10",           \
        .doc = "Number of attempts before falling back to the largest window of a legal ratio, "   \
               "in the middle of the ranges.",                                                     \
        .min = 1, .max = 2147483647                                                                \
    }

/* Draws the window of an image. Each attempt uses four draws (area, ratio, two unused). y and x
 * use two draws each from number 0x100000000 on, so that the position does not depend on the number
 * of attempts. */
hr_status hr__random_window(const hr_random_window_args *args, const hr_rng *rng, int64_t height,
                            int64_t width, hr_window *window, hr_error *error);
