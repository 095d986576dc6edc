/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs a group of samples through all steps of a stage on one worker. Intermediate values are in
 * the worker's arena. */
#include <string.h>

#include "exec/branch.h"
#include "exec/call.h"
#include "exec/device_batch.h"
#include "exec/source.h"
#include "exec/stage.h"
#include "exec/trace.h"

#define INFO_SHOWN 700 /* bytes of a file name in a message, to leave room for the reason */

typedef struct step_chain { /* a step for one sample */
    hr_chain chain;
    hr_group *g;
    const hr_plan_step *step;
    int32_t i;
} step_chain;

/* Stores the outputs of a node. They have the source_info of its input, or what it made of it. */
static hr_status outputs_put(hr_group *g, const hr_op_call *c, const hr_node *node, int32_t i,
                             hr_error *error)
{
    const char *info;
    HR_TRY(hr__name_keep(hr__sample_at(g, i), c, &info, error));
    if (node->def->flags & HR_OP_MERGE)
        hr__merged_note(g, node, &c->out[0]);
    for (int32_t k = 0; k < node->output_count; k++) {
        c->out[k].source_info = info;
        HR_TRY(
            hr__value_put(g, hr__value_of(g->pipeline, node, k), i, c->count, &c->out[k], error));
    }
    return HR_STATUS_OK;
}

static void sample_note(hr_group *g, int32_t i, hr_status status, const hr_error *error)
{
    hr_sample *s = hr__sample_at(g, i);
    s->status = status;
    if (!s->error)
        s->error = hr_calloc(1, sizeof(*s->error), NULL);
    if (s->error)
        *s->error = *error;
}

void hr__sample_failed(hr_group *g, int32_t i, const hr_node *node, hr_status status,
                       hr_error *error)
{
    char text[512];
    const char *info = g->tasks[i].info;
    size_t size = info ? strlen(info) : 0, cut = size > INFO_SHOWN ? size - INFO_SHOWN : 0;
    g->tasks[i].node = node;
    size_t named = strlen(hr_node_text(node, text, sizeof(text)));
    if (strncmp(error->message, text, named) == 0) { /* an argument's error names its node */
        const char *rest = error->message + named;
        rest += strspn(rest, ": ");
        memmove(error->message, rest, strlen(rest) + 1);
    }
    if (info)
        hr_error_prefix(error, "%s: %s%s", text, cut ? "..." : "", info + cut);
    else
        hr_error_prefix(error, "%s: sample %d of the batch", text, hr__sample_at(g, i)->index);
    sample_note(g, i, status, error);
}

/* Whether a sample goes through the guarded step from `first` to `last`. If it does not, its
 * outputs have no value; those of an earlier attempt are removed. */
static bool guard_passes(hr_group *g, const hr_node *first, const hr_node *last, int32_t i)
{
    hr_error error; /* large: most samples have none */
    bool holds;
    error.status = HR_STATUS_OK;
    error.message[0] = '\0';
    hr_status status = hr__guard_holds(g, first, i, &holds, &error);
    for (int32_t k = 0; k < last->output_count && status == HR_STATUS_OK && !holds; k++)
        status = hr__value_none(g, hr__value_of(g->pipeline, last, k), i, &error);
    if (status != HR_STATUS_OK)
        hr__sample_failed(g, i, first, status, &error);
    return status == HR_STATUS_OK && holds;
}

static bool runs(hr_group *g, const hr_node *first, const hr_node *last, int32_t i)
{
    return hr__sample_alive(hr__sample_at(g, i)) &&
           (!first->guarded || guard_passes(g, first, last, i));
}

static bool step_runs(hr_group *g, const hr_plan_step *step, int32_t i)
{
    return runs(g, hr__plan_node(g->pipeline, step->first),
                hr__plan_node(g->pipeline, step->first + step->count - 1), i);
}

static void note_time(hr_group *g, int32_t order, int64_t ns, int32_t samples)
{
    hr__count(&g->worker->stats.node_ns[order], ns);
    hr__count(&g->worker->stats.node_count[order], samples);
}

/* `i`: the sample in the group; the first one if there were several. */
static void note_span(hr_group *g, const hr_node *node, int32_t i, int64_t start, int64_t end)
{
    if (g->pipeline->trace)
        hr__trace_span(g->pipeline->trace, g->worker->number,
                       (hr_trace_span){node, node, start, end, g->iteration->number, g->first + i});
}

