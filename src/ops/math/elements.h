/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The operators of arithmetic, and what each computes from an element `a`, or from `a` and `b`, for
 * loops on the CPU and for threads of a GPU. They behave like C's operators: integer division
 * truncates, and % has the sign of the dividend. Where an overflow is possible, unsigned types are
 * used. */
#pragma once

#include "ops/math/functions_inline.h"

/* clang-format off */
/* Operators with two operands, then those with one, and after INVERT functions on floats. The
 * order matters: ranges define what is a comparison, a function and so on. */
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

/* x to the power of y, wrapping; 0 for negative exponents. */
HR_SHARED uint64_t math_power_wrap(uint64_t x, uint64_t y, bool negative)
{
    uint64_t r = 1;

    if (negative)
        return 0;
    for (; y; y >>= 1, x *= x)
        r *= y & 1 ? x : 1;
    return r;
}

/* Compares INT64 and UINT64 by value; `op` is a comparison. */
HR_SHARED bool math_compare_mixed(hr_math_op op, int64_t a, uint64_t b)
{
    bool negative = a < 0, equal = !negative && (uint64_t)a == b;
    bool less = negative || (uint64_t)a < b;

    return op == HR_MATH_OP_EQ   ? equal
           : op == HR_MATH_OP_NE ? !equal
           : op == HR_MATH_OP_LT ? less
           : op == HR_MATH_OP_LE ? less || equal
           : op == HR_MATH_OP_GT ? !less && !equal
                                 : !less;
}

/* The comparison that gives the same result for swapped operands. */
HR_SHARED hr_math_op math_turned(hr_math_op op)
{
    return op == HR_MATH_OP_LT   ? HR_MATH_OP_GT
           : op == HR_MATH_OP_LE ? HR_MATH_OP_GE
           : op == HR_MATH_OP_GT ? HR_MATH_OP_LT
           : op == HR_MATH_OP_GE ? HR_MATH_OP_LE
                                 : op;
}

/* clang-format off */
/* Lists of X(operator, expression). */
#define HR_MATH_COMPARISONS(X) \
    X(HR_MATH_OP_EQ, a == b) X(HR_MATH_OP_NE, a != b) X(HR_MATH_OP_LT, a < b) \
    X(HR_MATH_OP_LE, a <= b) X(HR_MATH_OP_GT, a > b) X(HR_MATH_OP_GE, a >= b)

/* Integers of type T. U: the unsigned type to which T is promoted. Shift counts are modulo the
 * width of that type, as on x86. INT64_MIN / -1 is undefined, so division by -1 is a case of its
 * own. */
#define HR_MATH_INTEGERS_TWO(X, T, U, is_signed) \
    X(HR_MATH_OP_ADD, (T)((U)a + (U)b)) \
    X(HR_MATH_OP_SUB, (T)((U)a - (U)b)) \
    X(HR_MATH_OP_MUL, (T)((U)a * (U)b)) \
    X(HR_MATH_OP_FLOORDIV, is_signed && b == (T)-1 ? (T)(0 - (U)a) : (T)(a / b)) \
    X(HR_MATH_OP_MOD, is_signed && b == (T)-1 ? (T)0 : (T)(a % b)) \
    X(HR_MATH_OP_POW, \
      (T)math_power_wrap((uint64_t)a, (uint64_t)b, is_signed && b < (T)1 && b != 0)) \
    X(HR_MATH_OP_MIN, b < a ? b : a) \
    X(HR_MATH_OP_MAX, a < b ? b : a) \
    X(HR_MATH_OP_AND, (T)(a & b)) \
    X(HR_MATH_OP_OR, (T)(a | b)) \
    X(HR_MATH_OP_XOR, (T)(a ^ b)) \
    X(HR_MATH_OP_LSHIFT, (T)((U)a << ((U)b & (sizeof(U) * 8 - 1)))) \
    X(HR_MATH_OP_RSHIFT, (T)(a >> ((U)b & (sizeof(U) * 8 - 1))))
#define HR_MATH_INTEGERS_ONE(X, T, U, is_signed) \
    X(HR_MATH_OP_NEG, (T)(0 - (U)a)) \
    X(HR_MATH_OP_POS, a) \
    X(HR_MATH_OP_ABS, is_signed && a < (T)1 ? (T)(0 - (U)a) : a) \
    X(HR_MATH_OP_INVERT, (T)~a)

/* fmod and fabs are exact by definition, so they are the same everywhere. */
#define HR_MATH_FLOATS_TWO(X) \
    X(HR_MATH_OP_ADD, a + b) \
    X(HR_MATH_OP_SUB, a - b) \
    X(HR_MATH_OP_MUL, a * b) \
    X(HR_MATH_OP_DIV, a / b) \
    X(HR_MATH_OP_FLOORDIV, a / b) \
    X(HR_MATH_OP_MIN, b < a ? b : a) \
    X(HR_MATH_OP_MAX, a < b ? b : a)
#define HR_MATH_FLOATS_ONE(X, absolute) \
    X(HR_MATH_OP_NEG, -a) \
    X(HR_MATH_OP_POS, a) \
    X(HR_MATH_OP_ABS, absolute(a))
/* Separate for the GPU: these need many registers. */
#define HR_MATH_FLOATS_DEAR(X, T, remainder, power, angle) \
    X(HR_MATH_OP_MOD, (T)remainder((double)a, (double)b)) \
    X(HR_MATH_OP_POW, (T)power((double)a, (double)b)) \
    X(HR_MATH_OP_FPOW, (T)power((double)a, (double)b)) \
    X(HR_MATH_OP_ATAN2, (T)angle((double)a, (double)b))
/* clang-format on */
