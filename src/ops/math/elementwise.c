/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Loops of arithmetic, one set a type, which the compiler vectorises. C's operators are the
 * semantic: integer division truncates, % has the sign of the dividend; what could overflow is done
 * without sign. */
#include "ops/math/elementwise.h"
#include "ops/math/functions.h"

#include <math.h>

/* x to the power of y, wrapping; negative exponents give 0. */
static uint64_t power_wrap(uint64_t x, uint64_t y, bool negative)
{
    uint64_t r = 1;

    if (negative)
        return 0;
    for (; y; y >>= 1, x *= x)
        r *= y & 1 ? x : 1;
    return r;
}

#define EACH(to, expression)                                                                       \
    for (size_t i = 0; i < n; i++)                                                                 \
        (to)[i] = (expression);                                                                    \
    return true

#define COMPARISONS                                                                                \
    case HR_MATH_OP_EQ:                                                                            \
        EACH(truth, a[i] == b[i]);                                                                 \
    case HR_MATH_OP_NE:                                                                            \
        EACH(truth, a[i] != b[i]);                                                                 \
    case HR_MATH_OP_LT:                                                                            \
        EACH(truth, a[i] < b[i]);                                                                  \
    case HR_MATH_OP_LE:                                                                            \
        EACH(truth, a[i] <= b[i]);                                                                 \
    case HR_MATH_OP_GT:                                                                            \
        EACH(truth, a[i] > b[i]);                                                                  \
    case HR_MATH_OP_GE:                                                                            \
        EACH(truth, a[i] >= b[i]);                                                                 \
    case HR_MATH_OP_MIN:                                                                           \
        EACH(r, b[i] < a[i] ? b[i] : a[i]);                                                        \
    case HR_MATH_OP_MAX:                                                                           \
        EACH(r, a[i] < b[i] ? b[i] : a[i]);                                                        \
    case HR_MATH_OP_POS:                                                                           \
        EACH(r, a[i])

/* U: the type without sign that holds what T's values are promoted to. Shifts count as the machine
 * does, modulo the width of that type; INT64_MIN / -1 has no value, so -1 stands apart. */
#define INTEGERS(name, T, U, is_signed)                                                            \
    static bool name(hr_math_op op, void *out, const T *a, const T *b, size_t n)                   \
    {                                                                                              \
        const U mask = sizeof(U) * 8 - 1;                                                          \
        uint8_t *truth = out;                                                                      \
        T *r = out;                                                                                \
        switch (op) {                                                                              \
        case HR_MATH_OP_ADD:                                                                       \
            EACH(r, (T)((U)a[i] + (U)b[i]));                                                       \
        case HR_MATH_OP_SUB:                                                                       \
            EACH(r, (T)((U)a[i] - (U)b[i]));                                                       \
        case HR_MATH_OP_MUL:                                                                       \
            EACH(r, (T)((U)a[i] * (U)b[i]));                                                       \
        case HR_MATH_OP_FLOORDIV:                                                                  \
            EACH(r, is_signed &&b[i] == (T)-1 ? (T)(0 - (U)a[i]) : (T)(a[i] / b[i]));              \
        case HR_MATH_OP_MOD:                                                                       \
            EACH(r, is_signed &&b[i] == (T)-1 ? 0 : (T)(a[i] % b[i]));                             \
        case HR_MATH_OP_POW:                                                                       \
            EACH(r, (T)power_wrap((uint64_t)a[i], (uint64_t)b[i],                                  \
                                  is_signed &&b[i] < (T)1 && b[i] != 0));                          \
        case HR_MATH_OP_AND:                                                                       \
            EACH(r, (T)(a[i] & b[i]));                                                             \
        case HR_MATH_OP_OR:                                                                        \
            EACH(r, (T)(a[i] | b[i]));                                                             \
        case HR_MATH_OP_XOR:                                                                       \
            EACH(r, (T)(a[i] ^ b[i]));                                                             \
        case HR_MATH_OP_LSHIFT:                                                                    \
            EACH(r, (T)((U)a[i] << ((U)b[i] & mask)));                                             \
        case HR_MATH_OP_RSHIFT:                                                                    \
            EACH(r, (T)(a[i] >> ((U)b[i] & mask)));                                                \
        case HR_MATH_OP_NEG:                                                                       \
            EACH(r, (T)(0 - (U)a[i]));                                                             \
        case HR_MATH_OP_ABS:                                                                       \
            EACH(r, is_signed &&a[i] < (T)1 ? (T)(0 - (U)a[i]) : a[i]);                            \
        case HR_MATH_OP_INVERT:                                                                    \
            EACH(r, (T)~a[i]);                                                                     \
            COMPARISONS;                                                                           \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
    }

/* fmod is exact by its definition, so the same everywhere, as fabs is. */
#define FLOATS(name, T, remainder, absolute)                                                       \
    static bool name(hr_math_op op, void *out, const T *a, const T *b, size_t n)                   \
    {                                                                                              \
        uint8_t *truth = out;                                                                      \
        T *r = out;                                                                                \
        switch (op) {                                                                              \
        case HR_MATH_OP_ADD:                                                                       \
            EACH(r, a[i] + b[i]);                                                                  \
        case HR_MATH_OP_SUB:                                                                       \
            EACH(r, a[i] - b[i]);                                                                  \
        case HR_MATH_OP_MUL:                                                                       \
            EACH(r, a[i] * b[i]);                                                                  \
        case HR_MATH_OP_DIV:                                                                       \
        case HR_MATH_OP_FLOORDIV:                                                                  \
            EACH(r, a[i] / b[i]);                                                                  \
        case HR_MATH_OP_MOD:                                                                       \
            EACH(r, remainder(a[i], b[i]));                                                        \
        case HR_MATH_OP_ATAN2:                                                                     \
            EACH(r, (T)hr__atan2((double)a[i], (double)b[i]));                                     \
        case HR_MATH_OP_POW:                                                                       \
        case HR_MATH_OP_FPOW:                                                                      \
            EACH(r, (T)hr_pow((double)a[i], (double)b[i]));                                        \
        case HR_MATH_OP_NEG:                                                                       \
            EACH(r, -a[i]);                                                                        \
        case HR_MATH_OP_ABS:                                                                       \
            EACH(r, absolute(a[i]));                                                               \
            COMPARISONS;                                                                           \
        default:                                                                                   \
            break;                                                                                 \
        }                                                                                          \
        const hr_math_function function = hr__math_function(op);                                   \
        if (!function)                                                                             \
            return false;                                                                          \
        EACH(r, (T)function((double)a[i]));                                                        \
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
    for (size_t i = 0; i < n; i++) {
        bool negative = a[i] < 0, equal = !negative && (uint64_t)a[i] == b[i];
        bool less = negative || (uint64_t)a[i] < b[i];
        out[i] = op == HR_MATH_OP_EQ   ? equal
                 : op == HR_MATH_OP_NE ? !equal
                 : op == HR_MATH_OP_LT ? less
                 : op == HR_MATH_OP_LE ? less || equal
                 : op == HR_MATH_OP_GT ? !less && !equal
                                       : !less;
    }
}
