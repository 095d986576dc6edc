/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The engine's internals. One lock per pipeline guards the iterations, the fed batches and the
 * error log; tasks run without it. Workers always take the oldest task, so that no batch waits for
 * a later one. */
#ifndef HR_EXEC_EXEC_H
#define HR_EXEC_EXEC_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/batch.h"
#include "core/core.h"
#include "io/cache.h"
#include "io/readahead.h"
#include "plan/plan.h"
#include "readers/sampler.h"

#define HR_REPLACE_ATTEMPTS 16

typedef struct hr_iteration hr_iteration;

/* ---- sources ---- */

typedef struct hr_fed { /* the batches that were fed to one source for one iteration */
    hr_batch *batch[HR_OP_MAX_OUTPUTS];
    int32_t count, size;
    struct hr_fed *next;
} hr_fed;

typedef struct hr_source {
    const hr_node *node;
    const hr_source_def *def;
    void *state; /* from the node's `create` */
    hr_sampler sampler;
    int64_t position; /* of the next sample to schedule */
    hr_read **ahead;  /* ring of read requests for position .. position + ahead_count - 1 */
    int32_t ahead_count, ahead_capacity, ahead_first;
    hr_fed *fed_first, *fed_last;
    int32_t fed_count;
} hr_source;

/* ---- iterations ---- */

typedef struct hr_sample_source { /* what one source contributes to one sample */
    hr_sampler_item item;
    int64_t position;
    hr_read *read; /* NULL once it is taken, or if the source reads for itself */
    char *name;    /* memory of the item's name, if the source had to make one */
} hr_sample_source;

typedef struct hr_sample {
    int32_t index; /* in the iteration */
    hr_sample_source *sources;
    hr_status status; /* OK again once a failed sample is `skipped` */
    bool skipped, warned;
    int32_t attempt;
    const char *info; /* name of the primary source's item, borrowed from it */
    hr_error *error;
} hr_sample;

/* The samples of one pipeline output of an iteration. `lock` guards the choice of the common shape.
 */
typedef struct hr_gather {
    pthread_mutex_t lock;
    bool decided;
    hr_tensor like; /* shape and type of the first sample; the contiguous buffer is made for it */
    size_t sample_bytes;
    hr_buffer *buffer;
    hr_tensor *tensors; /* one per sample; each holds a reference to its buffer */
} hr_gather;

struct hr_iteration {
    int64_t number;
    int64_t first_sample; /* number of its first sample, counted over all iterations */
    int32_t size;         /* samples scheduled */
    int32_t positions;    /* taken from the primary source, including iterations dropped before */
    int32_t stage, next_task, tasks, tasks_left;
    int32_t group; /* samples per task of this stage */
    bool done, retried;
    bool starved; /* done, but out of memory: it is retried once when it is the oldest */
    hr_sample *samples;
    hr_sample_source *sample_sources;
    hr_fed **fed;             /* one per source; NULL for readers */
    hr_tensor *crossing;      /* crossing_count x size: values that later stages use */
    hr_tensor *inferred;      /* plan->inferred_count x size: outputs described by INFER stages */
    hr_gather *gathers;       /* one per pipeline output */
    _Atomic uint64_t *merged; /* one per graph node: kind of a merge's output (merged.c), or 0 */
    struct hr_device_batch *device; /* while it is in a device stage */
    hr_iteration *launched;         /* next in the completion thread's list */
    hr_status status;
    hr_error error;
    hr_outputs *outputs;   /* made after the last task if nothing failed; the working memory has
                              been freed by then */
    int64_t *end_position; /* one per source: its position after this iteration */
    int64_t end_sample;
    hr_iteration *next;
};

struct hr_outputs {
    atomic_int refs;
    int64_t iteration;
    int32_t positions, count;
    int32_t samples, *slots; /* the position of each sample in the batch */
    hr_batch *batch[];
};

/* ---- bad samples ---- */

typedef struct hr_bad {
    int64_t iteration, index, epoch;
    const char *action; /* "raised", "replaced", "skipped", "warning" */
    char *source, *op, *message;
} hr_bad;

/* ---- counters ---- */

typedef struct hr_worker_stats {
    int64_t *node_ns;    /* in plan order; a chain counts as its last node, its decoding as its
                            first */
    int64_t *node_count; /* samples */
    int64_t busy_ns, idle_ns, read_wait_ns, tasks;
} hr_worker_stats;

