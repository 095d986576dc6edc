/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Affine transforms as matrices with D rows and D + 1 columns: common code of transforms.*. */
#pragma once

#include "ops/geometry/chain.h"
#include "ops/geometry/frames.h"

/* The arguments of all these operators. Each operator describes those that it has; the others are
 * absent. */
typedef struct hr_transform_args {
    int32_t reverse_order, ndim, absolute;
    hr_floats angle, angles, axis, center, offset, scale, shear;
    hr_floats from_start, from_end, to_start, to_end;
} hr_transform_args;

#define HR_TRANSFORM_LIST_ARG(field, flags, deflt, text)                                           \
    HR_ARG(hr_transform_args, field, FLOATS,                                                       \
           HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK | (flags), deflt, text)
#define HR_TRANSFORM_CENTER_ARG                                                                    \
    HR_TRANSFORM_LIST_ARG(center, HR_ARG_OPTIONAL, NULL,                                           \
                          "The point that does not move, with one element per dimension or one "   \
                          "for all. Default: the origin.")
#define HR_TRANSFORM_ORDER_ARG                                                                     \
    HR_ARG(hr_transform_args, reverse_order, BOOL, 0, "False",                                     \
           "Apply this transform before that of the input, not after it.")

/* A matrix with rows of `ndim` + 1 numbers. */
typedef struct hr_affine {
    int32_t ndim;
    float m[HR_TRANSFORM_MAX * (HR_TRANSFORM_MAX + 1)];
} hr_affine;

/* Makes the matrix of an operator. When it is called, `ndim` is set and `m` is the identity; the
 * lists are those of one frame. */
typedef hr_status (*hr_transform_fn)(const hr_transform_args *a, hr_affine *matrix,
                                     hr_error *error);

/* The table of an operator that makes a matrix. `id` is the prefix of its arguments and infer. */
#define HR_TRANSFORM_TABLE(id, text)                                                               \
    HR_OP_ABI, .name = "transforms." #id, .doc = text, .devices = "cpu|gpu",                       \
               .flags = HR_OP_SEQUENCE | HR_OP_CHEAP | HR_OP_COLUMNS, .args = id##_arg_defs,       \
               .args_size = sizeof(hr_transform_args), .in = HR_INPUTS({.name = "matrix"}),        \
               .in_max = 1, .infer = id##_infer, .run = hr__transform_run

/* The rest of infer. The transform has `ndim` dimensions, or with `any` as many as its input if
 * there is one. The run makes the matrix with `make`. */
hr_status hr__transform_infer(hr_op_call *c, int32_t ndim, bool any, hr_transform_fn make,
                              hr_error *error);
hr_status hr__transform_run(hr_op_call *c, hr_error *error);
/* Fails if a list has neither `n` elements nor one. */
hr_status hr__transform_length(hr_floats list, const char *name, int32_t n, hr_error *error);
/* Adds a translation to a linear transform so that `center` (which may be absent) does not move. */
hr_status hr__transform_center(hr_affine *matrix, hr_floats center, hr_error *error);
/* The number of dimensions of an input that contains one or more matrices; fails if it does not. */
hr_status hr__transform_input(const hr_op_call *c, int32_t i, int32_t *ndim, hr_frames *frames,
                              hr_error *error);
/* For a device: the memo of its run. `made`: of hr_transform_product. */
hr_status hr__transform_leave(hr_op_call *c, int32_t ndim, int64_t frames, const float *made,
                              hr_error *error);
void hr__transform_describe(hr_op_call *c, int32_t ndim, int64_t frames);
