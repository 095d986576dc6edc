/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A job: several processes that take their parts of the same batches (docs/order.md). */
#pragma once

#include "exec/state.h"

/* Finds out whether the readers of the plan are those of a job, refuses what would depend on the
 * number of its processes, and sets the batch size. */
hr_status hr__job_open(hr_pipeline *p, hr_error *error);
/* What a reader of the pipeline takes from its arguments. */
hr_sampler_args hr__job_args(const hr_pipeline *p, const hr_sampler_args *args);
/* Positions of all processes for those of this one at the end of a batch, and the other way. */
int64_t hr__job_positions(const hr_pipeline *p, int64_t own);
int64_t hr__job_own(const hr_pipeline *p, int64_t positions);
