/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arithmetic on runs of elements of one type; what has other types is converted before. */
#ifndef HR_OPS_MATH_ELEMENTWISE_H
#define HR_OPS_MATH_ELEMENTWISE_H

#include "core/core.h"

/* clang-format off */
/* First what has two operands, then what has one; behind INVERT functions in floats. The order
 * counts: what is a comparison, a function, ... is told by ranges. */
#define HR_MATH_OPS(X) \
    X(HR_MATH_OP_ADD, "add") X(HR_MATH_OP_SUB, "sub") X(HR_MATH_OP_MUL, "mul") \
    X(HR_MATH_OP_DIV, "div") X(HR_MATH_OP_FLOORDIV, "floordiv") X(HR_MATH_OP_MOD, "mod") \
    X(HR_MATH_OP_POW, "pow") X(HR_MATH_OP_FPOW, "fpow") X(HR_MATH_OP_ATAN2, "atan2") \
    X(HR_MATH_OP_MIN, "min") X(HR_MATH_OP_MAX, "max") X(HR_MATH_OP_AND, "and") \
    X(HR_MATH_OP_OR, "or") X(HR_MATH_OP_XOR, "xor") X(HR_MATH_OP_LSHIFT, "lshift") \
    X(HR_MATH_OP_RSHIFT, "rshift") X(HR_MATH_OP_EQ, "eq") X(HR_MATH_OP_NE, "ne") \
    X(HR_MATH_OP_LT, "lt") X(HR_MATH_OP_LE, "le") X(HR_MATH_OP_GT, "gt") \
    X(HR_MATH_OP_GE, "ge") \
    X(HR_MATH_OP_NEG, "neg") X(HR_MATH_OP_POS, "pos") X(HR_MATH_OP_ABS, "abs") \
    X(HR_MATH_OP_INVERT, "invert") X(HR_MATH_OP_SQRT, "sqrt") X(HR_MATH_OP_RSQRT, "rsqrt") \
    X(HR_MATH_OP_CBRT, "cbrt") X(HR_MATH_OP_EXP, "exp") X(HR_MATH_OP_LOG, "log") \
    X(HR_MATH_OP_LOG2, "log2") X(HR_MATH_OP_LOG10, "log10") X(HR_MATH_OP_FABS, "fabs") \
    X(HR_MATH_OP_FLOOR, "floor") X(HR_MATH_OP_CEIL, "ceil") X(HR_MATH_OP_SIN, "sin") \
    X(HR_MATH_OP_COS, "cos") X(HR_MATH_OP_TAN, "tan") X(HR_MATH_OP_ASIN, "asin") \
    X(HR_MATH_OP_ACOS, "acos") X(HR_MATH_OP_ATAN, "atan") X(HR_MATH_OP_SINH, "sinh") \
    X(HR_MATH_OP_COSH, "cosh") X(HR_MATH_OP_TANH, "tanh") X(HR_MATH_OP_ASINH, "asinh") \
    X(HR_MATH_OP_ACOSH, "acosh") X(HR_MATH_OP_ATANH, "atanh")
/* clang-format on */

#define HR_MATH_OP_ENUM(id, text) id,
typedef enum hr_math_op { HR_MATH_OPS(HR_MATH_OP_ENUM) HR_MATH_OP_COUNT } hr_math_op;

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
