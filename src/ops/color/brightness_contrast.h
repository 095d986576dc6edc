/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What brightness, contrast and brightness_contrast share. */
#pragma once

#include "ops/color/color.h"

/* Lists that an operator does not have are empty. */
typedef struct hr_brightness_contrast_args {
    hr_floats brightness, brightness_shift, contrast, contrast_center;
    int32_t dtype;
} hr_brightness_contrast_args;

#define HR_BRIGHTNESS_ARG_DEFS                                                                     \
    HR_ARG(hr_brightness_contrast_args, brightness, FLOATS, HR_COLOR_FLAGS, "1.0",                 \
           "Factor: 0 gives black, 1 leaves the brightness unchanged."),                           \
        HR_ARG(hr_brightness_contrast_args, brightness_shift, FLOATS, HR_COLOR_FLAGS, "0.0",       \
               "Added after the multiplication, in units of the largest value of the output's "    \
               "type, or of 1 for FLOAT.")
#define HR_CONTRAST_ARG_DEFS                                                                       \
    HR_ARG(hr_brightness_contrast_args, contrast, FLOATS, HR_COLOR_FLAGS, "1.0",                   \
           "Factor of the distance from `contrast_center`: 0 gives a uniform image, 1 leaves "     \
           "the contrast unchanged."),                                                             \
        HR_ARG(hr_brightness_contrast_args, contrast_center, FLOATS,                               \
               HR_COLOR_FLAGS | HR_ARG_OPTIONAL, "0.5",                                            \
               "The value that contrast leaves unchanged, in the input's units. Default: the "     \
               "middle of the range of the input's type (128 for UINT8), or 0.5 for FLOAT.")

/* `lower` of all three. */
hr_status hr__brightness_contrast_lower(hr_op_call *c, hr_image_program *program, hr_error *error);
