/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Loops of arithmetic. C's operators are the semantic: integer division truncates, % has the sign
 * of the dividend. */
#include "ops/math/elementwise.h"

#include <math.h>
#include <string.h>

hr_dtype hr__math_class(hr_dtype type)
{
    if (type == HR_DTYPE_FLOAT || type == HR_DTYPE_FLOAT64)
        return type;
    return hr_dtype_is_signed(type) ? HR_DTYPE_INT64 : HR_DTYPE_UINT64;
}

void hr__math_load(hr_math_buffer *dst, hr_dtype as, const void *src, hr_dtype type, size_t n,
                   int step)
{
    size_t count = step ? n : 1;
    bool wide = hr_dtype_size(as) == 8;

    if (hr_dtype_size(type) == 8 && wide && !hr_dtype_is_float(as))
        memcpy(dst, src, count * 8); /* between INT64 and UINT64 the bits stay */
    else
        hr_convert(dst, as, src, type, count);
    for (size_t i = count; i < n && wide; i++)
        dst->u[i] = dst->u[0];
    for (size_t i = count; i < n && !wide; i++)
        dst->f[i] = dst->f[0];
}

void hr__math_store(void *dst, hr_dtype type, const hr_math_buffer *src, hr_dtype as, size_t n)
{
    if (hr_dtype_is_float(as)) {
        hr_convert(dst, type, src, as, n);
        return;
    }
    switch (hr_dtype_size(type)) {
    case 1:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)dst)[i] = (uint8_t)src->u[i];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)dst)[i] = (uint16_t)src->u[i];
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)dst)[i] = (uint32_t)src->u[i];
        break;
    default:
        memcpy(dst, src, n * 8);
    }
}

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

#define EACH(out, expression)                                                                      \
    for (size_t i = 0; i < n; i++)                                                                 \
        out[i] = (expression);                                                                     \
    return true

#define COMPARISONS(m)                                                                             \
    case HR_MATH_OP_EQ:                                                                            \
        EACH(r->b, a->m[i] == b->m[i]);                                                            \
    case HR_MATH_OP_NE:                                                                            \
        EACH(r->b, a->m[i] != b->m[i]);                                                            \
    case HR_MATH_OP_LT:                                                                            \
        EACH(r->b, a->m[i] < b->m[i]);                                                             \
    case HR_MATH_OP_LE:                                                                            \
        EACH(r->b, a->m[i] <= b->m[i]);                                                            \
    case HR_MATH_OP_GT:                                                                            \
        EACH(r->b, a->m[i] > b->m[i]);                                                             \
    case HR_MATH_OP_GE:                                                                            \
        EACH(r->b, a->m[i] >= b->m[i]);                                                            \
    case HR_MATH_OP_MIN:                                                                           \
        EACH(r->m, b->m[i] < a->m[i] ? b->m[i] : a->m[i]);                                         \
    case HR_MATH_OP_MAX:                                                                           \
        EACH(r->m, a->m[i] < b->m[i] ? b->m[i] : a->m[i])

/* What does not depend on the sign: done without it, where overflow is defined. */
static bool apply_bits(hr_math_op op, int bits, hr_math_buffer *r, const hr_math_buffer *a,
                       const hr_math_buffer *b, size_t n)
{
    uint64_t mask = bits > 32 ? 63 : 31; /* shifts count as the machine does: modulo the width */

    switch (op) {
    case HR_MATH_OP_ADD:
        EACH(r->u, a->u[i] + b->u[i]);
    case HR_MATH_OP_SUB:
        EACH(r->u, a->u[i] - b->u[i]);
    case HR_MATH_OP_MUL:
        EACH(r->u, a->u[i] * b->u[i]);
    case HR_MATH_OP_AND:
        EACH(r->u, a->u[i] & b->u[i]);
    case HR_MATH_OP_OR:
        EACH(r->u, a->u[i] | b->u[i]);
    case HR_MATH_OP_XOR:
        EACH(r->u, a->u[i] ^ b->u[i]);
    case HR_MATH_OP_LSHIFT:
        EACH(r->u, a->u[i] << (b->u[i] & mask));
    case HR_MATH_OP_NEG:
        EACH(r->u, 0 - a->u[i]);
    case HR_MATH_OP_POS:
        EACH(r->u, a->u[i]);
    case HR_MATH_OP_INVERT:
        EACH(r->u, ~a->u[i]);
    default:
        return false;
    }
}

static bool apply_signed(hr_math_op op, int bits, hr_math_buffer *r, const hr_math_buffer *a,
                         const hr_math_buffer *b, size_t n)
{
    uint64_t mask = bits > 32 ? 63 : 31;

    switch (op) { /* -1 apart: INT64_MIN / -1 is not defined */
    case HR_MATH_OP_FLOORDIV:
        EACH(r->i, b->i[i] == -1 ? (int64_t)(0 - a->u[i]) : a->i[i] / b->i[i]);
    case HR_MATH_OP_MOD:
        EACH(r->i, b->i[i] == -1 ? 0 : a->i[i] % b->i[i]);
    case HR_MATH_OP_POW:
        EACH(r->u, power_wrap(a->u[i], b->u[i], b->i[i] < 0));
    case HR_MATH_OP_RSHIFT:
        EACH(r->i, a->i[i] >> (b->u[i] & mask));
    case HR_MATH_OP_ABS:
        EACH(r->u, a->i[i] < 0 ? 0 - a->u[i] : a->u[i]);
        COMPARISONS(i);
    default:
        return false;
    }
}

