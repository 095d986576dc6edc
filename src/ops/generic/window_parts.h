/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A window of a tensor with any number of dimensions, filled outside the tensor. */
#pragma once

#include "ops/generic/region.h"

/* Fills the memo for hr__parts_run: output 0, which is described, is input 0 from start[d] on,
 * converted if the types differ. Outside the input it is fill[0]; with `fill_count` > 1, fill[i] at
 * index i of dimension `channel_dim`. Fill values are converted as DALI converts them. */
hr_status hr__window_parts(hr_op_call *c, const int64_t *start, const float *fill,
                           int32_t fill_count, int32_t channel_dim, hr_error *error);