static hr_status step_memory(void *context, int32_t node, int32_t output, hr_tensor *t,
                             hr_error *error)
{
    const step_chain *c = context;
    const hr_pipeline *p = c->g->pipeline;
    /* The sample's last node writes the chain's output, even if merges follow it in the step. */
    const hr_node *makes = node + 1 < c->chain.count
                               ? c->chain.nodes[node]
                               : hr__plan_node(p, c->step->first + c->step->count - 1);
    return hr__value_memory(c->g, hr__value_of(p, makes, output), c->i, 1, t, error);
}

/* Runs a step on the CPU for one sample. `*decode_ns`: time spent decoding. */
static hr_status run_chain(hr_group *g, const hr_plan_step *step, int32_t i, int64_t *decode_ns,
                           const hr_node **at, hr_error *error)
{
    step_chain c = {.chain = {.memory = step_memory,
                              .context = &c,
                              .decode_ns = decode_ns,
                              .stall_decode_us = g->pipeline->stall.decode_us},
                    .g = g,
                    .step = step,
                    .i = i};
    HR_TRY(hr__chain_build(g, step, i, &c.chain, at, error));
    hr_status status = hr__chain_run(&c.chain, error);
    *at = c.chain.nodes[c.chain.failed];
    HR_TRY(status);
    return outputs_put(g, &c.chain.calls[c.chain.count - 1],
                       hr__plan_node(g->pipeline, step->first + step->count - 1), i, error);
}

/* Runs a step for one sample, or prepares it for the device. */
static hr_status run_one(hr_group *g, const hr_plan_step *step, int32_t i, const hr_node **at,
                         hr_error *error)
{
    int32_t last = step->first + step->count - 1;
    bool prepares = g->stage->kind == HR_STAGE_KIND_DEVICE;
    int64_t decode_ns = 0, start = hr_clock_ns();
    hr_status status = prepares ? hr__device_prepare(g, step, i, at, error)
                                : run_chain(g, step, i, &decode_ns, at, error);
    int64_t end = hr_clock_ns();
    bool whole = prepares || last == step->first;
    note_time(g, step->first, whole ? end - start : decode_ns, 1);
    if (!whole)
        note_time(g, last, end - start - decode_ns, 1);
    note_span(g, hr__plan_node(g->pipeline, last), i, start, end);
    return status;
}

/* `error` is empty, as for run_samples. */
static void run_source(hr_group *g, const hr_node *node, hr_error *error)
{
    hr_pipeline *p = g->pipeline;
    int32_t source = 0;
    while (p->sources[source].node != node)
        source++;
    for (int32_t i = 0, n; i < g->count; i += n) {
        n = 1;
        if (!hr__sample_alive(hr__sample_at(g, i)))
            continue;
        int64_t start = p->trace ? hr_clock_ns() : 0;
        g->tasks[i].node = node;
        hr_status status = hr__source_emit(g, &p->sources[source], source, i, &n, error);
        if (p->trace)
            note_span(g, node, i, start, hr_clock_ns());
        if (status == HR_STATUS_OK)
            continue;
        hr__sample_failed(g, i, node, status, error);
        error->message[0] = '\0';
    }
}

/* Whether one call of the node may cover several samples: they differ only in their elements. */
static bool takes_columns(const hr_group *g, const hr_plan_step *step, const hr_node *node)
{
    bool yes = (node->def->flags & HR_OP_COLUMNS) && step->count == 1 &&
               node->arg_input_count == 0 && g->pipeline->plan->inferred[node->index] < 0;
    for (int32_t k = 0; yes && k < node->input_count; k++)
        yes = hr__value_is_column(g, hr_plan_value_find(g->pipeline->plan, node->inputs[k]));
    return yes;
}

/* How many samples from `i` on one call can cover. All must come from the same file, because
 * messages name it. */
static int32_t run_length(hr_group *g, const hr_node *node, int32_t i)
{
    int32_t end = i + 1;
    while (end < g->count && runs(g, node, node, end) &&
           hr__sample_at(g, end)->info == hr__sample_at(g, i)->info)
        end++;
    return end - i;
}

