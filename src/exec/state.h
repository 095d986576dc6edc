/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the parts of the engine share: a pipeline and its workers. Who may touch what:
 * - What is constant once the pipeline is created: anybody.
 * - What the pipeline's lock guards: whoever holds it. The lock is never held while an operator, a
 *   source, a file or a callback of the user works.
 * - A sample, its values and its slots in the outputs: the worker that runs its task. An iteration
 *   without tasks: the thread that ended its stage; once it is taken, the consumer.
 * - The read-ahead of readers: the thread that schedules. A stream and the batch that it fills: the
 *   stream's thread.
 * - An hr_worker: the thread that works with it; others may read its counters.
 * Workers always take the oldest task, so that no batch waits for a later one. */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/clock.h"
#include "core/core.h"
#include "exec/stall.h"
#include "exec/thread_pool.h"
#include "codecs/jpeg/index_cache.h"
#include "io/readahead.h"
#include "plan/plan.h"
#include "readers/sampler.h"

#define HR_ROWS_KEPT 8

typedef struct hr_iteration hr_iteration;
typedef struct hr_iteration_rows hr_iteration_rows;
typedef struct hr_supply hr_supply;

/* Where a stream stands: what its `save` wrote. */
typedef struct hr_cursor {
    size_t size;
    uint8_t bytes[];
} hr_cursor;

/* Only the worker writes its counters; they are summed when somebody asks. */
typedef _Atomic int64_t hr_counter;

static inline void hr__count(hr_counter *c, int64_t more)
{
    int64_t sum = atomic_load_explicit(c, memory_order_relaxed) + more;
    atomic_store_explicit(c, sum, memory_order_relaxed);
}

typedef struct hr_worker_stats {
    hr_counter *node_ns;    /* in plan order; a chain counts as its last node, its decoding as its
                               first */
    hr_counter *node_count; /* samples */
    hr_counter busy_ns, read_wait_ns, tasks;
    hr_counter cache_hits; /* items of readers that were in memory */
} hr_worker_stats;

/* What a thread needs to work for a pipeline. There are num_threads of them. */
typedef struct hr_worker {
    hr_pipeline *pipeline;
    int32_t number;
    struct hr_worker *next; /* among those without a thread */
    bool guest;             /* the consumer's thread works with it */
    hr_arena *arena;
    void **locals; /* one per graph node: what `local_create` made, or NULL */
    hr_worker_stats stats;
} hr_worker;

/* ---- what a pipeline consists of; unless they say otherwise, its lock guards the members ---- */

/* Starting iterations. One thread at a time does it, which owns what readers keep for it. */
typedef struct hr_scheduling {
    bool due;         /* an iteration was taken: another can be scheduled */
    bool busy;        /* a thread schedules */
    hr_status broken; /* it failed: one run reports it, the next tries again */
    hr_error error;
} hr_scheduling;

/* Iterations that are left out. */
typedef struct hr_left_out {
    int64_t first, end;
} hr_left_out;

/* The iterations that are scheduled and not taken. */
typedef struct hr_flight {
    hr_iteration *first, *last; /* oldest first */
    int32_t count;
    int64_t next_iteration, next_sample; /* numbers of the next one, and of its first sample */
    int64_t taken_in_row;                /* iterations since none was in flight */
    int64_t ordered_end;                 /* ordered stages run only iterations below this number */
    bool rewinding;                      /* what is in flight is being dropped (take.h) */
    bool alone;       /* only one iteration may be in flight, until it is taken */
    int64_t left_out; /* iterations left out just before the next one */
} hr_flight;

/* What the consumer has taken: all that a checkpoint records. Nothing in flight changes it. */
typedef struct hr_taken {
    int64_t iteration, sample;
    int64_t *position;  /* one per source, since its last split */
    hr_cursor **cursor; /* one per source; NULL if it is not a stream */
} hr_taken;

/* The last batch while it is taken and not delivered, and what goes back if it never is. */
typedef struct hr_undelivered {
    bool any;
    hr_taken before;      /* a cursor is NULL if it is the same */
    bool called;          /* hr_pipeline_call has taken it, and may take it back */
    hr_supply **supplies; /* one per source: what else that call has used up; NULL: nothing */
    int32_t positions; /* of iterations dropped because every sample was skipped; the next one that
                          is not dropped adds them to its own */
    int32_t bad;       /* samples of these iterations */
} hr_undelivered;

