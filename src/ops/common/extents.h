/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of operators whose output is a shape. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

#define HR_EXTENTS_DTYPE_ARG(S)                                                                    \
    HR_ARG(S, dtype, DTYPE, 0, "INT64",                                                            \
           "Type of the output: INT32, UINT32, INT64, UINT64, FLOAT or FLOAT64.")

/* Fails for a `dtype` that cannot represent extents. */
hr_status hr__extents_check(int32_t dtype, hr_error *error);
/* Describes output 0: a tensor of shape (count,). */
void hr__extents_describe(hr_op_call *c, int32_t dtype, int32_t count);
/* Writes the extents to output 0. */
void hr__extents_store(hr_op_call *c, const int64_t *extent);
