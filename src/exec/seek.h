/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Iterations that are left out. The lock is held. */
#ifndef HR_EXEC_SEEK_H
#define HR_EXEC_SEEK_H

#include "exec/state.h"

/* How many iterations from this one on are left out. */
int64_t hr__left_out_from(const hr_pipeline *p, int64_t iteration);
/* Writes the list into a checkpoint, unless it is empty. */
void hr__left_out_append(const hr_pipeline *p, hr_text *t);
/* Reads it from one. NULL: it is empty. */
hr_status hr__left_out_read(hr_pipeline *p, const hr_json *list, hr_error *error);

#endif
