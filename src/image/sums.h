/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A vertical filter of many taps: each row of the source is added to the outputs that it belongs to
 * when it is read, so that no row is kept. Each output is summed in the order of vfilter_f32. */
#pragma once

#include "headrace/operator.h"
#include "kernels/kernels.h"

enum { HR_SUMS_ROWS = 8 }; /* rows that are added at once, at most */

typedef struct hr_sums {
    const hr_kernels *kernels;
    const int32_t *start; /* of each output, the first row that it reads */
    const float *coef;    /* `taps` of each output */
    int32_t taps, count;  /* outputs */
    int32_t slots;        /* outputs in flight; output o is in slot o % slots */
    size_t n;             /* elements of a row */
    int32_t first;        /* the first output in flight */
    int64_t next;         /* the row to be added next */
    float *rows;          /* room for HR_SUMS_ROWS converted rows */
    float **sum, **other; /* of each slot */
} hr_sums;

/* Outputs that rows of one call to hr__sums_add may belong to, when outputs are taken in rising
 * order. */
int32_t hr__sums_overlap(const int32_t *start, int32_t taps, int32_t count);
/* kernels, start, coef, taps, count, n and slots are set; memory comes from the arena. */
hr_status hr__sums_init(hr_sums *s, hr_arena *arena, hr_error *error);
/* Sets the output to be taken next, and discards all sums. */
void hr__sums_restart(hr_sums *s, int32_t output);
/* Adds the rows next .. next + count - 1. */
void hr__sums_add(hr_sums *s, const float *const *rows, int32_t count);
/* The sum of the first output in flight, whose rows were all added; it is valid until the next call
 * to hr__sums_add. */
const float *hr__sums_take(hr_sums *s);