static bool apply_unsigned(hr_math_op op, int bits, hr_math_buffer *r, const hr_math_buffer *a,
                           const hr_math_buffer *b, size_t n)
{
    uint64_t mask = bits > 32 ? 63 : 31;

    switch (op) {
    case HR_MATH_OP_FLOORDIV:
        EACH(r->u, a->u[i] / b->u[i]);
    case HR_MATH_OP_MOD:
        EACH(r->u, a->u[i] % b->u[i]);
    case HR_MATH_OP_POW:
        EACH(r->u, power_wrap(a->u[i], b->u[i], false));
    case HR_MATH_OP_RSHIFT:
        EACH(r->u, a->u[i] >> (b->u[i] & mask));
    case HR_MATH_OP_ABS:
        EACH(r->u, a->u[i]);
        COMPARISONS(u);
    default:
        return false;
    }
}

/* fmod is exact by its definition, so the same everywhere, as fabs is. */
#define FLOATS(m, cast, remainder, absolute)                                                       \
    switch (op) {                                                                                  \
    case HR_MATH_OP_ADD:                                                                           \
        EACH(r->m, a->m[i] + b->m[i]);                                                             \
    case HR_MATH_OP_SUB:                                                                           \
        EACH(r->m, a->m[i] - b->m[i]);                                                             \
    case HR_MATH_OP_MUL:                                                                           \
        EACH(r->m, a->m[i] * b->m[i]);                                                             \
    case HR_MATH_OP_DIV:                                                                           \
    case HR_MATH_OP_FLOORDIV:                                                                      \
        EACH(r->m, a->m[i] / b->m[i]);                                                             \
    case HR_MATH_OP_MOD:                                                                           \
        EACH(r->m, remainder(a->m[i], b->m[i]));                                                   \
    case HR_MATH_OP_POW:                                                                           \
        EACH(r->m, (cast)hr_pow((double)a->m[i], (double)b->m[i]));                                \
    case HR_MATH_OP_NEG:                                                                           \
        EACH(r->m, -a->m[i]);                                                                      \
    case HR_MATH_OP_POS:                                                                           \
        EACH(r->m, a->m[i]);                                                                       \
    case HR_MATH_OP_ABS:                                                                           \
        EACH(r->m, absolute(a->m[i]));                                                             \
        COMPARISONS(m);                                                                            \
    default:                                                                                       \
        return false;                                                                              \
    }

static bool apply_float(hr_math_op op, hr_math_buffer *r, const hr_math_buffer *a,
                        const hr_math_buffer *b, size_t n)
{
    FLOATS(f, float, fmodf, fabsf)
}

static bool apply_double(hr_math_op op, hr_math_buffer *r, const hr_math_buffer *a,
                         const hr_math_buffer *b, size_t n)
{
    FLOATS(d, double, fmod, fabs)
}

static bool has_zero(const hr_math_buffer *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (b->u[i] == 0)
            return true;
    }
    return false;
}

hr_status hr__math_apply(hr_math_op op, hr_dtype as, int bits, hr_math_buffer *r,
                         const hr_math_buffer *a, const hr_math_buffer *b, size_t n,
                         hr_error *error)
{
    bool done;

    if ((op == HR_MATH_OP_FLOORDIV || op == HR_MATH_OP_MOD) && !hr_dtype_is_float(as) &&
        has_zero(b, n))
        return hr_fail(error, HR_STATUS_VALUE, "integer division by zero");
    if (as == HR_DTYPE_FLOAT)
        done = apply_float(op, r, a, b, n);
    else if (as == HR_DTYPE_FLOAT64)
        done = apply_double(op, r, a, b, n);
    else if (apply_bits(op, bits, r, a, b, n))
        done = true;
    else if (as == HR_DTYPE_INT64)
        done = apply_signed(op, bits, r, a, b, n);
    else
        done = apply_unsigned(op, bits, r, a, b, n);
    if (!done)
        return hr_fail(error, HR_STATUS_ERROR, "the operator is not defined for these types");
    return HR_STATUS_OK;
}

void hr__math_compare_mixed(hr_math_op op, hr_math_buffer *r, const hr_math_buffer *a,
                            const hr_math_buffer *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = a->u[i], y = b->u[i];
        bool less = a->i[i] < 0 || x < y, equal = a->i[i] >= 0 && x == y;
        r->b[i] = op == HR_MATH_OP_EQ   ? equal
                  : op == HR_MATH_OP_NE ? !equal
                  : op == HR_MATH_OP_LT ? less
                  : op == HR_MATH_OP_LE ? less || equal
                  : op == HR_MATH_OP_GT ? !less && !equal
                                        : !less;
    }
}