typedef struct hr_trace hr_trace;

typedef struct hr_worker {
    pthread_t thread;
    struct hr_pipeline *pipeline;
    int32_t number;
    int cpu; /* to run on, or -1 */
    hr_arena *arena;
    void **locals;         /* one per graph node: what `local_create` made, or NULL */
    hr_worker_stats stats; /* of the current task; only the worker uses it */
    hr_worker_stats total; /* guarded by the pipeline's lock */
} hr_worker;

typedef struct hr_stall { /* HEADRACE_STALL: delays injected by tests */
    bool random;
    int64_t read_us, decode_us, index_us;
} hr_stall;

struct hr_pipeline {
    hr_pipeline_options options;
    pid_t pid;
    hr_graph *graph;
    hr_plan *plan;
    void **states; /* one per graph node: what `create` made */
    uint64_t *node_seeds;
    int32_t *crossing_of; /* value -> row of iteration->crossing, or -1 */
    int32_t crossing_count;
    hr_pool *pool;      /* of outputs and read-ahead */
    hr_pool *feed_pool; /* of copies of fed data: no limit, since the caller decides how much */
    hr_readahead *readahead;
    hr_cache *cache; /* of indices, or NULL */
    const struct hr_kernels *kernels;
    hr_stall stall;
    hr_trace *trace;
    uint64_t fingerprint; /* of the graph; a checkpoint must have the same */
    int64_t seed;
    hr_json *resume; /* the checkpoint, until it is restored */

    pthread_mutex_t lock;
    pthread_cond_t work;  /* there may be a task */
    pthread_cond_t ready; /* an iteration is done */
    bool stop;
    bool schedule_due; /* an iteration was taken: another can be scheduled */
    bool lookout;      /* an idle worker polls for work, so that none has to be woken */
    hr_source *sources;
    int32_t source_count;
    hr_iteration *first, *last; /* in flight, oldest first */
    int32_t in_flight;
    int64_t next_iteration, next_sample;
    int64_t ordered_end;       /* ordered stages run only iterations below this number */
    int32_t carried_positions; /* of iterations dropped because every sample was skipped */
    hr_bad *bad;
    int32_t bad_count, bad_capacity;
    int64_t bad_total;
    hr_status broken; /* scheduling failed: one run reports it, the next tries again */
    hr_error broken_error;

    pthread_mutex_t quarantine_lock;
    int quarantine; /* descriptor of the file for bad samples, or -1 */

    hr_worker *workers;
    int32_t worker_count, started;

    struct hr_device *device;                 /* NULL: no node runs on a device */
    struct hr_completion *completion;         /* device_stage.h */
    struct hr_device_batch *device_idle;      /* to be used again */
    struct hr_device_batch *device_published; /* published; their index entries must be stored */

    /* what the consumer has taken, which a checkpoint records */
    int64_t taken_iteration, taken_sample;
    int64_t *taken_position;
    int64_t start_ns, first_ready_ns, last_run_ns; /* clock readings */
    int64_t consumer_wait_ns, consumer_busy_ns, runs, samples_out;
    int64_t source_ns, feeding_ns; /* time in Python sources: total, and since the last run */
};

/* The context of one sample in an operator call: what hr_task_warn and limits need. */
struct hr_task {
    struct hr_group *group; /* valid only while its stage runs */
    hr_pipeline *pipeline;
    hr_iteration *iteration;
    hr_sample *sample;
    const hr_node *node;
    const char *info; /* file for messages: that of the first input that has one */
};

/* ---- running nodes (stage.c, chain.c): no lock held ---- */

/* One value for all samples of a group. One description serves for all of them as long as they
 * differ only in their elements and follow one another in memory. */
typedef struct hr_column {
    hr_tensor like;    /* describes the group's first sample; ndim < 0: no sample is set yet */
    size_t bytes;      /* from one sample to the next */
    hr_tensor *each;   /* if not NULL: one per sample; ndim < 0: the sample has no value */
    char *room;        /* memory for all samples, or NULL */
    size_t room_bytes; /* bytes per sample in `room` */
} hr_column;

typedef struct hr_group { /* samples that go through a stage in one task */
    hr_pipeline *pipeline;
    hr_worker *worker;
    hr_iteration *iteration;
    int32_t first, count;
    hr_column *values; /* plan->value_count */
    hr_task *tasks;    /* one per sample */
    hr_arena *arena;
    struct hr_held *held; /* buffers kept until the group is released */
} hr_group;