/* Bad samples (bad.c). */
typedef struct hr_bad_log {
    struct hr_bad *list;
    int32_t count, capacity;
    int64_t total;
    pthread_mutex_t quarantine_lock; /* guards the following member instead */
    int quarantine;                  /* descriptor of the file for bad samples, or -1 */
} hr_bad_log;

/* What the consumer did with its time. */
typedef struct hr_consumer {
    int64_t first_ready_ns, last_run_ns; /* clock readings */
    int64_t wait_ns, busy_ns, runs, samples;
    int64_t source_ns, feeding_ns; /* time in Python sources: total, and since the last run */
} hr_consumer;

struct hr_pipeline {
    /* constant once the pipeline is created */
    hr_pipeline_options options;
    pid_t pid;
    hr_graph *graph;
    hr_plan *plan;
    void **states; /* one per graph node: what `create` made */
    uint64_t *node_seeds;
    int32_t *crossing_of; /* value -> number in iteration->crossing, or -1 */
    int32_t crossing_count;
    hr_pool *pool;      /* of outputs and read-ahead */
    hr_pool *feed_pool; /* of copies of fed data: no limit, since the caller decides how much */
    hr_readahead *readahead;
    hr_cache *cache; /* of indices, or NULL */
    const struct hr_kernels *kernels;
    hr_stall stall;
    struct hr_trace *trace;
    uint64_t fingerprint; /* of the graph; a checkpoint must have the same */
    int64_t seed;
    hr_cut job;                   /* whose batches this process takes a part of; `batch` 0: none */
    hr_json *resume;              /* the checkpoint, until it is restored */
    const hr_json *resume_engine; /* its section */
    int64_t start_ns;
    struct hr_source *sources;
    int32_t source_count;
    hr_worker *workers;
    int32_t worker_count;
    hr_thread_pool *threads;          /* of the workers */
    hr_pool_user user;                /* the pipeline as a user of these threads */
    struct hr_device *device;         /* NULL: no node runs on a device */
    struct hr_completion *completion; /* device_stage.h */

    hr_iteration_rows *_Atomic rows[HR_ROWS_KEPT]; /* memory of ended iterations, for later ones */

    pthread_cond_t work;  /* there may be a task for the lookout */
    pthread_cond_t ready; /* an iteration is done */
    pthread_mutex_t lock; /* guards the following members, and those of `sources` */
    bool stop;
    bool lookout;           /* an idle worker polls for work, so that none has to be woken */
    hr_worker *free_worker; /* without a thread */
    int64_t *sample_ns;     /* one per stage: mean time per sample in its latest tasks, or 0 */
    int64_t *launch_ns;     /* one per stage on a device: mean time of its latest launches, or 0 */
    hr_scheduling scheduling;
    hr_flight flight;
    hr_taken taken;
    hr_undelivered undelivered;
    hr_left_out *left_out; /* ascending, with gaps between them */
    int32_t left_out_count;
    hr_bad_log bad;
    hr_consumer consumer;
    struct hr_device_batches {             /* without an iteration */
        struct hr_device_batch *idle;      /* to be used again */
        struct hr_device_batch *published; /* their index entries must be stored */
    } device_batches;
};

/* What a checkpoint records. While `undelivered.positions` is not 0, the batch that these positions
 * belong to is not delivered. */
static inline const hr_taken *hr__delivered(const hr_pipeline *p)
{
    assert(p->undelivered.any || p->undelivered.positions == 0);
    return p->undelivered.any ? &p->undelivered.before : &p->taken;
}

/* The node at a position of the plan's order. */
static inline const hr_node *hr__plan_node(const hr_pipeline *p, int32_t order)
{
    return p->graph->nodes[p->plan->order[order]];
}

/* What the worker keeps for a node; made on the first call. */
hr_status hr__local_get(const hr_worker *w, const hr_node *node, void **local, hr_error *error);
hr_status hr__taken_init(hr_taken *taken, int32_t sources, hr_error *error);
void hr__taken_fini(hr_taken *taken, int32_t sources); /* fine if it failed, or was not called */
/* HR_STATUS_STATE in a forked child. */
hr_status hr__check_owner(const hr_pipeline *p, hr_error *error);
