/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The engine's insides. One lock a pipeline guards the iterations, the fed batches and the error
 * log; the work itself runs without it. Workers take the oldest task there is, so that no batch
 * waits for another. */
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

typedef struct hr_fed { /* one iteration's batches of a fed source */
    hr_batch *batch[HR_OP_MAX_OUTPUTS];
    int32_t count, size;
    struct hr_fed *next;
} hr_fed;

typedef struct hr_source {
    const hr_node *node;
    const hr_reader_def *reader; /* NULL: fed from outside */
    void *state;                 /* of the reader's node */
    hr_sampler sampler;
    int64_t position; /* of the next sample to schedule */
    hr_read **ahead;  /* ring of requests for positions position .. position + ahead_count - 1 */
    int32_t ahead_count, ahead_capacity, ahead_first;
    hr_fed *fed_first, *fed_last;
    int32_t fed_count;
} hr_source;

/* ---- iterations ---- */

typedef struct hr_sample_source { /* one sample at one source */
    hr_place place;
    int64_t position;
    hr_read *read;
} hr_sample_source;

typedef struct hr_sample {
    int32_t index; /* in the iteration */
    hr_sample_source *sources;
    hr_status status; /* not OK: failed, or left out when `skipped` */
    bool skipped, warned;
    int32_t attempt;
    const char *info; /* file of the primary source, borrowed from its state */
    hr_error *error;
} hr_sample;

/* Where one pipeline output of an iteration is gathered; `lock` guards the choice of the common
 * shape. */
typedef struct hr_gather {
    pthread_mutex_t lock;
    bool decided;
    hr_tensor
        like; /* shape and type of the first sample, which the contiguous buffer is made for */
    size_t sample_bytes;
    hr_buffer *buffer;
    hr_tensor *tensors; /* a sample; each holds a reference of its buffer */
} hr_gather;

struct hr_iteration {
    int64_t number;
    int64_t first_sample; /* running number of its first sample */
    int32_t size;         /* samples scheduled */
    int32_t positions;    /* taken from the primary source, dropped iterations before it included */
    int32_t stage, next_task, tasks, tasks_left;
    int32_t group; /* samples a task of this stage */
    bool done, retried;
    bool starved; /* done for now: it lacked memory, and starts again when it is the oldest */
    hr_sample *samples;
    hr_sample_source *sample_sources;
    hr_fed **fed;        /* a source; NULL for readers */
    hr_tensor *crossing; /* plan->crossing_count x size: values used in later stages, each with its
                            buffer */
    hr_tensor *inferred; /* plan->inferred_count x size: outputs as INFER stages describe them */
    hr_gather *gathers;
    _Atomic uint64_t *merged; /* a graph node: the kind of what a merge gives (merged.c); 0: none */
    struct hr_device_batch *device; /* while it is in a stage on the device */
    hr_iteration *launched;         /* next in the completion thread's list */
    hr_status status;
    hr_error error;
    hr_outputs *outputs;   /* made by the worker that did the last task, unless something failed;
                              what the work needed is gone then */
    int64_t *end_position; /* a source: its position after this iteration */
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
    int64_t *node_ns;    /* plan order; chain steps are attributed to their nodes where they can be
                            told apart */
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
    hr_worker_stats stats; /* of the task at hand: the worker's own */
    hr_worker_stats total; /* guarded by the pipeline's lock */
} hr_worker;

typedef struct hr_stall { /* injected delays, for tests: HEADRACE_STALL */
    bool random;
    int64_t read_us, decode_us;
} hr_stall;

struct hr_pipeline {
    hr_pipeline_options options;
    pid_t pid;
    hr_graph *graph;
    hr_plan *plan;
    void **states; /* graph node -> what `create` made */
    uint64_t *node_seeds;
    int32_t *crossing_of; /* value -> row of iteration->crossing, or -1 */
    int32_t crossing_count;
    hr_pool *pool;      /* of outputs and read-ahead */
    hr_pool *feed_pool; /* of copies that are fed: whoever feeds decides how much that is */
    hr_readahead *readahead;
    hr_cache *cache; /* of indices, or NULL */
    const struct hr_kernels *kernels;
    hr_stall stall;
    hr_trace *trace;
    uint64_t fingerprint; /* of the graph: a checkpoint fits only its own */
    int64_t seed;
    hr_json *resume; /* the checkpoint, until it is restored */

    pthread_mutex_t lock;
    pthread_cond_t work;  /* a task may be there */
    pthread_cond_t ready; /* an iteration is done */
    bool stop;
    bool schedule_due; /* an iteration was taken: there is room for another */
    bool lookout;      /* a worker without work looks for itself: nobody need be woken */
    hr_source *sources;
    int32_t source_count;
    hr_iteration *first, *last; /* in flight, oldest first */
    int32_t in_flight;
    int64_t next_iteration, next_sample;
    int64_t
        ordered_end; /* ordered stages take iterations below this: the consumer asked for them */
    int32_t
        carried_positions; /* of iterations that were dropped because every sample was skipped */
    hr_bad *bad;
    int32_t bad_count, bad_capacity;
    int64_t bad_total;
    hr_status broken; /* scheduling failed: a run says so, and the next one tries again */
    hr_error broken_error;

