/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Sources: readers, whose files are requested ahead of time, sources that are fed, and streams,
 * which a thread (stream.c) feeds. */
#pragma once

#include "exec/values.h"
#include "io/items.h"
#include "readers/sampler.h"

typedef struct hr_streamed { /* one sample of a stream */
    hr_tensor *out;          /* one per output, each with a reference to its buffer; or NULL */
    const char *name;        /* or NULL */
    const char *message;     /* why `next` failed */
    hr_status status;
} hr_streamed;

/* What one source that is not a reader has for one iteration. It is the head of one of the three
 * structs below. */
typedef enum hr_supply_kind {
    HR_SUPPLY_KIND_FED,      /* hr_fed */
    HR_SUPPLY_KIND_STREAMED, /* hr_streamed_batch */
    HR_SUPPLY_KIND_END       /* hr_epoch_end */
} hr_supply_kind;

struct hr_supply {
    hr_supply_kind kind;
    int32_t size;      /* samples */
    hr_cursor *cursor; /* of a stream, after it; NULL: none, or no memory */
    hr_supply *next;
};

typedef struct hr_fed { /* a batch that the caller fed */
    hr_supply supply;
    hr_batch *batch[HR_OP_MAX_OUTPUTS];
    int32_t count;
    bool called; /* by hr_pipeline_call, which ends without it */
} hr_fed;

typedef struct hr_streamed_batch { /* a batch of a stream, which uses it again */
    hr_supply supply;
    struct hr_source *stream;
    hr_streamed *samples; /* in the arena, with all that they refer to */
    hr_arena *arena;
} hr_streamed_batch;

typedef struct hr_epoch_end { /* of a stream: an iteration without samples */
    hr_supply supply;
    hr_status status; /* END, or why the next epoch cannot begin */
    char message[];
} hr_epoch_end;

/* NULL if it is NULL or of another kind. */
static inline hr_fed *hr__supply_fed(hr_supply *s)
{
    return s && s->kind == HR_SUPPLY_KIND_FED ? (hr_fed *)s : NULL;
}

/* Whether hr_pipeline_call fed it. */
static inline bool hr__supply_called(const hr_supply *s)
{
    return s->kind == HR_SUPPLY_KIND_FED && ((const hr_fed *)s)->called;
}

/* Up to this position, the epochs of a reader were split in this way. */
typedef struct hr_stint {
    int32_t num_shards, batch_size;
    int64_t position;
} hr_stint;

typedef struct hr_source {
    hr_pipeline *pipeline;
    const hr_node *node;
    const hr_source_def *def;
    void *state;  /* from the node's `create` */
    bool locates; /* items are read ahead */
    hr_sampler sampler;
    hr_selection selection; /* of the sampler */
    int64_t mean_bytes;     /* of an item of a container; INT64_MAX: items are files */
    hr_stint *past;         /* before the present split of the sampler, the oldest first */
    int32_t past_count;
    hr_coded_cache *coded; /* items kept in memory; NULL: none */
    bool copies;           /* functions of the user may write into what it gives them */
    bool resplit;          /* the last of them ended when the pipeline was restored */
    int64_t position;      /* of the next sample to schedule */
    hr_read **ahead;       /* ring of read requests for position .. position + ahead_count - 1 */
    int32_t ahead_count, ahead_capacity, ahead_first;
    int64_t scheduled;                   /* samples, since the pipeline was created */
    hr_supply *queue_first, *queue_last; /* not scheduled yet; at most one of a stream */
    int32_t queue_count;
    /* of a stream: */
    hr_streamed_batch *idle; /* to be used again */
    pthread_t thread;
    pthread_cond_t room; /* queue_first or idle has changed */
    bool started;
    int64_t next_ns, next_count; /* spent in `next`, and its samples */
} hr_source;

typedef struct hr_sample_source { /* what one source contributes to one sample */
    hr_sampler_item item;
    int64_t position;
    hr_read *read; /* NULL once it is taken, or if the source reads for itself */
    char *name;    /* memory of the item's name, if the source had to make one */
} hr_sample_source;

static inline bool hr__source_indexed(const hr_source *s)
{
    return s->def->kind == HR_SOURCE_KIND_INDEXED;
}
static inline bool hr__source_streams(const hr_source *s)
{
    return s->def->kind == HR_SOURCE_KIND_STREAM;
}
/* Whether its batches come from the caller. */
static inline bool hr__source_fed(const hr_source *s)
{
    return s->def->kind == HR_SOURCE_KIND_FED;
}
hr_status hr__source_init(hr_pipeline *p, hr_source *s, const hr_node *node, hr_error *error);
void hr__source_fini(hr_pipeline *p, hr_source *s);
/* Requests the next samples, at least one batch. The next call repeats a request that failed. By
 * the thread that schedules. */
hr_status hr__source_fill(hr_pipeline *p, hr_source *s, hr_error *error);
/* Item and read request of the next position of a reader (after hr__source_fill, at most once per
 * sample of the batch) or a stream. By the thread that schedules. */
void hr__source_next(hr_source *s, hr_sample_source *out);
/* Releases what a sample holds of a source. */
void hr__source_drop(hr_pipeline *p, hr_sample_source *ss);
/* Requests the bytes of the same item again if they were taken already. */
hr_status hr__source_again(const hr_source *s, hr_sample_source *ss, hr_error *error);
/* Chooses another item in place of a bad one: of a reader, one of the same shard; of a stream,
 * another sample of the iteration. No lock needed. */
hr_status hr__source_replace(hr_pipeline *p, const hr_source *s, const hr_iteration *it,
                             hr_sample *sample, hr_error *error);
/* Puts the source's outputs for the group's i-th sample into values, and those of samples after it
 * where one call can. `*n`: of how many samples; a failure is that of the i-th one alone. */
hr_status hr__source_emit(hr_group *g, const hr_source *s, int32_t source, int32_t i, int32_t *n,
                          hr_error *error);
/* One sample of the batches of a fed source, as its operator describes it: one tensor per output.
 */
hr_status hr__fed_sample(const hr_source *s, hr_batch *const *batches, int32_t sample,
                         hr_tensor *out, hr_error *error);
/* Frees it, or gives it back to its stream. No lock held. */
void hr__supply_free(hr_supply *supply);
void hr__supplies_free(hr_supply *first);                /* a list */
void hr__source_append(hr_source *s, hr_supply *supply); /* to its queue; lock held */
/* Drops what a reader has read ahead, and goes to a position. By the thread that schedules. */
void hr__source_move(hr_source *s, int64_t position);
/* Continues after what was taken last. `dropped`: the iterations that come to nothing. Adds what is
 * to be freed to `unwanted`. Lock held, and no thread schedules. */
void hr__source_rewind(hr_pipeline *p, int32_t source, hr_iteration *dropped, hr_supply **unwanted);
/* The source with this node, or NULL. */
hr_source *hr__source_find(const hr_pipeline *p, int32_t node);
