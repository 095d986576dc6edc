/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* example.invert: 255 minus the pixel. As a step of an image program it runs on the CPU and the
 * GPU, in one pass with the operators before and after it. */
#include "headrace/operator.h"

static hr_status invert_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    static const float weights[] = {-1, 0, 0, 255, 0, -1, 0, 255, 0, 0, -1, 255};

    (void)c;
    if (hr_program_dtype(program) != HR_DTYPE_UINT8 || hr_program_extent(program, 'C') != 3)
        return hr_fail(error, HR_STATUS_ERROR, "the input must be UINT8 with three channels");
    return hr_program_matrix(program, weights, 3, 3, HR_DTYPE_UINT8, error);
}

const hr_op_def hr_op_invert = {
    HR_OP("example.invert"),
    .doc = "Returns the negative of a colour image of type UINT8.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|FHWC"}),
    .lower = invert_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
