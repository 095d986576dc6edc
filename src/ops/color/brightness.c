/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* brightness: brightness_contrast with some of its arguments. */
#include "ops/color/brightness_contrast.h"

const hr_op_def hr_op_brightness = {
    HR_OP("brightness"),
    .doc =
        "Changes the brightness: brightness_shift * range + brightness * x. Range is the largest "
        "value of the output's type, or 1 for FLOAT. Types are UINT8, INT16, INT32 and FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(hr_brightness_contrast_args, HR_BRIGHTNESS_ARG_DEFS,
            HR_COLOR_DTYPE_ARG_DEF(hr_brightness_contrast_args)),
    .in = HR_INPUTS({.name = "data", .layouts = "FHWC|DHWC|HWC"}),
    .lower = hr__brightness_contrast_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