/* One call for samples i .. i + n - 1. `batch`: they are the whole batch. */
static hr_status call_columns(hr_group *g, const hr_node *node, int32_t i, int32_t n, bool batch)
{
    hr_op_call c;
    HR_TRY(hr__call_build(g, node, i, n, false, &c, NULL));
    if (batch) {
        HR_TRY(node->def->run_batch(&c, 1, NULL));
        if (g->tasks[i].failure) { /* run_batch, below, finds out whose it is */
            g->tasks[i].failure = NULL;
            return HR_STATUS_ERROR;
        }
        return outputs_put(g, &c, node, i, NULL);
    }
    if (node->def->infer)
        HR_TRY(node->def->infer(&c, NULL));
    for (int32_t k = 0; k < c.n_out && !(node->def->flags & HR_OP_VIEW); k++)
        HR_TRY(hr__value_memory(g, hr__value_of(g->pipeline, node, k), i, n, &c.out[k], NULL));
    HR_TRY(hr_op_run(&c, NULL));
    return outputs_put(g, &c, node, i, NULL);
}

/* false: it failed for some sample; the caller finds out which with one call per sample. */
static bool run_columns(hr_group *g, const hr_plan_step *step, const hr_node *node, int32_t i,
                        int32_t n, bool batch)
{
    int64_t start = hr_clock_ns();
    if (call_columns(g, node, i, n, batch) != HR_STATUS_OK)
        return false;
    int64_t end = hr_clock_ns();
    note_time(g, step->first, end - start, n);
    note_span(g, node, i, start, end);
    return true;
}

/* `error` must be empty. The caller passes it because clearing one per sample is expensive. */
static void run_samples(hr_group *g, const hr_plan_step *step, const hr_node *node, int32_t first,
                        int32_t n, hr_error *error)
{
    for (int32_t i = first; i < first + n; i++) {
        const hr_node *at = node;
        hr_status status = run_one(g, step, i, &at, error);
        if (status == HR_STATUS_OK)
            continue;
        hr__sample_failed(g, i, at, status, error);
        error->message[0] = '\0';
    }
}

/* Prepares samples that are like one before; returns how many. */
static int32_t prepare_alike(hr_group *g, const hr_plan_step *step, int32_t i)
{
    int64_t start = hr_clock_ns();
    int32_t n = hr__device_prepare_alike(g, step, i);
    int64_t end = n > 0 ? hr_clock_ns() : start;
    if (n > 0) {
        note_time(g, step->first, end - start, n);
        note_span(g, hr__plan_node(g->pipeline, step->first + step->count - 1), i, start, end);
    }
    return n;
}

/* `error` is empty, as for run_samples. */
static void run_step(hr_group *g, const hr_plan_step *step, hr_error *error)
{
    const hr_node *node = hr__plan_node(g->pipeline, step->first);
    if (node->def->source) {
        run_source(g, node, error);
        return;
    }
    bool device = g->stage->kind == HR_STAGE_KIND_DEVICE;
    bool columns = !device && takes_columns(g, step, node);
    for (int32_t i = 0, n; i < g->count; i += n) {
        n = 1;
        if (!step_runs(g, step, i))
            continue;
        if (device && (n = prepare_alike(g, step, i)) > 0)
            continue;
        n = columns ? run_length(g, node, i) : 1;
        if (n == 1 || !run_columns(g, step, node, i, n, false))
            run_samples(g, step, node, i, n, error);
    }
}

/* Runs a whole-batch node with all remaining samples in one call. If the call fails, all of them
 * fail; a bad argument and hr_task_fail fail only their sample. `step`: NULL only describes the
 * outputs. */
