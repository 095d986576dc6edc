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

/* Describes output 0. `shape.v` may be NULL. */
hr_status hr__draw_describe(hr_op_call *c, hr_ints shape, hr_dtype dtype, hr_error *error);

/* Draws 4 * block .. 4 * block + 3 of the call's generator. */
void hr__draw_block(const hr_op_call *c, uint64_t block, uint32_t bits[4]);
/* Calls `draw` for every sample of the call, with c->rng its own, to write output 0 at `to`. */
void hr__draw_samples(hr_op_call *c, void (*draw)(const hr_op_call *c, uint8_t *to));

#endif
