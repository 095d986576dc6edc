/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What operators share that take pixels from positions by a map: `rotate`, `warp_affine` and, of
 * the matrices, `warp_perspective`. */
#pragma once

#include "image/program.h"

#define HR_WARP_LAYOUTS "HWC|FHWC|DHWC|FDHWC|HW|DHW"

typedef struct hr_warp_args {
    hr_floats size;
    int32_t dtype, interp_type;
    float fill_value;
} hr_warp_args;

/* Describes the hr_warp_args called `field` in the args struct S, without its size. */
#define HR_WARP_ARG_DEFS(S, field)                                                                 \
    HR_WARP_ARG(S, field, fill_value, FLOAT, HR_ARG_OPTIONAL, NULL,                                \
                "Value of pixels outside the input, rounded to its type. Default: the edge is "    \
                "repeated."),                                                                      \
        HR_WARP_ARG(S, field, interp_type, INTERP, 0, "INTERP_LINEAR",                             \
                    "INTERP_NN or INTERP_LINEAR."),                                                \
        HR_WARP_ARG(S, field, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,                                 \
                    "Type of the output: that of the input (default) or FLOAT. FLOAT can also be " \
                    "converted to UINT8, INT16 or INT32; halves are rounded away from zero."),     \
        HR_ARG_RENAMED(output_dtype, DTYPE, dtype, "0.24")

#define HR_WARP_ARG(S, field, id, kind, flag, deflt, ...)                                          \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = (flag), .offset = offsetof(S, field.id), \
        .size = sizeof(((S *)0)->field.id), .def = (deflt), .doc = __VA_ARGS__                     \
    }

hr_status hr__warp_check(const hr_warp_args *a, hr_error *error);
/* Checks the image in the program, and fills in `g` and the type of the output, except for the
 * size of the output. */
hr_status hr__warp_begin(const hr_warp_args *a, const hr_image_program *program, hr_gather_spec *g,
                         hr_dtype *dtype, hr_error *error);
/* Sets the size of the output from `size`, which must have an element per axis. */
hr_status hr__warp_size(const hr_warp_args *a, hr_gather_spec *g, hr_error *error);
/* Adds the gather to the program. `maps` as in hr_program_gather. */
hr_status hr__warp_end(const hr_op_call *c, hr_image_program *program, const hr_gather_spec *g,
                       const hr_map *maps, int32_t count, hr_dtype dtype, hr_error *error);
/* The matrices of a call, from the second input or from the argument `given`: all numbers in
 * `list`, whose `frames` is 0 if they are one matrix. */
hr_status hr__warp_matrices(const hr_op_call *c, hr_floats given, int32_t rows, int32_t columns,
                            hr_floats *list, hr_error *error);
hr_status hr__warp_frames_check(const hr_floats *matrices, int64_t frames, hr_error *error);
