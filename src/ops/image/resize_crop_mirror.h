/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What resize_crop_mirror and fast_resize_crop_mirror share. */
#pragma once

#include "ops/image/crop_window.h"
#include "ops/image/resize.h"

typedef struct hr_resize_crop_mirror_args {
    hr_resize_args resize; /* first */
    hr_crop_args crop;
    int32_t mirror;
} hr_resize_crop_mirror_args;

#define HR_RESIZE_CROP_MIRROR_ARG_DEFS                                                             \
    HR_RESIZE_ARG_DEFS(hr_resize_crop_mirror_args, resize),                                        \
        HR_CROP_ARG_DEFS(hr_resize_crop_mirror_args, crop),                                        \
        HR_ARG(                                                                                    \
            hr_resize_crop_mirror_args, mirror, INT, HR_ARG_PER_SAMPLE, "0",                       \
            "Sum of 1 (mirror horizontally), 2 (vertically) and 4 (depth). In layouts that begin " \
            "with channels or frames, DALI counts these bits from the first dimension, and so "    \
            "does this operator: 1 is vertical in CHW and FHWC.")

/* Functions of the table. */
hr_status hr__resize_crop_mirror_check(const void *args, const hr_given *given, hr_error *error);
hr_status hr__resize_crop_mirror_infer(hr_op_call *c, hr_error *error);
hr_status hr__resize_crop_mirror_lower(hr_op_call *c, hr_image_program *program, hr_error *error);
