/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The workers of a pipeline: they run tasks, on threads of a pool. */
#pragma once

#include "exec/state.h"

hr_status hr__workers_start(hr_pipeline *p, hr_error *error);
/* Runs tasks of the oldest iteration on this thread if hr__consumer_works says so. Lock held;
 * released while they run. false: there is nothing to do now. */
bool hr__work_here(hr_pipeline *p);
/* The same for the thread that has just fed the last iteration, while that is cheap. */
void hr__work_after_feeding(hr_pipeline *p);
/* No new task begins after this. */
void hr__workers_stop(hr_pipeline *p);
void hr__workers_join(hr_pipeline *p); /* after hr__workers_stop */
