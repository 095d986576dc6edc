/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Sources: readers, whose files are requested ahead of time, and sources that are fed. */
#ifndef HR_EXEC_SOURCE_H
#define HR_EXEC_SOURCE_H

#include "exec/values.h"
#include "readers/sampler.h"

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

typedef struct hr_sample_source { /* what one source contributes to one sample */
    hr_sampler_item item;
    int64_t position;
    hr_read *read; /* NULL once it is taken, or if the source reads for itself */
    char *name;    /* memory of the item's name, if the source had to make one */
} hr_sample_source;

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

#endif
