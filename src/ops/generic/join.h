/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of `cat` and `stack`, which join tensors along an axis. */
#pragma once

#include "core/core.h"

/* Fails unless all inputs have the same type, number of dimensions and extents, except along `axis`
 * (-1: no exception). */
hr_status hr__join_check(const hr_op_call *c, int32_t axis, hr_error *error);
/* Resolves an axis of `ndim` dimensions; negative numbers count from the end. */
hr_status hr__join_axis(int32_t *axis, int32_t ndim, hr_error *error);
/* Fills the memo for hr__parts_run: the inputs follow one another along dimension `axis`. */
hr_status hr__join_parts(hr_op_call *c, int32_t axis, hr_error *error);
