/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Opens the device, launches iterations, and waits for them, in a thread of its own or on that of
 * the consumer. */
#include "exec/device_stage.h"

#include "core/thread.h"
#include "exec/device_batch.h"
#include "exec/iteration.h"
#include "exec/trace.h"

#define POLL_NS 50000

/* ---- launching ---- */

void hr__device_launch(hr_worker *w, hr_iteration *it)
{
    hr_error error = {0};
    hr_pipeline *p = w->pipeline;
    hr_completion *c = p->completion;
    hr_status status = HR_STATUS_OK;
    it->launched_ns = hr_clock_ns();
    if (it->device) /* NULL if every sample was skipped before it was prepared */
        status = hr__device_queue(w, it, &error);
    pthread_mutex_lock(&p->lock);
    if (status != HR_STATUS_OK)
        it->status = hr_fail(&it->error, status, "%s", error.message);
    it->launched = NULL;
    *(c->last ? &c->last->launched : &c->first) = it;
    c->last = it;
    pthread_cond_signal(&c->work);
    it->queued = true;
    if (p->plan->stages[it->stage].ordered)
        hr__wake(p, 1); /* the next iteration may enter the stage */
    pthread_mutex_unlock(&p->lock);
}

/* ---- completion ---- */

/* Marks the samples that the device could not decode; returns whether there are any. */
static bool mark_damaged(hr_device_batch *b)
{
    bool any = false;
    for (int32_t i = 0; i < b->decoding_count; i++) {
        if (!b->status[i])
            continue;
        b->redo[b->decoding[i]->sample] = true;
        any = true;
    }
    return any;
}

static bool has_notes(const hr_device_batch *b)
{
    for (int32_t i = 0; i < b->decoding_count; i++)
        if (b->decoding[i]->notes)
            return true;
    return false;
}

/* Puts the values of the stage that are pipeline outputs into their batches. */
static hr_status put_outputs(hr_pipeline *p, hr_iteration *it, hr_error *error)
{
    for (int32_t v = 0; v < p->plan->value_count; v++) {
        const hr_plan_value *value = &p->plan->values[v];
        if (value->stage != it->stage || value->output < 0)
            continue;
        for (int32_t i = 0; i < it->size; i++) {
            const hr_tensor *made = hr__crossing_of(p, it, v, i);
            bool there = made->buffer; /* NULL if the sample does not take the branch */
            if (hr__sample_alive(&it->samples[i]) && there)
                HR_TRY(hr__gather_put(p, it, value->output, i, 1, made, error));
        }
    }
    return HR_STATUS_OK;
}

/* The consumer itself polls for a short while: small operators end sooner than a sleeping thread
 * wakes up. On an H200 this makes a call of dynamic mode 1.6 times faster, for less CPU time. */
static hr_status wait_for_device(const hr_pipeline *p, void *event, hr_error *error)
{
    const hr_cuda_module_def *cuda = hr_device_module(p->device);
    int32_t id = hr_device_id(p->device);
    bool done = false;
    if (p->options.run_here)
        for (int64_t end = hr_clock_ns() + POLL_NS; !done && hr_clock_ns() < end;)
            HR_TRY(cuda->event_done(id, event, &done, error));
    return done ? HR_STATUS_OK : cuda->event_wait(id, event, error);
}

static void stage_nodes(const hr_pipeline *p, const hr_iteration *it, const hr_node **first,
                        const hr_node **last)
{
    const hr_plan_stage *stage = &p->plan->stages[it->stage];
    const hr_plan_step *steps = &p->plan->steps[stage->first], *end = &steps[stage->count - 1];
    *first = hr__plan_node(p, steps->first);
    *last = hr__plan_node(p, end->first + end->count - 1);
}

/* Launches may overlap; the trace shows each from the end of the one before. */
static void trace_launch(hr_pipeline *p, const hr_iteration *it)
{
    hr_completion *c = p->completion;
    hr_trace_span span = {.iteration = it->number, .sample = -1};
    stage_nodes(p, it, &span.first, &span.last);
    span.start_ns = HR_MAX(it->launched_ns, c->traced_ns);
    span.end_ns = c->traced_ns = hr_clock_ns();
    hr__trace_span(p->trace, hr__trace_device_lane(p->trace), span);
}

/* Waits for the launch. CUDA reports errors of kernels only here, so that any node of the stage may
 * be the cause; the message names the first and the last. */
static hr_status await_end(const hr_pipeline *p, const hr_iteration *it, hr_error *error)
{
    char first[512], last[512];
    const hr_node *from, *to;
    stage_nodes(p, it, &from, &to);
    hr_status status = wait_for_device(p, it->device->launch->done, error);
    if (status == HR_STATUS_OK)
        return status;
    hr_node_text(from, first, sizeof(first));
    if (from == to)
        return hr_error_prefix(error, "%s", first);
    return hr_error_prefix(error, "%s .. %s", first, hr_node_text(to, last, sizeof(last)));
}

/* Returns true if samples must be prepared again. `*noted`: the batch, if the device wrote index
 * entries; they are stored after the iteration has been published. */
