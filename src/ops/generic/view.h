/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of operators that change no elements, and of operators with axes as arguments. */
#pragma once

#include "core/core.h"

/* run of a VIEW operator with one output: it has the elements of input 0. */
hr_status hr__view_run(hr_op_call *c, hr_error *error);

/* Inserts a dimension before dimension `at` (ndim: after the last). The caller has checked that
 * there is room. `name` is its letter, used if the layout is not empty. */
void hr__dim_insert(hr_tensor *t, int32_t at, int64_t extent, char name);
/* HR_STATUS_LIMIT for more dimensions than a tensor can have. */
hr_status hr__ndim_check(int32_t ndim, hr_error *error);

/* Resolves axes of a tensor that are given by number or by letter of the layout; all axes when
 * neither is given. Negative numbers count from the end. HR_STATUS_ERROR for an axis that does not
 * exist or is repeated. */
hr_status hr__axes_resolve(const hr_tensor *t, hr_ints axes, const char *names, int32_t *out,
                           int32_t *count, hr_error *error);
