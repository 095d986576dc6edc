/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Applies on_error to samples that failed: raise, skip, or replace by another sample, which goes
 * through all stages so far. */
#include "exec/bad.h"
#include "exec/settle.h"
#include "exec/source.h"
#include "exec/stage.h"

#define REPLACE_ATTEMPTS 16

/* Whether a bad sample can be replaced. The replacement goes through all stages so far by itself,
 * which is impossible for whole-batch stages, and for earlier stages that are ordered (other
 * iterations are in them now) or run on a device. */
static bool replaceable(const hr_group *g)
{
    const hr_pipeline *p = g->pipeline;
    if (p->source_count == 0 || !g->worker)
        return false;
    for (int32_t k = 0; k <= g->iteration->stage; k++) {
        const hr_plan_stage *stage = &p->plan->stages[k];
        bool before = k < g->iteration->stage;
        if (stage->kind == HR_STAGE_KIND_BATCH || stage->kind == HR_STAGE_KIND_INFER ||
            (before && (stage->ordered || stage->kind == HR_STAGE_KIND_DEVICE)))
            return false;
    }
    return true;
}

/* A stream, and what is fed, have no other samples than those of the iteration. */
static int32_t attempts_max(const hr_group *g)
{
    const hr_pipeline *p = g->pipeline;
    bool indexed = p->source_count > 0 && hr__source_indexed(&p->sources[0]);
    return indexed ? REPLACE_ATTEMPTS : HR_MIN(REPLACE_ATTEMPTS, g->iteration->size - 1);
}

/* Replaces a bad sample and runs the replacement through all stages so far. */
static void replace(hr_group *g, hr_group *one)
{
    hr_pipeline *p = g->pipeline;
    hr_sample *s = hr__sample_at(one, 0);
    hr_error error = {0};
    s->attempt++;
    s->status = HR_STATUS_OK;
    s->warned = false;
    for (int32_t k = 0; k < p->source_count && s->status == HR_STATUS_OK; k++)
        if (!hr__source_fed(&p->sources[k]))
            s->status = hr__source_replace(p, &p->sources[k], g->iteration, s, &error);
    if (s->status != HR_STATUS_OK)
        hr__sample_failed(one, 0, p->sources[0].node, s->status, &error);
    for (int32_t k = 0; k <= g->iteration->stage && s->status == HR_STATUS_OK; k++)
        hr__stage_run(one, &p->plan->stages[k]);
    g->held = one->held;
}

/* Applies `policy` to a sample that failed. */
static void settle(hr_group *g, int32_t i, hr_on_error policy)
{
    hr_sample *s = hr__sample_at(g, i);
    hr_group one = *g;
    one.first = s->index;
    one.count = 1;
    one.tasks = &g->tasks[i];
    /* Lack of memory or the pipeline's destruction does not make a sample bad. */
    while (s->status != HR_STATUS_OK && s->status != HR_STATUS_NO_MEMORY &&
           s->status != HR_STATUS_STATE) {
        bool skip = policy == HR_ON_ERROR_SKIP;
        bool again =
            policy == HR_ON_ERROR_REPLACE && s->attempt < attempts_max(g) && replaceable(g);
        hr__bad_record(g->pipeline, one.tasks,
                       skip    ? "skipped"
                       : again ? "replaced"
                               : "raised",
                       s->error ? s->error->message : "");
        if (again) {
            replace(g, &one);
            continue;
        }
        if (policy == HR_ON_ERROR_REPLACE && s->error && s->attempt > 0)
            hr_error_prefix(s->error, "the sample and its %d replacements are bad; the last error",
                            s->attempt);
        if (!skip)
            return;
        s->skipped = true;
        s->status = HR_STATUS_OK;
    }
}

void hr__samples_settle(hr_group *g)
{
    for (int32_t i = 0; i < g->count && g->tasks; i++)
        if (hr__sample_at(g, i)->status != HR_STATUS_OK)
            settle(g, i, g->pipeline->options.on_error);
}

/* The first sample of an output that has a value; NULL: there is none. */
static const hr_tensor *first_value(const hr_iteration *it, int32_t output)
{
    for (int32_t i = 0; i < it->size; i++)
        if (!it->samples[i].skipped && it->gathers[output].tensors[i].buffer)
            return &it->gathers[output].tensors[i];
    return NULL;
}

/* An output in which a sample differs from the first one in type or number of dimensions; -1: there
 * is none. */
static int32_t odd_output(const hr_pipeline *p, const hr_iteration *it, int32_t i)
{
    for (int32_t output = 0; output < p->plan->output_count; output++) {
        const hr_tensor *first = first_value(it, output), *t = &it->gathers[output].tensors[i];
        if (first && t->buffer && (t->dtype != first->dtype || t->shape.ndim != first->shape.ndim))
            return output;
    }
    return -1;
}

/* Applies on_error to a sample that does not fit into the batch. In a job, which one that is would
 * depend on the number of processes. */
static void settle_odd(hr_group *g, int32_t output)
{
    hr_iteration *it = g->iteration;
    hr_pipeline *p = g->pipeline;
    const hr_node *node = p->graph->nodes[p->plan->values[p->plan->outputs[output]].edge.node];
    const hr_tensor *first = first_value(it, output), *t = &it->gathers[output].tensors[g->first];
    hr_error error = {0};
    hr_fail(&error, HR_STATUS_ERROR,
            "Inconsistent data: the samples of a batch must not differ in type or number of "
            "dimensions; this one is %s with %d dimensions, the first one %s with %d",
            hr_dtype_dali_name(t->dtype), (int)t->shape.ndim, hr_dtype_dali_name(first->dtype),
            (int)first->shape.ndim);
    g->tasks[0].info = t->source_info ? t->source_info : it->samples[g->first].info;
    hr__sample_failed(g, 0, node, HR_STATUS_ERROR, &error);
    settle(g, 0, p->job.batch > 0 ? HR_ON_ERROR_RAISE : p->options.on_error);
}

void hr__outputs_settle(hr_pipeline *p, hr_iteration *it, hr_worker *worker)
{
    for (int32_t i = 1; i < it->size; i++) {
        hr_sample *s = &it->samples[i];
        int32_t output = -1;
        while (!s->skipped && s->status == HR_STATUS_OK && (output = odd_output(p, it, i)) >= 0) {
            hr_task task = {.pipeline = p, .iteration = it, .sample = s};
            hr_group g = {.pipeline = p,
                          .worker = worker,
                          .iteration = it,
                          .first = i,
                          .count = 1,
                          .tasks = &task,
                          .arena = worker ? worker->arena : NULL};
            task.group = &g;
            settle_odd(&g, output);
            hr__group_release(&g);
            if (worker)
                hr_arena_reset(worker->arena);
        }
    }
}
