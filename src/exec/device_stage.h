/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Device stages once they are prepared: launching, and completion, which waits for the end of a
 * launch. It returns samples that the device could not decode to the workers, which decode them on
 * the CPU, and lets the iteration enter its next stage. A thread does this or, with
 * options.run_here, the consumer. */
#pragma once

#include "exec/values.h"

typedef struct hr_completion {
    pthread_t thread;
    bool started, stop;
    pthread_cond_t work;        /* guarded by the pipeline's lock, as the rest */
    int64_t busy_ns, idle_ns;   /* with and without launched iterations */
    int64_t traced_ns;          /* end of the last span in the trace */
    hr_iteration *first, *last; /* launched, oldest first; linked by `launched` */
} hr_completion;

/* Opens the device if a node runs on one, and checks that it supports all nodes of the plan. */
hr_status hr__device_open(hr_pipeline *p, hr_error *error);
void hr__device_stop(hr_pipeline *p);  /* waits for launches; call it after joining the workers */
void hr__device_close(hr_pipeline *p); /* call it after freeing the iterations */

/* Waits for the launch made first and completes its stage; false if there is none. Lock held;
 * released in between. The completion thread calls it or, with options.run_here, the consumer. */
bool hr__device_complete(hr_pipeline *p);

/* Queues the stage's work and hands the iteration to hr__device_complete. No lock held. */
void hr__device_launch(hr_worker *w, hr_iteration *it);
