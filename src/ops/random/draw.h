/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of random operators: the output shape (`shape`, the shape of an input, or a scalar),
 * and draws in groups of four. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

#define HR_DRAW_SHAPE_ARG(S)                                                                       \
    HR_ARG(S, shape, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,                              \
           "Shape of the output. Default: that of the input, or a scalar if there is no input.")

/* Fails for types in which numbers cannot be drawn: FLOAT16 and BOOL. */
hr_status hr__draw_check_dtype(int32_t dtype, hr_error *error);
/* Describes output 0. `shape.v` may be NULL. */
hr_status hr__draw_describe(hr_op_call *c, hr_ints shape, hr_dtype dtype, hr_error *error);

#define HR_DRAW_RUN 1024 /* maximum number of draws in a run */

/* Converts 32-bit draws to n elements of output 0, with `per` draws for each element. */
typedef void (*hr_draw_fn)(const hr_op_call *c, const uint32_t *bits, size_t n, void *to);

/* Calls `make` run by run to write output 0 of all samples of the call. Element k of a sample gets
 * draws per * k .. per * k + per - 1 of its generator; `per` is 1, 2 or 4. */
void hr__draw(const hr_op_call *c, size_t per, hr_draw_fn make);