    pthread_mutex_t quarantine_lock;
    int quarantine; /* descriptor of the file for bad samples, or -1 */

    hr_worker *workers;
    int32_t worker_count, started;

    struct hr_device *device;                 /* NULL: no node is for one */
    struct hr_completion *completion;         /* device_stage.h */
    struct hr_device_batch *device_idle;      /* guarded by the lock, ... */
    struct hr_device_batch *device_published; /* ... as those whose index entries are to be made */

    /* what the consumer has taken: the state of a checkpoint */
    int64_t taken_iteration, taken_sample;
    int64_t *taken_position;
    int64_t start_ns, first_ready_ns, last_run_ns; /* clock readings */
    int64_t consumer_wait_ns, consumer_busy_ns, runs, samples_out;
    int64_t source_ns, feeding_ns; /* making what is fed: in all; since the last run */
};

/* A sample on its way through a task: what hr_task_warn and limits need. */
struct hr_task {
    struct hr_group *group; /* whose task it is; only while its stage runs */
    hr_pipeline *pipeline;
    hr_iteration *iteration;
    hr_sample *sample;
    const hr_node *node;
    const char *info; /* the file that messages name: of the node's first input that has one */
};

/* ---- running nodes (stage.c, chain.c): no lock held ---- */

/* A value of the samples of a group. As long as they differ in nothing but their elements and
 * follow one another in memory, they are described once. */
typedef struct hr_column {
    hr_tensor like;    /* as the group's first sample would be; ndim < 0: no sample came yet */
    size_t bytes;      /* from a sample to the next */
    hr_tensor *each;   /* or NULL: every sample by itself; ndim < 0: it is not there */
    char *room;        /* or NULL: memory for all samples, ... */
    size_t room_bytes; /* ... that have so many bytes */
} hr_column;

typedef struct hr_group { /* samples that go through a stage together */
    hr_pipeline *pipeline;
    hr_worker *worker;
    hr_iteration *iteration;
    int32_t first, count;
    hr_column *values; /* plan->value_count */
    hr_task *tasks;    /* a sample */
    hr_arena *arena;
    struct hr_held *held; /* buffers that live until the group is released */
} hr_group;

/* Fills in the call of a node for `n` samples of the group from the i-th on. `inside`: input 0 is
 * made within its chain. */
hr_status hr__call_build(hr_group *g, const hr_node *node, int32_t i, int32_t n, bool inside,
                         hr_op_call *c, hr_error *error);
/* Runs a stage for the group. Failures are in the samples' status. */
void hr__stage_run(hr_group *g, const hr_plan_stage *stage);
/* Runs one chain or node for one sample; used by stages and by hr_op_invoke. */
typedef struct hr_chain {
    const hr_node *const *nodes;
    hr_op_call *calls; /* a node; filled but for inputs made inside the chain */
    int32_t count;

    /* Memory for output `output` of chain node `i`, described in `t`: sets t->data and t->buffer.
     */
    hr_status (*memory)(void *context, int32_t i, int32_t output, hr_tensor *t, hr_error *error);
    void *context;
    int32_t failed;     /* node that failed */
    int64_t *decode_ns; /* time inside coded sources, to tell decoding from the rest of a chain */
    int64_t stall_decode_us;
} hr_chain;
hr_status hr__chain_run(hr_chain *chain, hr_error *error);
/* Lowers nodes i .. into `p` as far as they go; `*end` is the first that did not join. */
hr_status hr__chain_lower(hr_chain *chain, int32_t i, struct hr_image_program *p, int32_t *end,
                          hr_error *error);

/* ---- iterations (iteration.c): lock held ---- */
hr_status hr__schedule(hr_pipeline *p);
void hr__iteration_free(hr_pipeline *p, hr_iteration *it);
/* Makes the tasks of a stage, or ends the iteration behind the last one. */
void hr__iteration_enter(hr_pipeline *p, hr_iteration *it, int32_t stage);
/* Opens the next stage, or makes the batches: lock held, but not meanwhile, for the consumer's time
 * is dear. A failed iteration ends early; `run` says what failed, or tries again. */
void hr__stage_end(hr_pipeline *p, hr_iteration *it);
/* Starts an iteration that lacked memory once more: outputs may have been let go since. false: it
 * did not, or has had its second chance. */
bool hr__iteration_retry(hr_pipeline *p, hr_iteration *it);
/* Makes the outputs of an iteration whose tasks are done, or says what failed. No lock held: the
 * iteration is the caller's, or has no task that others could take. */
hr_status hr__publish(hr_pipeline *p, hr_iteration *it, hr_error *error);

/* ---- sources (source.c) ---- */
hr_status hr__source_init(hr_pipeline *p, hr_source *s, const hr_node *node, hr_error *error);
void hr__source_fini(hr_pipeline *p, hr_source *s);
/* Asks for what comes next, at least a batch. What failed is asked again by the next call. Lock
 * held. */
hr_status hr__source_fill(hr_pipeline *p, hr_source *s, hr_error *error);
/* Place and request of the next position; only after hr__source_fill, as often as the batch has
 * samples. Lock held. */