static void run_batch(hr_group *g, const hr_node *node, const hr_plan_step *step)
{
    char text[512];
    hr_error all = {0};
    hr_op_call *calls = hr_arena_alloc(g->arena, (size_t)(g->count + 1) * sizeof(*calls), &all);
    int32_t *which = hr_arena_alloc(g->arena, (size_t)(g->count + 1) * sizeof(*which), &all);
    hr_status status = calls && which ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    int32_t n = 0;
    int64_t start = hr_clock_ns();
    for (int32_t i = 0; i < g->count && status == HR_STATUS_OK; i++) {
        hr_error error = {0};
        if (!runs(g, node, node, i))
            continue;
        g->tasks[i].node = node;
        hr_status built = hr__call_build(g, node, i, 1, false, &calls[n], &error);
        if (built != HR_STATUS_OK)
            hr__sample_failed(g, i, node, built, &error);
        else
            which[n++] = i;
    }
    if (n > 0)
        status = (step ? node->def->run_batch : node->def->infer_batch)(calls, n, &all);
    if (status != HR_STATUS_OK)
        hr_error_prefix(&all, "%s", hr_node_text(node, text, sizeof(text)));
    for (int32_t i = 0; i < g->count && !(calls && which); i++)
        sample_note(g, i, status, &all);
    for (int32_t j = 0; j < n; j++) {
        hr_error error = {0};
        if (status != HR_STATUS_OK) {
            sample_note(g, which[j], status, &all);
            continue;
        }
        hr_status own = HR_STATUS_OK;
        hr_task *task = &g->tasks[which[j]];
        if (task->failure) {
            error = *task->failure;
            task->failure = NULL;
            hr__sample_failed(g, which[j], node, error.status, &error);
            continue;
        }
        for (int32_t k = 0; k < node->output_count && !step; k++)
            *hr__inferred(g, node, k, which[j]) = calls[j].out[k];
        if (step)
            own = outputs_put(g, &calls[j], node, which[j], &error);
        if (own != HR_STATUS_OK)
            hr__sample_failed(g, which[j], node, own, &error);
    }
    int64_t end = hr_clock_ns();
    if (step)
        note_time(g, step->first, end - start, n);
    note_span(g, node, 0, start, end);
}

/* Runs a whole-batch node, as one column if possible. */
static void run_whole(hr_group *g, const hr_plan_step *step)
{
    const hr_node *node = hr__plan_node(g->pipeline, step->first);
    bool column = takes_columns(g, step, node) && runs(g, node, node, 0) &&
                  run_length(g, node, 0) == g->count;
    if (!column || !run_columns(g, step, node, 0, g->count, true))
        run_batch(g, node, step);
}

static hr_status prepare(hr_group *g, hr_error *error)
{
    int32_t values = g->pipeline->plan->value_count;
    g->values = hr_arena_alloc(g->arena, (size_t)values * sizeof(*g->values), error);
    g->tasks = hr_arena_alloc(g->arena, (size_t)g->count * sizeof(hr_task), error);
    if (!g->values || !g->tasks) {
        g->tasks = NULL; /* may be allocated, but is not initialised */
        return HR_STATUS_NO_MEMORY;
    }
    for (int32_t i = 0; i < values; i++)
        g->values[i] = (hr_column){.like.shape.ndim = -1}; /* not made in this group */
    for (int32_t i = 0; i < g->count; i++)
        g->tasks[i] = (hr_task){.group = g,
                                .pipeline = g->pipeline,
                                .iteration = g->iteration,
                                .sample = hr__sample_at(g, i)};
    return HR_STATUS_OK;
}

/* Finds the iteration's batch on the device; its first task makes it. Samples fail without it. */
static void find_device(hr_group *g, const hr_plan_stage *stage)
{
    const hr_node *first = hr__plan_node(g->pipeline, g->pipeline->plan->steps[stage->first].first);
    for (int32_t i = 0; i < g->count && !g->device; i++) {
        hr_error error = {0};
        if (!hr__sample_alive(hr__sample_at(g, i)))
            continue;
        hr_status status = hr__device_batch_take(g->pipeline, g->iteration, &g->device, &error);
        if (status != HR_STATUS_OK)
            hr__sample_failed(g, i, first, status, &error);
    }
}

void hr__stage_run(hr_group *g, const hr_plan_stage *stage)
{
    hr_error error = {0};
    g->stage = stage;
    if (prepare(g, &error) != HR_STATUS_OK) {
        for (int32_t i = 0; i < g->count; i++)
            hr__sample_at(g, i)->status = HR_STATUS_NO_MEMORY;
        return;
    }
    if (stage->kind == HR_STAGE_KIND_INFER)
        run_batch(g, g->pipeline->graph->nodes[stage->infers], NULL);
    if (stage->kind == HR_STAGE_KIND_DEVICE && !g->device)
        find_device(g, stage);
    for (int32_t k = 0; k < stage->count; k++) {
        const hr_plan_step *step = &g->pipeline->plan->steps[stage->first + k];
        if (stage->kind == HR_STAGE_KIND_BATCH)
            run_whole(g, step);
        else
            run_step(g, step, &error);
    }
}
