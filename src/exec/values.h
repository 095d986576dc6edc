/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The samples of an iteration and their values: memory, columns, output batches. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/batch.h"
#include "exec/state.h"

/* Values up to this many bytes that later stages use are stored in the iteration. */
#define HR_SMALL ((size_t)64)

typedef struct hr_sample {
    int32_t index; /* in the iteration */
    struct hr_sample_source *sources;
    hr_status status; /* OK again once a failed sample is `skipped` */
    bool skipped, warned;
    int32_t attempt;
    const char *info; /* name of the primary source's item, borrowed from it */
    hr_error *error;
    struct hr_kept_name *names; /* source_info that operators made */
} hr_sample;

/* Whether there is anything to do for the sample. */
static inline bool hr__sample_alive(const hr_sample *s)
{
    return s->status == HR_STATUS_OK && !s->skipped;
}

/* The source_info of a call's outputs: that of its input, or a copy of what the operator set. */
hr_status hr__name_keep(hr_sample *sample, const hr_op_call *c, const char **out, hr_error *error);
void hr__names_free(hr_sample *sample);

/* Whether two tensors differ only in their memory and in where they come from. */
static inline bool hr__described_alike(const hr_tensor *a, const hr_tensor *b)
{
    return a->dtype == b->dtype && hr_shape_equal(&a->shape, &b->shape) &&
           memcmp(&a->layout, &b->layout, sizeof(a->layout)) == 0;
}

/* The samples of one pipeline output of an iteration. `lock` guards the choice of the common shape.
 */
typedef struct hr_gather {
    pthread_mutex_t lock;
    atomic_bool decided; /* set with the lock held, after what it says is there */
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
    int32_t group;        /* samples per task of this stage */
    int32_t failed_stage; /* the stage that ended last */
    bool done, retried;
    bool called;    /* hr_pipeline_call fed it */
    bool queued;    /* the device has all work of this stage */
    bool cheap;     /* the consumer, who scheduled it, brings it to the device: none is called */
    bool retry_due; /* done, but out of memory: it is retried when it is the oldest */
    hr_sample *samples;
    struct hr_sample_source *sample_sources;
    hr_supply **supplies;     /* one per source that is not a reader */
    hr_iteration_rows *rows;  /* the memory of `crossing` and `small` */
    hr_tensor *crossing;      /* size x crossing_count: values that later stages use */
    char *small;              /* HR_SMALL bytes for each of them */
    hr_tensor *inferred;      /* plan->inferred_count x size: outputs described by INFER stages */
    hr_gather *gathers;       /* one per pipeline output */
    _Atomic uint64_t *merged; /* one per graph node: kind of a merge's output (branch.c), or 0 */
    struct hr_device_batch *device; /* while it is in a device stage */
    int64_t launched_ns;            /* when the device stage was launched */
    hr_iteration *launched;         /* next in the completion thread's list */
    hr_status status;
    hr_error error;
    hr_outputs *outputs; /* made after the last task if nothing failed; the working memory has
                            been freed by then */
    hr_taken end;        /* once it is taken; a cursor is NULL if it took nothing from the stream */
    hr_iteration *next;
};

/* The context of one sample in an operator call: what hr_task_warn and limits need. */
struct hr_task {
    struct hr_group *group; /* valid only while its stage runs */
    hr_pipeline *pipeline;
    hr_iteration *iteration;
    hr_sample *sample;
    const hr_node *node;
    const char *info;        /* file for messages: that of the first input that has one */
    const hr_op_call *next;  /* the call of a stream's `next`, which names the sample itself */
    const hr_error *failure; /* hr_task_fail; in the arena */
    struct hr_piece **link;  /* in a device stage: where its next piece goes; NULL: no piece yet */
};

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
    const hr_plan_stage *stage; /* the one that runs */
    int32_t first, count;
    hr_column *values; /* plan->value_count */
    hr_task *tasks;    /* one per sample */
    hr_arena *arena;
    struct hr_held *held;           /* buffers kept until the group is released */
    struct hr_device_batch *device; /* the iteration's, in a device stage; NULL: not known yet */
} hr_group;

static inline int32_t hr__value_of(const hr_pipeline *p, const hr_node *node, int32_t output)
{
    return p->plan->value_of[node->index] + output;
}

/* The slot of a value that later stages use. Those of a sample are next to each other, since one
 * worker uses them. */
static inline hr_tensor *hr__crossing_of(const hr_pipeline *p, const hr_iteration *it,
                                         int32_t value, int32_t sample)
{
    size_t first = (size_t)sample * (size_t)p->crossing_count;
    return &it->crossing[first + (size_t)p->crossing_of[value]];
}

static inline hr_sample *hr__sample_at(const hr_group *g, int32_t i)
{
    return &g->iteration->samples[g->first + i];
}

/* The description that an INFER stage made of a node's output, for the group's i-th sample. */
static inline hr_tensor *hr__inferred(const hr_group *g, const hr_node *node, int32_t output,
                                      int32_t i)
{
    size_t row = (size_t)(g->pipeline->plan->inferred[node->index] + output);
    return &g->iteration->inferred[row * (size_t)g->iteration->size + (size_t)(g->first + i)];
}

/* ---- values of a stage (values.c); samples i .. i + n - 1 of the group follow one another in
 * memory, and the tensor describes the first of them ---- */
hr_status hr__value_memory(hr_group *g, int32_t value, int32_t i, int32_t n, hr_tensor *t,
                           hr_error *error);
/* Stores values for this stage, for later stages and for a pipeline output, as the plan says. */
hr_status hr__value_put(hr_group *g, int32_t value, int32_t i, int32_t n, const hr_tensor *t,
                        hr_error *error);
/* A value made in this stage or kept from an earlier one. */
hr_tensor hr__value_get(const hr_group *g, int32_t value, int32_t i);
/* The same without a copy where possible; otherwise it is in `room`. */
const hr_tensor *hr__value_at(const hr_group *g, int32_t value, int32_t i, hr_tensor *room);
/* The i-th sample has no value: hr__value_get then returns ndim < 0. */
hr_status hr__value_none(hr_group *g, int32_t value, int32_t i, hr_error *error);
/* Whether one description serves for all samples (hr_column). */
bool hr__value_is_column(const hr_group *g, int32_t value);
/* The slot of a value that later stages use, for the group's i-th sample. */
hr_tensor *hr__crossing(const hr_group *g, int32_t value, int32_t i);
/* Takes over one reference until hr__group_release; releases it at once on failure. */
hr_status hr__group_hold(hr_group *g, hr_buffer *buffer, hr_error *error);
void hr__group_release(hr_group *g);

/* The arguments of a node for sample i of the group: the constant ones, or a copy with the
 * per-sample arguments filled in. */
hr_status hr__value_args(hr_group *g, const hr_node *node, int32_t i, const void **out,
                         hr_error *error);

/* ---- gathering outputs (gather.c); `n` samples are described as above ---- */
hr_status hr__gather_memory(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                            int32_t n, hr_tensor *t, hr_error *error);
/* Keeps finished values: by reference, or as copies if they are in the arena. */
hr_status hr__gather_put(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                         int32_t n, const hr_tensor *t, hr_error *error);

/* The sample does not take the branch: it has no value in this output. */
void hr__gather_none(hr_iteration *it, int32_t output, int32_t sample);