void hr__source_next(hr_source *s, hr_sample_source *out);
/* Asks for the bytes of the same place once more. */
hr_status hr__source_again(hr_pipeline *p, const hr_source *s, hr_sample_source *ss,
                           hr_error *error);
/* A substitute for a bad sample. No lock needed. */
hr_status hr__source_replace(hr_pipeline *p, const hr_source *s, hr_sample_source *ss,
                             int32_t attempt, hr_error *error);
/* Outputs of the source for one sample into values. */
hr_status hr__source_emit(hr_group *g, const hr_source *s, int32_t source, int32_t i,
                          hr_error *error);
/* One sample of a fed source's batches, an output each, as its operator describes it. */
hr_status hr__source_fed(const hr_source *s, hr_batch *const *batches, int32_t sample,
                         hr_tensor *out, hr_error *error);
void hr__fed_free(hr_fed *fed);

/* ---- values of a stage (values.c); samples i .. i + n - 1 of the group are one behind the other
 * in memory, and a tensor describes the first of them ---- */
hr_status hr__value_memory(hr_group *g, int32_t value, int32_t i, int32_t n, hr_tensor *t,
                           hr_error *error);
/* Hands values to whoever uses them: this stage, later ones, an output. */
hr_status hr__value_put(hr_group *g, int32_t value, int32_t i, int32_t n, const hr_tensor *t,
                        hr_error *error);
/* Made in this stage, or kept from an older one. */
hr_tensor hr__value_get(const hr_group *g, int32_t value, int32_t i);
/* The i-th sample gets none: value_get then says ndim < 0. */
hr_status hr__value_none(hr_group *g, int32_t value, int32_t i, hr_error *error);
/* Whether value_get of any sample describes all behind it. */
bool hr__value_is_column(const hr_group *g, int32_t value);
/* Where a value that later stages use stands for the group's i-th sample. */
hr_tensor *hr__crossing(const hr_group *g, int32_t value, int32_t i);
/* Takes over one reference until hr__group_release; on failure gives it up at once. */
hr_status hr__group_hold(hr_group *g, hr_buffer *buffer, hr_error *error);
void hr__group_release(hr_group *g);

/* ---- gathering outputs (gather.c): of `n` samples, described as above ---- */
hr_status hr__gather_memory(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                            int32_t n, hr_tensor *t, hr_error *error);
/* Values are there: keeps them (references, or copies when they lie in the arena). */
hr_status hr__gather_put(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                         int32_t n, const hr_tensor *t, hr_error *error);

/* A failed sample, or one that does not take the branch, leaves nothing. */
void hr__gather_none(hr_iteration *it, int32_t output, int32_t sample);

/* ---- conditionals (merged.c) ---- */
/* Whether a batch may hold both. */
hr_status hr__merged_check(const hr_node *merge, const hr_tensor *a, const hr_tensor *b,
                           hr_error *error);
/* A merge gave this for a sample: the iteration fails if it gave something of another kind before.
 */
void hr__merged_note(hr_group *g, const hr_node *merge, const hr_tensor *t);

/* ---- errors (bad.c) ---- */
void hr__bad_record(hr_pipeline *p, const hr_task *task, const char *action, const char *message);
void hr__bad_fini(hr_pipeline *p);
hr_status hr__quarantine_open(hr_pipeline *p, const char *path, hr_error *error);

/* ---- workers (worker.c) ---- */
hr_status hr__workers_start(hr_pipeline *p, hr_error *error);
/* No task begins any more. */
void hr__workers_stop(hr_pipeline *p);
void hr__workers_join(hr_pipeline *p); /* they are stopped */

/* ---- the rest ---- */
/* HR_STATUS_STATE in a forked child. */
hr_status hr__check_owner(const hr_pipeline *p, hr_error *error);
hr_status hr__stall_parse(hr_stall *stall, const char *text, hr_error *error);
/* CPUs for `count` workers, -1 where there is no choice. The creating thread calls it: it reads the
 * environment, which no other thread may do while Python changes it. */
hr_status hr__affinity_choose(const hr_pipeline *p, int *cpu, int32_t count, hr_error *error);
int32_t hr__cpu_count(void);    /* that the process may use */
void hr__affinity_pin(int cpu); /* the calling thread; < 0: lets it float */
/* Reads the checkpoint, if there is one, and settles the seed: the given one, the checkpoint's, or
 * a random one. */
hr_status hr__checkpoint_open(hr_pipeline *p, hr_error *error);
hr_status hr__checkpoint_restore(hr_pipeline *p, hr_error *error);
uint64_t hr__graph_fingerprint(const hr_graph *graph);
hr_status hr__trace_create(hr_trace **out, const char *path, int32_t workers, hr_error *error);
void hr__trace_span(hr_trace *trace, int32_t worker, const char *name, int64_t start_ns,
                    int64_t end_ns, int64_t iteration, int32_t sample);
void hr__trace_destroy(hr_trace *trace); /* writes the file */
void hr__stall_random(const hr_stall *stall, uint64_t salt);

#endif
