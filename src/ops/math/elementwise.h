/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arithmetic on runs of elements. Whatever the element types are, work is done in one of four
 * computing types; integers wrap, because cutting the upper bits off commutes with what is
 * computed. */
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
    HR_MATH_OP_COUNT
} hr_math_op;

/* Elements that a run has at most: three buffers of it lie on the stack. */
#define HR_MATH_RUN 512

typedef union hr_math_buffer {
    int64_t i[HR_MATH_RUN];
    uint64_t u[HR_MATH_RUN];
    float f[HR_MATH_RUN];
    double d[HR_MATH_RUN];
    uint8_t b[HR_MATH_RUN];
} hr_math_buffer;

/* INT64, UINT64, FLOAT or FLOAT64: where values of `type` are computed. */
hr_dtype hr__math_class(hr_dtype type);
/* n elements of `src` (the first one n times when `step` is 0) as computing type `as`. */
void hr__math_load(hr_math_buffer *dst, hr_dtype as, const void *src, hr_dtype type, size_t n,
                   int step);
/* n elements of computing type `as` into elements of `type`; integers keep their low bits. */
void hr__math_store(void *dst, hr_dtype type, const hr_math_buffer *src, hr_dtype as, size_t n);
/* r = a op b. Comparisons leave 0 and 1 in r->b. `bits` is the width of the result's type, for
 * shifts. Fails on an integer division by zero. */
hr_status hr__math_apply(hr_math_op op, hr_dtype as, int bits, hr_math_buffer *r,
                         const hr_math_buffer *a, const hr_math_buffer *b, size_t n,
                         hr_error *error);
/* Compares INT64 in a with UINT64 in b by value, as `op` says. */
void hr__math_compare_mixed(hr_math_op op, hr_math_buffer *r, const hr_math_buffer *a,
                            const hr_math_buffer *b, size_t n);

#endif
