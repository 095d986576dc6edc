/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Loops of arithmetic, one set a type, which the compiler vectorises. */
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

#define INTEGERS(name, T, U, is_signed)                                                            \
    static bool name(hr_math_op op, void *out, const T *x, const T *y, size_t n)                   \
    {                                                                                              \
        typedef T element;                                                                         \
        uint8_t *truth = out;                                                                      \
        T *r = out;                                                                                \
        switch (op) {                                                                              \
            HR_MATH_COMPARISONS(TRUTH)                                                             \
            HR_MATH_INTEGERS_TWO(TWO, T, U, is_signed)                                             \
            HR_MATH_INTEGERS_ONE(ONE, T, U, is_signed)                                             \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
    }

#define FLOATS(name, T, remainder, absolute)                                                       \
    static bool name(hr_math_op op, void *out, const T *x, const T *y, size_t n)                   \
    {                                                                                              \
        typedef T element;                                                                         \
        uint8_t *truth = out;                                                                      \
        T *r = out;                                                                                \
        switch (op) {                                                                              \
            HR_MATH_COMPARISONS(TRUTH)                                                             \
            HR_MATH_FLOATS_TWO(TWO)                                                                \
            HR_MATH_FLOATS_DEAR(TWO, T, remainder)                                                 \
            HR_MATH_FLOATS_ONE(ONE, absolute)                                                      \
        default:                                                                                   \
            break;                                                                                 \
        }                                                                                          \
        const hr_math_function function = hr__math_function(op);                                   \
        if (!function)                                                                             \
            return false;                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            r[i] = (T)function((double)x[i]);                                                      \
        return true;                                                                               \
    }

INTEGERS(apply_u8, uint8_t, uint32_t, false)
INTEGERS(apply_u16, uint16_t, uint32_t, false)
INTEGERS(apply_u32, uint32_t, uint32_t, false)
INTEGERS(apply_u64, uint64_t, uint64_t, false)
INTEGERS(apply_i8, int8_t, uint32_t, true)
INTEGERS(apply_i16, int16_t, uint32_t, true)
INTEGERS(apply_i32, int32_t, uint32_t, true)
INTEGERS(apply_i64, int64_t, uint64_t, true)
FLOATS(apply_f32, float, fmodf, fabsf)
FLOATS(apply_f64, double, fmod, fabs)

static bool has_zero(const void *b, hr_dtype type, size_t n)
{
    size_t size = hr_dtype_size(type);
    const uint8_t *bytes = b;

    for (size_t i = 0; i < n; i++, bytes += size) {
        uint8_t any = 0;
        for (size_t k = 0; k < size; k++)
            any |= bytes[k];
        if (!any)
            return true;
    }
    return false;
}

hr_status hr__math_apply(hr_math_op op, hr_dtype type, void *out, const void *a, const void *b,
                         size_t n, hr_error *error)
{
    bool done = false;

    if ((op == HR_MATH_OP_FLOORDIV || op == HR_MATH_OP_MOD) && !hr_dtype_is_float(type) &&
        has_zero(b, type, n))
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
