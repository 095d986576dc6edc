/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What operators share that change no element, and those that name axes. */
#ifndef HR_OPS_GENERIC_VIEW_H
#define HR_OPS_GENERIC_VIEW_H

#include "core/core.h"

/* run_cpu of a VIEW operator with one output: its elements are input 0's. */
hr_status hr__view_run(hr_op_call *calls, int32_t n, hr_error *error);

/* Puts a dimension before dimension `at` (ndim: behind the last); the caller knows that there is
 * room. `name` is its letter in the layout, if the layout is not empty. */
void hr__dim_insert(hr_tensor *t, int32_t at, int64_t extent, char name);
/* HR_STATUS_LIMIT for more dimensions than a tensor can have. */
hr_status hr__ndim_check(int32_t ndim, hr_error *error);

/* Axes of a tensor, given by numbers or else by letters of its layout; all of them when neither
 * says any. Negative numbers count from the end. HR_STATUS_ERROR for one that is not there or comes
 * twice. */
hr_status hr__axes_resolve(const hr_tensor *t, hr_ints axes, const char *names, int32_t *out,
                           int32_t *count, hr_error *error);

#endif
