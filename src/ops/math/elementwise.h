/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arithmetic on runs of elements of one type. Operands of other types are converted before. */
#pragma once

#include "core/core.h"
#include "ops/math/elements.h"

/* Maximum number of elements in a run: operands of other types are converted on the stack. */
#define HR_MATH_RUN 512

/* out = a op b for n elements of `type` (BOOL counts as UINT8). Operators with one operand do not
 * read b. Comparisons write one byte per element, 0 or 1. Integers wrap. An integer division by
 * zero fails. */
hr_status hr__math_apply(hr_math_op op, hr_dtype type, void *out, const void *a, const void *b,
                         size_t n, hr_error *error);
/* Compares INT64 elements of a with UINT64 elements of b by value; `op` is the comparison. */
void hr__math_compare_mixed(hr_math_op op, uint8_t *out, const int64_t *a, const uint64_t *b,
                            size_t n);
