/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A job: several processes that take their parts of the same batches. All that a sample depends on
 * must then be the same in all of them: the seed, the order, and no other samples of its batch. */
#include "exec/job.h"

#define BATCH_SIZE_MAX (1 << 20) /* a sample costs some KB before it has any data */

static hr_status refuse(const hr_node *node, hr_error *error, const char *why)
{
    char text[512];
    return hr_fail(error, HR_STATUS_ERROR, "%s: %s", hr_node_text(node, text, sizeof(text)), why);
}

/* The job of a source; one without a batch if it has none. */
static hr_cut job_of(const hr_pipeline *p, const hr_node *node)
{
    const hr_sampler_args *args = node->args;
    if (!hr_op_is_reader(node->def) || args->global_batch <= 0)
        return (hr_cut){0};
    const hr_pipeline_options *o = &p->options;
    return o->num_shards > 0 ? (hr_cut){args->global_batch, o->num_shards, o->shard_id}
                             : (hr_cut){args->global_batch, args->num_shards, args->shard_id};
}

static hr_status find_job(hr_pipeline *p, hr_error *error)
{
    const hr_plan *plan = p->plan;
    for (int32_t k = 0; k < plan->source_count; k++) {
        const hr_node *node = p->graph->nodes[plan->sources[k]];
        hr_cut job = job_of(p, node), first = k > 0 ? p->job : job;
        if (job.batch != first.batch && !hr_op_is_reader(node->def))
            return refuse(node, error,
                          "this source has no place in the order of a job; global_batch is for "
                          "pipelines in which all sources are readers");
        if (job.batch != first.batch || job.ranks != first.ranks || job.rank != first.rank)
            return refuse(node, error,
                          "global_batch, num_shards and shard_id must be the same for all readers "
                          "of a pipeline if one has global_batch");
        p->job = job;
    }
    return HR_STATUS_OK;
}

static hr_status check_job(const hr_pipeline *p, hr_error *error)
{
    const hr_cut *job = &p->job;
    if (job->rank < 0 || job->rank >= job->ranks)
        return hr_fail(error, HR_STATUS_ERROR,
                       "shard_id is %d; with num_shards=%d allowed are 0 .. %d", job->rank,
                       job->ranks, job->ranks - 1);
    if (job->batch < job->ranks)
        return hr_fail(error, HR_STATUS_ERROR,
                       "global_batch is %lld; it must be at least num_shards, which is %d",
                       (long long)job->batch, job->ranks);
    if (p->options.seed < 0 && !p->resume)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "global_batch needs a seed: pass the pipeline the same one in all processes");
    for (int32_t k = 0; k < p->plan->order_count; k++) {
        const hr_node *node = hr__plan_node(p, k);
        if (hr_node_whole_batch(node) && !(node->def->flags & HR_OP_FUNCTION))
            return refuse(node, error,
                          "what this operator makes of a sample depends on the other samples of "
                          "the batch, and so on the number of processes; it cannot be used with "
                          "global_batch");
    }
    return HR_STATUS_OK;
}

hr_status hr__job_open(hr_pipeline *p, hr_error *error)
{
    hr_pipeline_options *o = &p->options;
    if (o->num_shards < 0)
        return hr_fail(error, HR_STATUS_VALUE, "num_shards is %d; it must be at least 0",
                       o->num_shards);
    if (o->batch_size < 0 || o->batch_size > BATCH_SIZE_MAX)
        return hr_fail(error, HR_STATUS_VALUE, "batch_size is %d; allowed are 1 .. %d",
                       o->batch_size, BATCH_SIZE_MAX);
    HR_TRY(find_job(p, error));
    if (p->job.batch > 0)
        HR_TRY(check_job(p, error));
    else if (o->num_shards > 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "no reader has global_batch: only with it can the number of processes be "
                       "chosen for the whole pipeline");
    int64_t part = p->job.batch > 0 ? hr_cut_count(&p->job, p->job.batch) : o->batch_size;
    if (part < 1 || part > BATCH_SIZE_MAX)
        return hr_fail(error, HR_STATUS_VALUE, "batch_size is %lld; allowed are 1 .. %d",
                       (long long)part, BATCH_SIZE_MAX);
    if (o->batch_size > 0 && o->batch_size < part)
        return hr_fail(error, HR_STATUS_VALUE,
                       "batch_size is %d, but global_batch=%lld and num_shards=%d need at least "
                       "%lld",
                       o->batch_size, (long long)p->job.batch, p->job.ranks, (long long)part);
    o->batch_size = (int32_t)part;
    return HR_STATUS_OK;
}

hr_sampler_args hr__job_args(const hr_pipeline *p, const hr_sampler_args *args)
{
    hr_sampler_args made = *args;
    if (p->job.batch > 0) {
        made.num_shards = p->job.ranks;
        made.shard_id = p->job.rank;
    }
    return made;
}

int64_t hr__job_positions(const hr_pipeline *p, int64_t own)
{
    return p->job.batch > 0 ? own / p->options.batch_size * p->job.batch : own;
}

int64_t hr__job_own(const hr_pipeline *p, int64_t positions)
{
    return p->job.batch > 0 ? positions / p->job.batch * p->options.batch_size : positions;
}
