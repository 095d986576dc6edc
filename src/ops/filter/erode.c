/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* erode: the minimum in a window around each pixel. */
#include "ops/filter/morphology.h"

static hr_status erode_infer(hr_op_call *c, hr_error *error)
{
    return hr__morphology_infer(c, HR_WINDOW_KIND_MIN, error);
}

const hr_op_def hr_op_erode = {
    HR_OP_ABI,
    .name = "experimental.erode",
    .doc = "Makes each pixel the minimum of a rectangular window around it, per "
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
    .infer = erode_infer,
    .run_cpu = hr__windows_run,
};
