/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arithmetic on runs of elements of one type; what has other types is converted before. */
#ifndef HR_OPS_MATH_ELEMENTWISE_H
#define HR_OPS_MATH_ELEMENTWISE_H

#include "core/core.h"
#include "ops/math/elements.h"

/* Elements that a run has at most: operands of other types are converted on the stack. */
#define HR_MATH_RUN 512

/* out = a op b for n elements of `type` (BOOL counts as UINT8); b is not read by operators of one
 * operand. Comparisons write one byte, 0 or 1, an element. Integers wrap. Fails on an integer
 * division by zero. */
hr_status hr__math_apply(hr_math_op op, hr_dtype type, void *out, const void *a, const void *b,
                         size_t n, hr_error *error);
/* Compares INT64 in a with UINT64 in b by value, as `op` says. */
void hr__math_compare_mixed(hr_math_op op, uint8_t *out, const int64_t *a, const uint64_t *b,
                            size_t n);

#endif
