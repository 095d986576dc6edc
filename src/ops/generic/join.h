/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What `cat` and `stack` share: tensors side by side along an axis. */
#ifndef HR_OPS_GENERIC_JOIN_H
#define HR_OPS_GENERIC_JOIN_H

#include "core/core.h"

/* Fails unless all inputs have one type and number of dimensions, and the extents of the first one
 * but along `axis` (-1: everywhere). */
hr_status hr__join_check(const hr_op_call *c, int32_t axis, hr_error *error);
/* `axis` of `ndim` dimensions, negative ones counted from the end. */
hr_status hr__join_axis(int32_t *axis, int32_t ndim, hr_error *error);
/* What infer leaves for hr__parts_run: the inputs, one behind the other along what lies before
 * dimension `axis`. */
hr_status hr__join_parts(hr_op_call *c, int32_t axis, hr_error *error);

#endif
