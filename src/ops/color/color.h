/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Operators that map the colours of images: each is one step of an image program, with the same
 * values for all frames of a sequence or with values per frame. */
#pragma once

#include "image/program.h"

#define HR_COLOR_FLAGS (HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK)
/* The argument `dtype` of the args struct S. */
#define HR_COLOR_DTYPE_ARG_DEF(S)                                                                  \
    HR_ARG(S, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,                                                 \
           "Type of the output; default: that of the input. Halves are rounded away from zero.")

/* An argument with one number, or one per frame. `list` is empty if it is absent. */
typedef struct hr_color_arg {
    const char *name;
    hr_floats list;
} hr_color_arg;

/* Checks layout and types of the current image. `half`: FLOAT16 is supported, too. `dtype` is the
 * argument; `*out` is the type of the output. */
hr_status hr__color_types(const hr_image_program *p, int32_t dtype, bool half, hr_dtype *out,
                          hr_error *error);
/* Sets step->frames: 0 if no argument has values per frame. Then gives memory for one matrix per
 * frame, or for a single one. */
hr_status hr__color_matrices(hr_op_call *c, const hr_image_program *p, const hr_color_arg *args,
                             int32_t n, hr_point_step *step, hr_matrix **matrices, hr_error *error);
/* The value for a frame. */
float hr__color_value(hr_floats list, int64_t frame, float absent);
hr_status hr__color_add(hr_image_program *p, hr_point_step *step, const hr_matrix *matrices,
                        hr_error *error);
