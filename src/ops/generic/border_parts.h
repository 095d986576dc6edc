/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A window of a tensor with any number of dimensions that repeats the tensor outside of it. */
#pragma once

#include "kernels/border.h"
#include "ops/generic/region.h"

/* Fills the memo for hr__parts_run: output 0, which is described, is input 0 from start[d] on,
 * converted if the types differ. `border`, other than CONSTANT, says what is outside the input. */
hr_status hr__border_parts(hr_op_call *c, const int64_t *start, hr_border border, hr_error *error);
