/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* cast_like: converts elements to the type of another tensor. On images it is a step of an image
 * program. */
#include "ops/generic/cast.h"
#include "image/program.h"

static hr_status cast_like_infer(hr_op_call *c, hr_error *error)
{
    return hr__cast_describe(c, c->in[1].dtype, error);
}

static hr_status cast_like_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const hr_point_step step = {.kind = HR_POINT_KIND_CAST, .dtype = c->in[1].dtype};

    return hr_program_point(program, &step, error);
}

const hr_op_def hr_op_cast_like = {
    HR_OP("cast_like"),
    .doc = "Converts elements to the type of the second input, as `cast` does. Shape and layout do "
           "not change.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_CHEAP | HR_OP_COLUMNS,
    .in = HR_INPUTS({.name = "data"}, {.name = "dtype_like"}),
    .infer = cast_like_infer,
    .lower = cast_like_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
    .run = hr__cast_run,
};
