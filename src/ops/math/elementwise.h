/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arithmetic on runs of elements of one type; what has other types is converted before. */
#ifndef HR_OPS_MATH_ELEMENTWISE_H
#define HR_OPS_MATH_ELEMENTWISE_H

#include "core/core.h"

typedef enum hr_math_op {
    /* two operands */
    HR_MATH_OP_ADD,
    HR_MATH_OP_SUB,
    HR_MATH_OP_MUL,
    HR_MATH_OP_DIV,
    HR_MATH_OP_FLOORDIV,
    HR_MATH_OP_MOD,
    HR_MATH_OP_POW,
    HR_MATH_OP_FPOW,
    HR_MATH_OP_ATAN2,
    HR_MATH_OP_MIN,
    HR_MATH_OP_MAX,
    HR_MATH_OP_AND,
    HR_MATH_OP_OR,
    HR_MATH_OP_XOR,
    HR_MATH_OP_LSHIFT,
    HR_MATH_OP_RSHIFT,
    HR_MATH_OP_EQ,
    HR_MATH_OP_NE,
    HR_MATH_OP_LT,
    HR_MATH_OP_LE,
    HR_MATH_OP_GT,
    HR_MATH_OP_GE,
    /* one operand */
    HR_MATH_OP_NEG,
    HR_MATH_OP_POS,
    HR_MATH_OP_ABS,
    HR_MATH_OP_INVERT,
    /* functions: of one operand, in floats */
    HR_MATH_OP_SQRT,
    HR_MATH_OP_RSQRT,
    HR_MATH_OP_CBRT,
    HR_MATH_OP_EXP,
    HR_MATH_OP_LOG,
    HR_MATH_OP_LOG2,
    HR_MATH_OP_LOG10,
    HR_MATH_OP_FABS,
    HR_MATH_OP_FLOOR,
    HR_MATH_OP_CEIL,
    HR_MATH_OP_SIN,
    HR_MATH_OP_COS,
    HR_MATH_OP_TAN,
    HR_MATH_OP_ASIN,
    HR_MATH_OP_ACOS,
    HR_MATH_OP_ATAN,
    HR_MATH_OP_SINH,
    HR_MATH_OP_COSH,
    HR_MATH_OP_TANH,
    HR_MATH_OP_ASINH,
    HR_MATH_OP_ACOSH,
    HR_MATH_OP_ATANH,
    HR_MATH_OP_COUNT
} hr_math_op;

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
