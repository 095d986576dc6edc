/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* flip: reverses axes of images, sequences and volumes. */
#include "image/program.h"

typedef struct flip_args {
    int32_t horizontal, vertical, depthwise;
} flip_args;

static hr_status flip_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const flip_args *args = c->args;
    bool depth = args->depthwise != 0 && hr_program_has(program, 'D');

    return hr_program_flip(program, args->horizontal != 0, args->vertical != 0, depth, error);
}

const hr_op_def hr_op_flip = {
    HR_OP("flip"),
    .doc = "Reverses axes. Shape, type and layout do not change.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(flip_args,
            HR_ARG(flip_args, horizontal, INT, HR_ARG_PER_SAMPLE, "1",
                   "If not 0, reverse the width axis (swap left and right)."),
            HR_ARG(flip_args, vertical, INT, HR_ARG_PER_SAMPLE, "0",
                   "If not 0, reverse the height axis (swap top and bottom)."),
            HR_ARG(flip_args, depthwise, INT, HR_ARG_PER_SAMPLE, "0",
                   "If not 0, reverse the depth axis. No effect on inputs without one.")),
    .in = HR_INPUTS({.name = "data", .layouts = "FDHWC|FHWC|DHWC|HWC|FCDHW|FCHW|CDHW|CHW|HW|DHW"}),
    .lower = flip_lower,
    .lower_rank = HR_LOWER_RANK_WINDOW,
};
