/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* hsv: the matrix of color_twist, with a factor for the value. */
#include "ops/color/color_twist.h"

const hr_op_def hr_op_hsv = {
    HR_OP("hsv"),
    .doc = "Changes hue, saturation and value (brightness) of RGB images. Types are UINT8, INT16, "
           "INT32, FLOAT16 and FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(hr_color_twist_args, HR_HUE_ARG_DEF, HR_SATURATION_ARG_DEF,
            HR_ARG(hr_color_twist_args, value, FLOATS, HR_COLOR_FLAGS, "1.0",
                   "Factor of all channels: 0 gives black."),
            HR_ARG(hr_color_twist_args, dtype, DTYPE, 0, "UINT8",
                   "Type of the output. Halves are rounded away from zero.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|FHWC|DHWC"}),
    .lower = hr__color_twist_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
