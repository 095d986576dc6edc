/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The memo that infer of _arithmetic leaves for the run, on the CPU or on a device. */
#pragma once

#include "core/core.h"
#include "ops/math/elements.h"

typedef struct hr_arithmetic {
    hr_math_op op;
    /* The inputs of the call, or the constant of the node, which has no dimensions and is in host
     * memory. Both are the same if the operator has one operand. */
    const hr_tensor *a, *b;
    int32_t const_side; /* 0: a is the constant, 1: b, -1: none */
    hr_dtype common;    /* to which both operands are converted */
    hr_dtype type;      /* in which elements are computed */
    hr_dtype result;
    bool mixed; /* compares INT64 with UINT64 */
    const struct hr_kernels *kernels;
} hr_arithmetic;
