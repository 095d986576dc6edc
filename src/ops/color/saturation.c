/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* saturation: color_twist with one of its arguments. */
#include "ops/color/color_twist.h"

const hr_op_def hr_op_saturation = {
    HR_OP("saturation"),
    .doc =
        "Changes the saturation of RGB images. Types are UINT8, INT16, INT32, FLOAT16 and FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(hr_color_twist_args, HR_SATURATION_ARG_DEF, HR_COLOR_DTYPE_ARG_DEF(hr_color_twist_args),
            HR_TWIST_IMAGE_TYPE_ARG_DEF),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|FHWC|DHWC"}),
    .lower = hr__color_twist_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
