/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What _arithmetic's infer finds out, for the run here or on a device: the call's memo. */
#ifndef HR_OPS_MATH_ARITHMETIC_H
#define HR_OPS_MATH_ARITHMETIC_H

#include "core/core.h"
#include "ops/math/elements.h"

typedef struct hr_arithmetic {
    hr_math_op op;
    /* The call's inputs, or the node's constant, which has no dimensions and lies on the host; the
     * same one twice where the operator has one operand. */
    const hr_tensor *a, *b;
    int32_t const_side; /* 0: a is the constant, 1: b, -1: none */
    hr_dtype common;    /* that both operands become, */
    hr_dtype type;      /* that elements are computed in, */
    hr_dtype result;
    bool mixed; /* compares INT64 with UINT64 */
    const struct hr_kernels *kernels;
} hr_arithmetic;

#endif
