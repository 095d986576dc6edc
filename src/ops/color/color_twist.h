/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What color_twist, hsv, hue and saturation share. */
#pragma once

#include "ops/color/color.h"

/* Lists that an operator does not have are empty. */
typedef struct hr_color_twist_args {
    hr_floats hue, saturation, value, brightness, contrast;
    int32_t dtype;
} hr_color_twist_args;

#define HR_HUE_ARG_DEF                                                                             \
    HR_ARG(hr_color_twist_args, hue, FLOATS, HR_COLOR_FLAGS, "0.0",                                \
           "Angle by which colours are rotated around the grey axis, in degrees.")
#define HR_SATURATION_ARG_DEF                                                                      \
    HR_ARG(hr_color_twist_args, saturation, FLOATS, HR_COLOR_FLAGS, "1.0",                         \
           "Factor of the distance from grey: 0 gives a grey image.")
#define HR_TWIST_IMAGE_TYPE_ARG_DEF                                                                \
    HR_ARG_ACCEPT(image_type, IMAGE_TYPE, "RGB",                                                   \
                  "Has no effect: channels are always red, green and blue.")

/* `lower` of all four. */
hr_status hr__color_twist_lower(hr_op_call *c, hr_image_program *program, hr_error *error);
