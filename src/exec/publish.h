/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The outputs of an iteration, or why it has none. */
#pragma once

#include "exec/values.h"

struct hr_outputs {
    atomic_int refs;
    int64_t iteration;
    int32_t positions, count;
    int32_t samples, *slots; /* the position of each sample in the batch */
    hr_batch *batch[];
};

/* Makes the outputs of an iteration whose tasks are done, or returns what failed. No lock is
 * needed: the iteration belongs to the caller, or has no tasks left. */
hr_status hr__publish(hr_pipeline *p, hr_iteration *it, hr_error *error);
/* The error of an iteration: its own, or that of its first sample that failed. */
hr_status hr__iteration_failure(const hr_iteration *it, hr_error *error);