/* Fills in the call of a node for samples i .. i + n - 1 of the group. `inside`: the chain itself
 * makes input 0. */
hr_status hr__call_build(hr_group *g, const hr_node *node, int32_t i, int32_t n, bool inside,
                         hr_op_call *c, hr_error *error);
/* Refuses an input whose elements are values of an enumeration if the operator does not take them.
 */
hr_status hr__inputs_check(const hr_op_call *c, int32_t first, hr_error *error);
/* What this worker keeps for a node; made on the first call. */
hr_status hr__local_get(const hr_group *g, const hr_node *node, void **local, hr_error *error);
/* Runs a stage for the group. Failures go to the status of the samples. */
void hr__stage_run(hr_group *g, const hr_plan_stage *stage);
/* One chain, or one node, for one sample; used by stages and by hr_op_invoke. */
typedef struct hr_chain {
    const hr_node *const *nodes;
    hr_op_call *calls; /* one per node; complete except for inputs made inside the chain */
    int32_t count;

    /* Memory for output `output` of node `i` as described in `t`: sets t->data and t->buffer. */
    hr_status (*memory)(void *context, int32_t i, int32_t output, hr_tensor *t, hr_error *error);
    void *context;
    int32_t failed;     /* the node that failed */
    int64_t *decode_ns; /* time spent decoding */
    int64_t stall_decode_us;
} hr_chain;
hr_status hr__chain_run(hr_chain *chain, hr_error *error);
/* Lowers as many nodes as possible, from `i` on, into the program `p`. `*end`: the first one that
 * could not join. */
hr_status hr__chain_lower(hr_chain *chain, int32_t i, struct hr_image_program *p, int32_t *end,
                          hr_error *error);

/* ---- iterations (iteration.c): lock held ---- */
hr_status hr__schedule(hr_pipeline *p);
void hr__iteration_free(hr_pipeline *p, hr_iteration *it);
/* Makes the tasks of a stage. After the last stage the iteration is done. */
void hr__iteration_enter(hr_pipeline *p, hr_iteration *it, int32_t stage);
/* Enters the next stage. After the last one it makes the batches and releases the lock while it
 * does, so that the consumer does not wait. A failed iteration ends early; `run` reports the
 * failure or tries again. */
void hr__stage_end(hr_pipeline *p, hr_iteration *it);
/* Restarts an iteration that ran out of memory, since outputs may have been freed in the meantime.
 * Returns false if it did not run out of memory, or was retried before. */
bool hr__iteration_retry(hr_pipeline *p, hr_iteration *it);
/* Makes the outputs of an iteration whose tasks are done, or returns what failed. No lock is
 * needed: the iteration belongs to the caller, or has no tasks left. */
hr_status hr__publish(hr_pipeline *p, hr_iteration *it, hr_error *error);

/* ---- sources (source.c) ---- */
/* Whether it is a reader. Others are fed. */
static inline bool hr__source_indexed(const hr_source *s)
{
    return s->def->kind == HR_SOURCE_KIND_INDEXED;
}
hr_status hr__source_init(hr_pipeline *p, hr_source *s, const hr_node *node, hr_error *error);
void hr__source_fini(hr_pipeline *p, hr_source *s);
/* Requests the next samples, at least one batch. The next call repeats a request that failed. Lock
 * held. */
hr_status hr__source_fill(hr_pipeline *p, hr_source *s, hr_error *error);
/* Item and read request of the next position. Call it after hr__source_fill, at most once per
 * sample of the batch. Lock held. */
void hr__source_next(hr_source *s, hr_sample_source *out);
/* Releases what a sample holds of a source. */
void hr__source_drop(hr_pipeline *p, hr_sample_source *ss);
/* Requests the bytes of the same item again if they were taken already. */
hr_status hr__source_again(hr_pipeline *p, const hr_source *s, hr_sample_source *ss,
                           hr_error *error);
/* Chooses another item in place of a bad one. No lock needed. */
hr_status hr__source_replace(hr_pipeline *p, const hr_source *s, hr_sample_source *ss,
                             int32_t attempt, hr_error *error);
/* Puts the source's outputs for one sample into values. */
hr_status hr__source_emit(hr_group *g, const hr_source *s, int32_t source, int32_t i,
                          hr_error *error);
/* One sample of the batches of a fed source, as its operator describes it: one tensor per output.
 */
