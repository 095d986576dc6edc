/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs a group of samples through all steps of a stage on one worker. Intermediate values are in
 * the worker's arena. */
#include <string.h>

#include "device/memory.h"
#include "device/task.h"
#include "exec/bad.h"
#include "exec/call.h"
#include "exec/device_batch.h"
#include "exec/source.h"
#include "exec/stage.h"
#include "exec/trace.h"

#define REPLACE_ATTEMPTS 16
#define INFO_SHOWN 700 /* bytes of a file name in a message, to leave room for the reason */

typedef struct step_context { /* for step_memory */
    hr_group *g;
    const hr_plan_step *step;
    int32_t sample;
    const hr_node **nodes; /* nodes that the sample goes through */
    int32_t count;
} step_context;

static bool alive(const hr_group *g, int32_t i)
{
    const hr_sample *s = hr__sample_at(g, i);
    return s->status == HR_STATUS_OK && !s->skipped;
}

/* Stores the outputs of a node. They have the source_info of its input, or what it made of it. */
static hr_status outputs_put(hr_group *g, const hr_op_call *c, const hr_node *node, int32_t i,
                             hr_error *error)
{
    const char *info = c->source_info;
    if (info && info != c->task->info) {
        info = hr__name_keep(hr__sample_at(g, i), info, error);
        if (!info)
            return HR_STATUS_NO_MEMORY;
    }
    if (node->def->flags & HR_OP_MERGE)
        hr__merged_note(g, node, &c->out[0]);
    for (int32_t k = 0; k < node->output_count; k++) {
        c->out[k].source_info = info;
        HR_TRY(
            hr__value_put(g, hr__value_of(g->pipeline, node, k), i, c->count, &c->out[k], error));
    }
    return HR_STATUS_OK;
}

/* A value that later stages use gets a counted buffer, so that they can refer to it. */
hr_status hr_task_memory(hr_task *task, int32_t output, hr_tensor *t, hr_error *error)
{
    hr_group *g = task->group;
    hr_pipeline *p = g->pipeline;
    int32_t value = hr__value_of(p, task->node, output), i = (int32_t)(task - g->tasks);
    size_t bytes;
    if (p->plan->values[value].output >= 0 || !p->plan->values[value].crosses)
        return hr__value_memory(g, value, i, 1, t, error);
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    HR_TRY(hr_pool_alloc(p->pool, bytes, &t->buffer, error));
    t->data = hr_buffer_data(t->buffer);
    return hr__group_hold(g, t->buffer, error);
}

hr_status hr_task_fail(hr_task *task, hr_status status, const char *message, hr_error *error)
{
    hr_error *failure = hr_arena_alloc(task->group->arena, sizeof(*failure), error);
    if (!failure)
        return HR_STATUS_NO_MEMORY;
    hr_fail(failure, status == HR_STATUS_OK ? HR_STATUS_ERROR : status, "%s", message);
    task->failure = failure;
    return HR_STATUS_OK;
}

/* Whether all that uses a value is copies to the device. */
static bool goes_to_device(const hr_pipeline *p, int32_t value)
{
    int32_t copies = 0;
    for (int32_t i = 0; i < p->plan->order_count; i++) {
        const hr_node *node = hr__plan_node(p, i);
        if (node->def->flags & HR_OP_TO_DEVICE)
            copies += hr_plan_value_find(p->plan, node->inputs[0]) == value;
    }
    return copies > 0 && copies == p->plan->values[value].uses;
}

hr_device *hr_task_device(const hr_task *task, int32_t output)
{
    const hr_pipeline *p = task ? task->pipeline : NULL;
    bool there = p && p->device && goes_to_device(p, hr__value_of(p, task->node, output));
    return there ? p->device : NULL;
}

hr_status hr_task_device_memory(hr_task *task, void *stream, hr_tensor *t, hr_error *error)
{
    size_t bytes;
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    HR_TRY(hr_device_buffer(task->pipeline->device, stream, HR_MAX(bytes, 1), &t->buffer, error));
    t->data = hr_buffer_data(t->buffer);
    return hr__group_hold(task->group, t->buffer, error);
}

