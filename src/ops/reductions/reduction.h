/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of the reductions: arguments, shapes and types. */
#pragma once

#include "ops/reductions/reduce.h"

typedef struct hr_reduction_args {
    hr_ints axes;
    const char *axis_names;
    int32_t keep_dims, dtype, ddof;
} hr_reduction_args;

#define HR_REDUCTION_ARG_DEFS                                                                      \
    HR_AXES_ARG_DEFS(hr_reduction_args), HR_ARG(hr_reduction_args, keep_dims, BOOL, 0, "False",    \
                                                "Keep the reduced axes with extent 1.")
#define HR_REDUCTION_DTYPE_ARG(text)                                                               \
    HR_ARG(hr_reduction_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL, text)
#define HR_REDUCTION_DDOF_ARG                                                                      \
    HR_ARG(hr_reduction_args, ddof, INT, 0, "0",                                                   \
           "Delta degrees of freedom: subtracted from the number of elements before dividing. 1 "  \
           "gives the sample variance.")

/* The table of an operator without its inputs. `id` is also the prefix of its functions. */
#define HR_REDUCTION_TABLE(id, text)                                                               \
    HR_OP_ABI, .name = "reductions." #id, .doc = text, .devices = "cpu|gpu",                       \
               .args = id##_arg_defs, .args_size = sizeof(hr_reduction_args), .infer = id##_infer, \
               .run = hr__reduction_run
#define HR_REDUCTION_DATA .in = HR_INPUTS({.name = "data"})
#define HR_REDUCTION_DATA_AND_MEAN .in = HR_INPUTS({.name = "data"}, {.name = "mean"})

/* How accumulators become results. */
typedef enum hr_reduction_end {
    HR_REDUCTION_END_VALUE,    /* converted to FLOAT, or to integers as C does */
    HR_REDUCTION_END_MEAN,     /* divided by the number of elements; integers are truncated */
    HR_REDUCTION_END_ROOT,     /* square root of the mean */
    HR_REDUCTION_END_VARIANCE, /* divided by the number of elements minus `ddof` */
    HR_REDUCTION_END_DEVIATION /* square root of the variance */
} hr_reduction_end;

/* The memo that infer leaves for the run, on the CPU or on a device. DISTANCES are from the means
 * of input 1, or from 0. */
typedef struct hr_reduction {
    hr_reduce_shape shape;
    hr_reduce_kind kind;
    hr_reduction_end end;
    hr_dtype type; /* of the accumulators */
    int32_t ddof;
    bool untouched; /* no axis is reduced */
} hr_reduction;

/* The 64-bit integer type for sums of a type; FLOAT for FLOAT. */
hr_dtype hr__reduction_wide(hr_dtype dtype);
/* Describes output 0. Its type is `wanted`, which must be allowed, or the first allowed type if
 * `wanted` is NONE. Leaves the memo, except for the fields that hr__reduction_how sets. */
hr_status hr__reduction_describe(hr_op_call *c, int32_t wanted, const hr_dtype *allowed,
                                 int32_t count, hr_error *error);
void hr__reduction_how(hr_op_call *c, hr_reduce_kind kind, hr_reduction_end end);
/* Squares are doubles if output 0 is FLOAT and they might overflow 64 bits. */
hr_reduce_kind hr__reduction_squares(const hr_op_call *c);
/* The whole infer of operators with means as input 1. */
hr_status hr__reduction_about_mean(hr_op_call *c, hr_reduction_end end, hr_error *error);
hr_status hr__reduction_run(hr_op_call *c, hr_error *error);