hr_status hr__source_fed(const hr_source *s, hr_batch *const *batches, int32_t sample,
                         hr_tensor *out, hr_error *error);
void hr__fed_free(hr_fed *fed);

/* ---- values of a stage (values.c); samples i .. i + n - 1 of the group follow one another in
 * memory, and the tensor describes the first of them ---- */
hr_status hr__value_memory(hr_group *g, int32_t value, int32_t i, int32_t n, hr_tensor *t,
                           hr_error *error);
/* Stores values for this stage, for later stages and for a pipeline output, as the plan says. */
hr_status hr__value_put(hr_group *g, int32_t value, int32_t i, int32_t n, const hr_tensor *t,
                        hr_error *error);
/* A value made in this stage or kept from an earlier one. */
hr_tensor hr__value_get(const hr_group *g, int32_t value, int32_t i);
/* The i-th sample has no value: hr__value_get then returns ndim < 0. */
hr_status hr__value_none(hr_group *g, int32_t value, int32_t i, hr_error *error);
/* Whether one description serves for all samples (hr_column). */
bool hr__value_is_column(const hr_group *g, int32_t value);
/* The slot of a value that later stages use, for the group's i-th sample. */
hr_tensor *hr__crossing(const hr_group *g, int32_t value, int32_t i);
/* Takes over one reference until hr__group_release; releases it at once on failure. */
hr_status hr__group_hold(hr_group *g, hr_buffer *buffer, hr_error *error);
void hr__group_release(hr_group *g);

/* ---- gathering outputs (gather.c); `n` samples are described as above ---- */
hr_status hr__gather_memory(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                            int32_t n, hr_tensor *t, hr_error *error);
/* Keeps finished values: by reference, or as copies if they are in the arena. */
hr_status hr__gather_put(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                         int32_t n, const hr_tensor *t, hr_error *error);

/* The sample does not take the branch: it has no value in this output. */
void hr__gather_none(hr_iteration *it, int32_t output, int32_t sample);

/* ---- conditionals (merged.c) ---- */
/* Fails if one batch cannot contain both. */
hr_status hr__merged_check(const hr_node *merge, const hr_tensor *a, const hr_tensor *b,
                           hr_error *error);
/* Records what a merge returned for a sample. The iteration fails if another sample got a tensor
 * of a different kind. */
void hr__merged_note(hr_group *g, const hr_node *merge, const hr_tensor *t);

/* ---- errors (bad.c) ---- */
void hr__bad_record(hr_pipeline *p, const hr_task *task, const char *action, const char *message);
void hr__bad_fini(hr_pipeline *p);
hr_status hr__quarantine_open(hr_pipeline *p, const char *path, hr_error *error);

/* ---- workers (worker.c) ---- */
hr_status hr__workers_start(hr_pipeline *p, hr_error *error);
/* No new task begins after this. */
void hr__workers_stop(hr_pipeline *p);
void hr__workers_join(hr_pipeline *p); /* after hr__workers_stop */

/* ---- other ---- */
/* HR_STATUS_STATE in a forked child. */
hr_status hr__check_owner(const hr_pipeline *p, hr_error *error);
hr_status hr__stall_parse(hr_stall *stall, const char *text, hr_error *error);
/* Chooses CPUs for `count` workers; -1: any. Call it in the creating thread, because it reads the
 * environment, which Python may change while other threads run. */
hr_status hr__affinity_choose(const hr_pipeline *p, int *cpu, int32_t count, hr_error *error);
int32_t hr__cpu_count(void);    /* CPUs that the process may use */
void hr__affinity_pin(int cpu); /* pins the calling thread; < 0: does nothing */
/* Parses the checkpoint, if there is one, and sets the seed: the given one, the checkpoint's, or a
 * random one. */
hr_status hr__checkpoint_open(hr_pipeline *p, hr_error *error);
hr_status hr__checkpoint_restore(hr_pipeline *p, hr_error *error);
uint64_t hr__graph_fingerprint(const hr_graph *graph);
hr_status hr__trace_create(hr_trace **out, const char *path, int32_t workers, hr_error *error);
void hr__trace_span(hr_trace *trace, int32_t worker, const hr_node *node, int64_t start_ns,
                    int64_t end_ns, int64_t iteration, int32_t sample);
void hr__trace_destroy(hr_trace *trace); /* writes the file */
void hr__stall_random(const hr_stall *stall, uint64_t salt);
void hr__stall_for(int64_t us);

#endif
