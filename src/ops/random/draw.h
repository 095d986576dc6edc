/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What random operators share: the output shape (`shape`, the shape of an input, or a scalar), and
 * draws in fours. */
#ifndef HR_OPS_RANDOM_DRAW_H
#define HR_OPS_RANDOM_DRAW_H

#include "core/core.h"
#include "headrace/operator.h"

#define HR_DRAW_SHAPE_ARG(S)                                                                       \
    HR_ARG(S, shape, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,                              \
           "Shape of the output; not given: that of the input, or a scalar without an input.")

/* Refuses types that `dtype` may not be where numbers are drawn: FLOAT16 and BOOL. */
hr_status hr__draw_check_dtype(int32_t dtype, hr_error *error);
/* Describes output 0. `shape.v` may be NULL. */
hr_status hr__draw_describe(hr_op_call *c, hr_ints shape, hr_dtype dtype, hr_error *error);

#define HR_DRAW_RUN 1024 /* draws of a run at most */

/* Turns 32-bit draws, as many an element as `hr__draw` was told, into n elements of output 0. */
typedef void (*hr_draw_fn)(const hr_op_call *c, const uint32_t *bits, size_t n, void *to);

/* Has `make` write output 0 of all samples of the call, run by run. Element k of a sample gets
 * draws per * k .. per * k + per - 1 of its generator; `per` is 1, 2 or 4. */
void hr__draw(const hr_op_call *c, size_t per, hr_draw_fn make);

#endif
