/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Loops of arithmetic, one set per type, which the compiler vectorises. */
#include "ops/math/elementwise.h"
#include "ops/math/functions.h"

#include <math.h>

#define TWO(op, expression)                                                                        \
    case op:                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                           \
            const element a = x[i], b = y[i];                                                      \
            r[i] = (expression);                                                                   \
        }                                                                                          \
        return true;
#define ONE(op, expression)                                                                        \
    case op:                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                           \
            const element a = x[i];                                                                \
            r[i] = (expression);                                                                   \
        }                                                                                          \
        return true;
#define TRUTH(op, expression)                                                                      \
    case op:                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                           \
            const element a = x[i], b = y[i];                                                      \
            truth[i] = (expression);                                                               \
        }                                                                                          \
        return true;

/* Quotients in floating-point type F, whose divisions can be vectorised. q + r / b differs from q +
 * 1 by at least 1 / b, which rounding in F cannot hide if F has twice the digits of T. INT_MIN / -1
 * wraps. */
#define DIVIDE(T, U, F, is_signed)                                                                 \
    if (sizeof(T) < 8 && (op == HR_MATH_OP_FLOORDIV || op == HR_MATH_OP_MOD)) {                    \
        const U whole = op == HR_MATH_OP_MOD;                                                      \
        for (size_t i = 0; i < n; i++) {                                                           \
            const bool minus = (is_signed) && y[i] == (T)-1;                                       \
            const U q = (U)(T)((F)x[i] / (F)(minus ? (T)1 : y[i])),                                \
                    b = minus ? (U)0 - 1 : (U)y[i];                                                \
            const U quotient = minus ? 0 - q : q;                                                  \
            r[i] = (T)(whole ? (U)x[i] - quotient * b : quotient);                                 \
        }                                                                                          \
        return true;                                                                               \
    }

#define INTEGERS(name, T, U, F, is_signed)                                                         \
    static bool name(hr_math_op op, void *out, const T *x, const T *y, size_t n)                   \
    {                                                                                              \
        typedef T element;                                                                         \
        uint8_t *truth = out;                                                                      \
        T *r = out;                                                                                \
        DIVIDE(T, U, F, is_signed)                                                                 \
        switch (op) {                                                                              \
            HR_MATH_COMPARISONS(TRUTH)                                                             \
            HR_MATH_INTEGERS_TWO(TWO, T, U, is_signed)                                             \
            HR_MATH_INTEGERS_ONE(ONE, T, U, is_signed)                                             \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
    }

#define FLOATS(name, T, absolute, remainder, power, angle)                                         \
    static bool name(hr_math_op op, void *out, const T *x, const T *y, size_t n)                   \
    {                                                                                              \
        typedef T element;                                                                         \
        uint8_t *truth = out;                                                                      \
        T *r = out;                                                                                \
        switch (op) {                                                                              \
            HR_MATH_COMPARISONS(TRUTH)                                                             \
            HR_MATH_FLOATS_TWO(TWO)                                                                \
            HR_MATH_FLOATS_DEAR(TWO, T, remainder, power, angle)                                   \
            HR_MATH_FLOATS_ONE(ONE, absolute)                                                      \
        default:                                                                                   \
            break;                                                                                 \
        }                                                                                          \
        const hr_math_function function = hr__math_function(op, sizeof(T) == 4);                   \
        if (!function)                                                                             \
            return false;                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            r[i] = (T)function((double)x[i]);                                                      \
        return true;                                                                               \
    }

INTEGERS(apply_u8, uint8_t, uint32_t, float, false)
INTEGERS(apply_u16, uint16_t, uint32_t, float, false)
INTEGERS(apply_u32, uint32_t, uint32_t, double, false)
INTEGERS(apply_u64, uint64_t, uint64_t, uint64_t, false)
INTEGERS(apply_i8, int8_t, uint32_t, float, true)
INTEGERS(apply_i16, int16_t, uint32_t, float, true)
INTEGERS(apply_i32, int32_t, uint32_t, double, true)
INTEGERS(apply_i64, int64_t, uint64_t, int64_t, true)
FLOATS(apply_f32, float, fabsf, math_short_mod, math_short_pow, math_short_atan2)
FLOATS(apply_f64, double, fabs, fmod, mathx_pow, math_atan2)

#define HAS_ZERO(T)                                                                                \
    for (size_t i = 0; i < n; i++)                                                                 \
    any |= ((const T *)b)[i] == 0

static bool has_zero(const void *b, size_t size, size_t n)
{
    unsigned any = 0;

    if (size == 1)
        HAS_ZERO(uint8_t);
    else if (size == 2)
        HAS_ZERO(uint16_t);
    else if (size == 4)
        HAS_ZERO(uint32_t);
    else
        HAS_ZERO(uint64_t);
    return any;
}

hr_status hr__math_apply(hr_math_op op, hr_dtype type, void *out, const void *a, const void *b,
                         size_t n, hr_error *error)
{
    bool done = false;

    if ((op == HR_MATH_OP_FLOORDIV || op == HR_MATH_OP_MOD) && !hr_dtype_is_float(type) &&
        has_zero(b, hr_dtype_size(type), n))
        return hr_fail(error, HR_STATUS_VALUE, "integer division by zero");
    switch (type) {
    case HR_DTYPE_BOOL:
    case HR_DTYPE_UINT8:
        done = apply_u8(op, out, a, b, n);
        break;
    case HR_DTYPE_UINT16:
        done = apply_u16(op, out, a, b, n);
        break;
    case HR_DTYPE_UINT32:
        done = apply_u32(op, out, a, b, n);
        break;
    case HR_DTYPE_UINT64:
        done = apply_u64(op, out, a, b, n);
        break;
    case HR_DTYPE_INT8:
        done = apply_i8(op, out, a, b, n);
        break;
    case HR_DTYPE_INT16:
        done = apply_i16(op, out, a, b, n);
        break;
    case HR_DTYPE_INT32:
        done = apply_i32(op, out, a, b, n);
        break;
    case HR_DTYPE_INT64:
        done = apply_i64(op, out, a, b, n);
        break;
    case HR_DTYPE_FLOAT:
        done = apply_f32(op, out, a, b, n);
        break;
    case HR_DTYPE_FLOAT64:
        done = apply_f64(op, out, a, b, n);
        break;
    default:
        break;
    }
    if (!done)
        return hr_fail(error, HR_STATUS_ERROR, "the operator is not defined for %s",
                       hr_dtype_name(type));
    return HR_STATUS_OK;
}

void hr__math_compare_mixed(hr_math_op op, uint8_t *out, const int64_t *a, const uint64_t *b,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = math_compare_mixed(op, a[i], b[i]);
}
