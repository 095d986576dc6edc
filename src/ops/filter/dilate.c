/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* dilate: the maximum in a window around each pixel. */
#include "ops/filter/morphology.h"

static hr_status dilate_infer(hr_op_call *c, hr_error *error)
{
    return hr__morphology_infer(c, HR_WINDOW_KIND_MAX, error);
}

const hr_op_def hr_op_dilate = {
    HR_OP_ABI,
    .name = "experimental.dilate",
    .doc = "Makes each pixel the maximum of a rectangular window around it, per "
           "channel. " HR_WINDOW_TYPES,
    .devices = "gpu",
    .flags = HR_OP_SEQUENCE,
    .args = hr__morphology_arg_defs,
    .args_size = sizeof(hr_morphology_args),
    .in = HR_INPUTS({.name = "input", .layouts = HR_WINDOW_LAYOUTS}),
    .in_min = 1,
    .in_max = 1,
    .out = HR_OUTPUTS({"output"}),
    .out_count = 1,
    .check = hr__morphology_check,
    .infer = dilate_infer,
    .run_cpu = hr__windows_run,
};