static hr_status step_memory(void *context, int32_t node, int32_t output, hr_tensor *t,
                             hr_error *error)
{
    step_context *c = context;
    const hr_pipeline *p = c->g->pipeline;
    /* The sample's last node writes the chain's output, even if merges follow it in the step. */
    const hr_node *makes = node + 1 < c->count
                               ? c->nodes[node]
                               : hr__plan_node(p, c->step->first + c->step->count - 1);
    return hr__value_memory(c->g, hr__value_of(p, makes, output), c->sample, 1, t, error);
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

/* Notes a failure at `node`: "operator 'name' (line): file: what". */
static void sample_failed(hr_group *g, int32_t i, const hr_node *node, hr_status status,
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

/* Whether the sample takes the branch that contains the node. */
static hr_status guard_holds(const hr_group *g, const hr_node *node, int32_t i, bool *holds,
                             hr_error *error)
{
    hr_tensor room;
    int32_t value = hr_plan_value_find(g->pipeline->plan, node->guard.predicate);
    const hr_tensor *t = hr__value_at(g, value, i, &room);
    *holds = false;
    if (t->shape.ndim < 0) /* the sample does not take the outer branch either */
        return HR_STATUS_OK;
    if (t->shape.ndim != 0 || t->dtype != HR_DTYPE_BOOL || !t->data)
        return hr_fail(error, HR_STATUS_ERROR, "the condition of its branch is not a BOOL scalar");
    *holds = *(const bool *)t->data == node->guard.when;
    return HR_STATUS_OK;
}

/* Whether a sample goes through the guarded step from `first` to `last`. If it does not, its
 * outputs have no value; those of an earlier attempt are removed. */
static bool guard_passes(hr_group *g, const hr_node *first, const hr_node *last, int32_t i)
{
    hr_error error; /* large: most samples have none */
    bool holds;
    error.status = HR_STATUS_OK;
    error.message[0] = '\0';
    hr_status status = guard_holds(g, first, i, &holds, &error);
    for (int32_t k = 0; k < last->output_count && status == HR_STATUS_OK && !holds; k++)
        status = hr__value_none(g, hr__value_of(g->pipeline, last, k), i, &error);
    if (status != HR_STATUS_OK)
        sample_failed(g, i, first, status, &error);
    return status == HR_STATUS_OK && holds;
}

static bool runs(hr_group *g, const hr_node *first, const hr_node *last, int32_t i)
{
    return alive(g, i) && (!first->guarded || guard_passes(g, first, last, i));
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

/* Whether the sample goes through a node inside a chain. It skips merges, which only pass on their
 * input, and nodes of branches that it does not take. */
static hr_status takes(const hr_group *g, const hr_node *node, int32_t i, bool *yes,
                       hr_error *error)
{
    *yes = !(node->def->flags & HR_OP_MERGE);
    return *yes && node->guarded ? guard_holds(g, node, i, yes, error) : HR_STATUS_OK;
}

static hr_status run_chain(hr_group *g, const hr_plan_step *step, int32_t i, const hr_node **at,
                           hr_error *error)
{
    const hr_pipeline *p = g->pipeline;
    size_t count = (size_t)step->count;
    const hr_node **nodes = hr_arena_alloc(g->arena, count * sizeof(*nodes), error);
    hr_op_call *calls = hr_arena_alloc(g->arena, count * sizeof(*calls), error);
    if (!nodes || !calls)
        return HR_STATUS_NO_MEMORY;
    int32_t n = 0;
    for (int32_t k = 0; k < step->count; k++) {
        bool yes = true;
        *at = nodes[n] = hr__plan_node(p, step->first + k);
        g->tasks[i].node = nodes[n];
        if (k > 0)
            HR_TRY(takes(g, nodes[n], i, &yes, error));
        if (yes)
            HR_TRY(hr__call_build(g, nodes[n], i, 1, k > 0, &calls[n], error));
        n += yes;
    }
    step_context context = {g, step, i, nodes, n};
    int64_t decode_ns = 0, start = hr_clock_ns();
    g->tasks[i].node = nodes[0];
    hr_chain chain = {.nodes = nodes,
                      .calls = calls,
                      .count = n,
                      .memory = step_memory,
                      .context = &context,
                      .decode_ns = &decode_ns,
                      .stall_decode_us = p->stall.decode_us};
    hr_status status = hr__chain_run(&chain, error);
    *at = nodes[chain.failed];
    int32_t last = step->first + step->count - 1;
    int64_t end = hr_clock_ns();
    note_time(g, last, end - start - (last > step->first ? decode_ns : 0), 1);
    if (last > step->first)
        note_time(g, step->first, decode_ns, 1);
    note_span(g, hr__plan_node(p, last), i, start, end);
    HR_TRY(status);
    return outputs_put(g, &calls[n - 1], hr__plan_node(p, last), i, error);
}

static void run_source(hr_group *g, const hr_node *node)
{
    hr_pipeline *p = g->pipeline;
    int32_t source = 0;
    while (p->sources[source].node != node)
        source++;
    for (int32_t i = 0; i < g->count; i++) {
        hr_error error = {0};
        if (!alive(g, i))
            continue;
        int64_t start = hr_clock_ns();
        g->tasks[i].node = node;
        hr_status status = hr__source_emit(g, &p->sources[source], source, i, &error);
        note_span(g, node, i, start, hr_clock_ns());
        if (status != HR_STATUS_OK)
            sample_failed(g, i, node, status, &error);
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
    HR_TRY(node->def->run_cpu(&c, 1, NULL));
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
        hr_status status = run_chain(g, step, i, &at, error);
        if (status == HR_STATUS_OK)
            continue;
        sample_failed(g, i, at, status, error);
        error->message[0] = '\0';
    }
}

/* `error` is empty, as for run_samples. */
static void run_step(hr_group *g, const hr_plan_step *step, hr_error *error)
{
    const hr_node *node = hr__plan_node(g->pipeline, step->first);
    if (node->def->source) {
        run_source(g, node);
        return;
    }
    bool columns = takes_columns(g, step, node);
    for (int32_t i = 0, n; i < g->count; i += n) {
        n = 1;
        if (!step_runs(g, step, i))
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
            sample_failed(g, i, node, built, &error);
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
            sample_failed(g, which[j], node, error.status, &error);
            continue;
        }
        for (int32_t k = 0; k < node->output_count && !step; k++)
            *hr__inferred(g, node, k, which[j]) = calls[j].out[k];
        if (step)
            own = outputs_put(g, &calls[j], node, which[j], &error);
        if (own != HR_STATUS_OK)
            sample_failed(g, which[j], node, own, &error);
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

/* Prepares a step of a device stage on the CPU. `error` is empty, as for run_samples. */
static void prepare_step(hr_group *g, const hr_plan_step *step, hr_error *error)
{
    for (int32_t i = 0; i < g->count; i++) {
        const hr_node *at = hr__plan_node(g->pipeline, step->first);
        if (!step_runs(g, step, i))
            continue;
        int64_t start = hr_clock_ns();
        hr_status status = hr__device_prepare(g, step, i, &at, error);
        int64_t end = hr_clock_ns();
        note_time(g, step->first, end - start, 1);
        note_span(g, at, i, start, end);
        if (status == HR_STATUS_OK)
            continue;
        sample_failed(g, i, at, status, error);
        error->message[0] = '\0';
    }
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
        if (!alive(g, i))
            continue;
        hr_status status = hr__device_batch_take(g->pipeline, g->iteration, &g->device, &error);
        if (status != HR_STATUS_OK)
            sample_failed(g, i, first, status, &error);
    }
}

static void run_steps(hr_group *g, const hr_plan_stage *stage)
{
    hr_error error = {0};
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
        else if (stage->kind == HR_STAGE_KIND_DEVICE)
            prepare_step(g, step, &error);
        else
            run_step(g, step, &error);
    }
}

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
        sample_failed(one, 0, p->sources[0].node, s->status, &error);
    for (int32_t k = 0; k <= g->iteration->stage && s->status == HR_STATUS_OK; k++)
        run_steps(one, &p->plan->stages[k]);
    g->held = one->held;
}

/* Applies on_error to a sample that failed. */
static void settle(hr_group *g, int32_t i)
{
    hr_on_error policy = g->pipeline->options.on_error;
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

void hr__stage_run(hr_group *g, const hr_plan_stage *stage)
{
    run_steps(g, stage);
    for (int32_t i = 0; i < g->count && g->tasks; i++)
        if (hr__sample_at(g, i)->status != HR_STATUS_OK)
            settle(g, i);
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

/* Applies on_error to a sample that does not fit into the batch. */
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
    sample_failed(g, 0, node, HR_STATUS_ERROR, &error);
    settle(g, 0);
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