static bool complete(hr_pipeline *p, hr_iteration *it, hr_device_batch **noted)
{
    hr_error error = {0};
    hr_device_batch *b = it->device;
    if (b && it->status == HR_STATUS_OK)
        it->status = await_end(p, it, &it->error);
    if (b && p->trace)
        trace_launch(p, it);
    if (b && it->status != HR_STATUS_OK)
        hr_launch_abandon(b->launch);
    if (b && it->status == HR_STATUS_OK && mark_damaged(b)) {
        b->again = true;
        return true;
    }
    if (it->status == HR_STATUS_OK) {
        hr_status status = put_outputs(p, it, &error);
        if (status != HR_STATUS_OK)
            it->status = hr_fail(&it->error, status, "%s", error.message);
    }
    if (b && it->status == HR_STATUS_OK && has_notes(b)) {
        it->device = NULL;
        *noted = b;
    }
    hr__device_batch_give(p, it);
    return false;
}

bool hr__device_complete(hr_pipeline *p)
{
    hr_completion *c = p->completion;
    hr_iteration *it = c ? c->first : NULL;
    if (!it)
        return false;
    c->first = it->launched;
    c->last = c->first ? c->last : NULL;
    pthread_mutex_unlock(&p->lock);
    int64_t start = hr_clock_ns();
    hr_device_batch *noted = NULL;
    bool again = complete(p, it, &noted);
    int64_t end = hr_clock_ns();
    pthread_mutex_lock(&p->lock);
    c->busy_ns += end - start;
    if (again) {
        hr__iteration_enter(p, it, it->stage);
        hr__wake(p, hr__workers_wanted(p, it));
    } else {
        hr__stage_end(p, it, NULL); /* publishes it if this was its last stage */
    }
    if (noted) {
        noted->next = p->device_batches.published;
        p->device_batches.published = noted;
        hr__wake(p, 1);
    }
    return true;
}

static void *completion_main(void *context)
{
    hr_pipeline *p = context;
    hr_completion *c = p->completion;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        if (hr__device_complete(p))
            continue;
        if (c->stop)
            break;
        int64_t start = hr_clock_ns();
        pthread_cond_wait(&c->work, &p->lock);
        c->idle_ns += hr_clock_ns() - start;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- opening ---- */

/* An operator without a GPU version fails when the pipeline is built. Operators that consist only
 * of image programs run on the GPU as they are. */
static hr_status check_node(const hr_pipeline *p, const hr_node *node, hr_error *error)
{
    char text[512];
    const hr_op_def *def = node->def;
    bool moves = def->source || (def->flags & (HR_OP_TO_DEVICE | HR_OP_TO_HOST));
    bool view = def->flags & HR_OP_VIEW;
    if (!hr_node_on_device(node) || moves || view || def->lower || hr_device_op(p->device, def))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                   "%s: it has no GPU version yet; use .cpu() before it and .gpu() after it",
                   hr_node_text(node, text, sizeof(text)));
}

static hr_status start_completion(hr_pipeline *p, hr_error *error)
{
    p->completion = hr_calloc(1, sizeof(*p->completion), error);
    HR_TRY_ALLOC(p->completion);
    pthread_cond_init(&p->completion->work, NULL);
    if (p->options.run_here)
        return HR_STATUS_OK;
    int code = hr_thread_create(&p->completion->thread, completion_main, p);
    if (code)
        return hr_fail_errno(error, code, "cannot start the completion thread");
    p->completion->started = true;
    return HR_STATUS_OK;
}

hr_status hr__device_open(hr_pipeline *p, hr_error *error)
{
    char text[512];
    const hr_node *first = NULL;
    for (int32_t k = 0; k < p->plan->order_count; k++) {
        const hr_node *node = hr__plan_node(p, k);
        first = !first && hr_node_on_device(node) ? node : first;
    }
    if (!first)
        return HR_STATUS_OK;
    int32_t id = p->options.device_id == HR_DEVICE_HOST ? 0 : p->options.device_id;
    if (hr_device_create(&p->device, id, p->options.device_memory_limit, error) != HR_STATUS_OK)
        return hr_error_prefix(
            error,
            "%s: device=\"%s\": the pipeline requires a CUDA-capable GPU but none can be used",
            hr_node_text(first, text, sizeof(text)), first->device);
    for (int32_t k = 0; k < p->plan->order_count; k++)
        HR_TRY(check_node(p, hr__plan_node(p, k), error));
    return start_completion(p, error);
}

void hr__device_stop(hr_pipeline *p)
{
    hr_completion *c = p->completion;
    if (!c)
        return;
    pthread_mutex_lock(&p->lock);
    c->stop = true;
    pthread_cond_signal(&c->work);
    while (!c->started && hr__device_complete(p)) {
    }
    pthread_mutex_unlock(&p->lock);
    if (c->started)
        pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->work);
    hr_free(c);
    p->completion = NULL;
}

void hr__device_close(hr_pipeline *p)
{
    hr__device_batches_free(p);
    hr_device_unref(p->device);
    p->device = NULL;
}
