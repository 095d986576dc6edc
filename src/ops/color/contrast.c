/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* contrast: brightness_contrast with some of its arguments. */
#include "ops/color/brightness_contrast.h"

const hr_op_def hr_op_contrast = {
    HR_OP("contrast"),
    .doc = "Changes the contrast: contrast_center + contrast * (x - contrast_center). Types are "
           "UINT8, INT16, INT32 and FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(hr_brightness_contrast_args, HR_CONTRAST_ARG_DEFS,
            HR_COLOR_DTYPE_ARG_DEF(hr_brightness_contrast_args)),
    .in = HR_INPUTS({.name = "data", .layouts = "FHWC|DHWC|HWC"}),
    .lower = hr__brightness_contrast_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
