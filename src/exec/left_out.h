/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Iterations that are left out. The lock is held. */
#pragma once

#include "exec/state.h"

/* How many iterations from this one on are left out. */
int64_t hr__left_out_from(const hr_pipeline *p, int64_t iteration);
/* Adds to the list, in which parts that touch become one. */
hr_status hr__left_out_add(hr_pipeline *p, hr_left_out more, hr_error *error);
/* Writes the list into a checkpoint, unless it is empty. */
void hr__left_out_append(const hr_pipeline *p, hr_text *t);
/* Reads it from one. NULL: it is empty. */
hr_status hr__left_out_read(hr_pipeline *p, const hr_json *list, hr_error *error);
