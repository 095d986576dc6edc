/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* fast_resize_crop_mirror: resize_crop_mirror with another default. */
#include "ops/image/resize_crop_mirror.h"

const hr_op_def hr_op_fast_resize_crop_mirror = {
    HR_OP("fast_resize_crop_mirror"),
    .doc = "Like `resize_crop_mirror`, which should be used instead, but without antialiasing by "
           "default.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_DEPRECATED,
    HR_ARGS(hr_resize_crop_mirror_args, HR_FILTER_ARG_DEFS_WITH(hr_resize_args, filter, "False"),
            HR_RESIZE_CROP_MIRROR_ARG_DEFS),
    .in = HR_INPUTS({.name = "data", .layouts = HR_RESIZE_LAYOUTS}),
    .check = hr__resize_crop_mirror_check,
    .infer = hr__resize_crop_mirror_infer,
    .lower = hr__resize_crop_mirror_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
    .run = hr__resize_run,
};
