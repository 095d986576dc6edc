/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the operators of this folder share: their arguments, shapes and types. */
#ifndef HR_OPS_REDUCTIONS_REDUCTION_H
#define HR_OPS_REDUCTIONS_REDUCTION_H

#include "ops/reductions/reduce.h"

typedef struct hr_reduction_args {
    hr_ints axes;
    const char *axis_names;
    int32_t keep_dims, dtype, ddof;
} hr_reduction_args;

#define HR_REDUCTION_ARG_DEFS                                                                      \
    HR_AXES_ARG_DEFS(hr_reduction_args),                                                           \
        HR_ARG(hr_reduction_args, keep_dims, BOOL, 0, "False",                                     \
               "Whether the axes that are reduced stay, with extent 1.")
#define HR_REDUCTION_DTYPE_ARG(text)                                                               \
    HR_ARG(hr_reduction_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL, text)
#define HR_REDUCTION_DDOF_ARG                                                                      \
    HR_ARG(                                                                                        \
        hr_reduction_args, ddof, INT, 0, "0",                                                      \
        "What is taken from the number of elements before dividing: 1 for samples of something "   \
        "larger.")

hr_status hr__reduction_check(const void *args, uint64_t given, hr_error *error);
/* The wide integer that holds sums of a type; FLOAT for FLOAT. */
hr_dtype hr__reduction_wide(hr_dtype dtype);
/* Describes output 0: of the `wanted` type, which must be allowed, or of the first one allowed. */
hr_status hr__reduction_describe(hr_op_call *c, hr_dtype wanted, const hr_dtype *allowed,
                                 int32_t count, hr_error *error);

/* What was accumulated. */
typedef struct hr_reduced {
    void *acc;
    hr_dtype type;   /* UINT64, INT64, FLOAT64, or the input's */
    size_t n, count; /* accumulators; elements that went into each */
    bool untouched;  /* no axis was reduced */
} hr_reduced;

hr_status hr__reduction_run(hr_op_call *c, hr_reduce_kind kind, const double *mean, hr_reduced *r,
                            hr_error *error);
/* The same for squares: in doubles where output 0 is FLOAT and 64 bits might not hold them. */
hr_status hr__reduction_squares(hr_op_call *c, hr_reduced *r, hr_error *error);
/* Squared distances to the means of input 1, divided by their number less `ddof`. */
hr_status hr__reduction_variance(hr_op_call *c, hr_reduced *r, hr_error *error);
/* The accumulators as doubles, in their place. */
double *hr__reduced_doubles(hr_reduced *r);
/* The accumulators divided by the count: as doubles for a FLOAT output, else cut off towards 0. */
void hr__reduced_mean(hr_reduced *r, hr_dtype out);

#endif
