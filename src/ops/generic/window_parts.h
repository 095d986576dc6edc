/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A window of a tensor of any number of dimensions, filled where it leaves the tensor. */
#ifndef HR_OPS_GENERIC_WINDOW_PARTS_H
#define HR_OPS_GENERIC_WINDOW_PARTS_H

#include "ops/generic/region.h"

/* Leaves in the memo, for hr__parts_run: output 0, which is described, is input 0 from start[d] on;
 * of another type if need be. Outside: fill[0], or with `fill_count` > 1 the one of the element's
 * index along dimension `channel_dim`, as DALI converts them. */
hr_status hr__window_parts(hr_op_call *c, const int64_t *start, const float *fill,
                           int32_t fill_count, int32_t channel_dim, hr_error *error);

#endif
