/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The life of an iteration. The lock is held unless a function says otherwise. */
#pragma once

#include "exec/values.h"

/* Who schedules, and what that thread does next. */
typedef enum hr_scheduler {
    HR_SCHEDULER_OTHER,
    HR_SCHEDULER_WORKER,  /* looks for tasks */
    HR_SCHEDULER_CONSUMER /* calls hr__work_here */
} hr_scheduler;

int32_t hr__iterations_max(const hr_pipeline *p); /* ever in flight; no lock needed */
/* Starts iterations while there may be more and the sources have data for them, unless another
 * thread does. Releases the lock meanwhile. */
hr_status hr__schedule_unlocking(hr_pipeline *p, hr_scheduler by);
void hr__iteration_free(hr_pipeline *p, hr_iteration *it); /* no lock needed */
/* Makes the tasks of a stage. After the last stage the iteration is done. */
void hr__iteration_enter(hr_pipeline *p, hr_iteration *it, int32_t stage);
/* Wakes so many workers. */
void hr__wake(hr_pipeline *p, int32_t workers);
/* Whether the consumer's thread works on the iteration itself: with options.run_here, until a cheap
 * one has reached the device, and on what hr_pipeline_call fed if its tasks are brief and neither
 * read files nor call functions. */
bool hr__consumer_works(const hr_pipeline *p, const hr_iteration *it);
/* How many workers to wake for the stage that the iteration is in. */
int32_t hr__workers_wanted(const hr_pipeline *p, const hr_iteration *it);
bool hr__has_ordered(const hr_pipeline *p); /* stages; no lock needed */
/* Whether an iteration may begin now. */
bool hr__can_schedule(const hr_pipeline *p);
void hr__rows_free(hr_pipeline *p);              /* call it after freeing the iterations */
bool hr__samples_failed(const hr_iteration *it); /* any of them */
/* Enters the next stage. After the last one it makes the batches and releases the lock while it
 * does, so that the consumer does not wait. A failed iteration ends early; `run` reports the
 * failure or tries again. `worker`: that of this thread, or NULL. */
void hr__stage_end(hr_pipeline *p, hr_iteration *it, hr_worker *worker);
/* Restarts an iteration that ran out of memory, since outputs may have been freed in the meantime.
 * Returns false if it did not run out of memory, or was retried before. */
bool hr__iteration_retry(hr_pipeline *p, hr_iteration *it);
/* Whether an iteration failed for lack of memory alone, and can be run again. */
bool hr__iteration_lacks_memory(const hr_pipeline *p, const hr_iteration *it);
/* HR_STATUS_NO_MEMORY if that is so and it was retried: it stays the first one, and the next call
 * of hr__iteration_retry runs it again. */
hr_status hr__iteration_short(const hr_pipeline *p, hr_iteration *it, hr_error *error);
