/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Opens the device, launches iterations, and runs the thread that waits for them. */
#include <string.h>

#include "exec/device_stage.h"

/* ---- batches ---- */

static void batch_destroy(hr_device_batch *b, int32_t arenas)
{
    if (!b)
        return;
    for (int32_t i = 0; b->arenas && i < arenas; i++)
        hr_arena_destroy(b->arenas[i]);
    hr_free(b->arenas);
    hr_free(b->pieces);
    hr_free(b->redo);
    hr_free(b);
}

static int32_t arena_count(const hr_pipeline *p)
{
    return p->options.num_threads + 1;
}

/* The arrays are large enough for any iteration: for the largest batch and the stage with the most
 * steps. */
static hr_status batch_create(const hr_pipeline *p, hr_device_batch **out, hr_error *error)
{
    size_t samples = (size_t)p->options.batch_size, steps = 1;
    for (int32_t k = 0; k < p->plan->stage_count; k++)
        steps = HR_MAX(steps, (size_t)p->plan->stages[k].count);
    hr_device_batch *b = hr_calloc(1, sizeof(*b), error);
    if (!b)
        return HR_STATUS_NO_MEMORY;
    b->arenas = hr_calloc((size_t)arena_count(p), sizeof(*b->arenas), error);
    b->pieces = hr_calloc(samples * steps, sizeof(*b->pieces), error);
    b->redo = hr_calloc(samples, sizeof(*b->redo), error);
    hr_status status = b->arenas && b->pieces && b->redo ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < arena_count(p) && status == HR_STATUS_OK; i++)
        status = hr_arena_create(&b->arenas[i], error);
    if (status != HR_STATUS_OK) {
        batch_destroy(b, arena_count(p));
        return status;
    }
    *out = b;
    return HR_STATUS_OK;
}

hr_status hr__device_batch_take(hr_pipeline *p, hr_iteration *it, hr_device_batch **out,
                                hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    pthread_mutex_lock(&p->lock);
    hr_device_batch *b = it->device;
    if (!b) {
        b = p->device_idle;
        if (b)
            p->device_idle = b->next;
        else
            status = batch_create(p, &b, error);
        if (status == HR_STATUS_OK)
            status = hr_launch_create(&b->launch, p->device, error);
        if (status == HR_STATUS_OK) {
            it->device = b;
        } else if (b) {
            b->next = p->device_idle;
            p->device_idle = b;
        }
    }
    pthread_mutex_unlock(&p->lock);
    *out = b;
    return status;
}

/* Ends the batch's launch and frees its memory. */
static void batch_reset(const hr_pipeline *p, hr_device_batch *b)
{
    hr_launch_destroy(b->launch);
    b->launch = NULL;
    b->again = false;
    memset(b->redo, 0, (size_t)p->options.batch_size * sizeof(*b->redo));
    for (int32_t i = 0; i < arena_count(p); i++)
        hr_arena_reset(b->arenas[i]);
}

void hr__device_batch_give(hr_pipeline *p, hr_iteration *it)
{
    hr_device_batch *b = it->device;
    if (!b)
        return;
    batch_reset(p, b);
    it->device = NULL;
    pthread_mutex_lock(&p->lock);
    b->next = p->device_idle;
    p->device_idle = b;
    pthread_mutex_unlock(&p->lock);
}

void hr__device_batch_drop(hr_pipeline *p, hr_iteration *it)
{
    if (it->device)
        hr_launch_abandon(it->device->launch); /* its chunks may be reused on other streams */
    hr__device_batch_give(p, it);
}

/* ---- launching ---- */

void hr__device_launch(hr_pipeline *p, hr_iteration *it)
{
    hr_error error = {0};
    hr_completion *c = p->completion;
    hr_status status = HR_STATUS_OK;
    if (it->device) /* NULL if every sample was skipped before it was prepared */
        status = hr__device_queue(p, it, &error);
    pthread_mutex_lock(&p->lock);
    if (status != HR_STATUS_OK)
        it->status = hr_fail(&it->error, status, "%s", error.message);
    it->launched = NULL;
    *(c->last ? &c->last->launched : &c->first) = it;
    c->last = it;
    pthread_cond_signal(&c->work);
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

/* Keeps what the device noted while decoding, such as entries for the index of a file. */
static void keep_notes(hr_pipeline *p, hr_device_batch *b)
{
    hr_arena *arena = b->arenas[p->options.num_threads];
    for (int32_t i = 0; i < b->decoding_count; i++) {
        const hr_piece *piece = b->decoding[i];
        hr_arena_mark mark = hr_arena_save(arena);
        if (piece->notes && !b->status[i]) {
            hr__stall_for(p->stall.index_us);
            piece->coded.decoder->keep(&piece->coded, piece->notes, p->cache, arena);
        }
        hr_arena_restore(arena, mark);
    }
}

bool hr__device_keep_entries(hr_pipeline *p)
{
    hr_device_batch *b = p->device_published;
    if (!b)
        return false;
    p->device_published = b->next;
    pthread_mutex_unlock(&p->lock);
    keep_notes(p, b);
    batch_reset(p, b);
    pthread_mutex_lock(&p->lock);
    b->next = p->device_idle;
    p->device_idle = b;
    return true;
}

/* Puts the values of the stage that are pipeline outputs into their batches. */
static hr_status put_outputs(hr_pipeline *p, hr_iteration *it, hr_error *error)
{
    for (int32_t v = 0; v < p->plan->value_count; v++) {
        const hr_plan_value *value = &p->plan->values[v];
        if (value->stage != it->stage || value->output < 0)
            continue;
        for (int32_t i = 0; i < it->size; i++) {
            size_t row = (size_t)p->crossing_of[v] * (size_t)it->size;
            const hr_sample *s = &it->samples[i];
            const hr_tensor *made = &it->crossing[row + (size_t)i];
            bool there = made->buffer; /* NULL if the sample does not take the branch */
            if (s->status == HR_STATUS_OK && !s->skipped && there)
                HR_TRY(hr__gather_put(p, it, value->output, i, 1, made, error));
        }
    }
    return HR_STATUS_OK;
}

/* Waits for the launch. CUDA reports errors of kernels only here, so that any node of the stage may
 * be the cause; the message names the first and the last. */
static hr_status await_end(const hr_pipeline *p, const hr_iteration *it, hr_error *error)
{
    char first[512], last[512];
    const hr_plan_stage *stage = &p->plan->stages[it->stage];
    const hr_plan_step *steps = &p->plan->steps[stage->first], *end = &steps[stage->count - 1];
    const hr_node *from = p->graph->nodes[p->plan->order[steps->first]];
    const hr_node *to = p->graph->nodes[p->plan->order[end->first + end->count - 1]];
    hr_status status = hr_device_module(p->device)->event_wait(hr_device_id(p->device),
                                                               it->device->launch->done, error);
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

static void *completion_main(void *context)
{
    hr_pipeline *p = context;
    hr_completion *c = p->completion;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        hr_iteration *it = c->first;
        if (!it && c->stop)
            break;
        if (!it) {
            int64_t start = hr_clock_ns();
            pthread_cond_wait(&c->work, &p->lock);
            c->idle_ns += hr_clock_ns() - start;
            continue;
        }
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
            pthread_cond_broadcast(&p->work);
        } else {
            hr__stage_end(p, it); /* publishes it if this was its last stage */
        }
        if (noted) {
            noted->next = p->device_published;
            p->device_published = noted;
            pthread_cond_signal(&p->work);
        }
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
    if (!p->completion)
        return HR_STATUS_NO_MEMORY;
    pthread_cond_init(&p->completion->work, NULL);
    int code = pthread_create(&p->completion->thread, NULL, completion_main, p);
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
        const hr_node *node = p->graph->nodes[p->plan->order[k]];
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
        HR_TRY(check_node(p, p->graph->nodes[p->plan->order[k]], error));
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
    pthread_mutex_unlock(&p->lock);
    if (c->started)
        pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->work);
    hr_free(c);
    p->completion = NULL;
}

void hr__device_close(hr_pipeline *p)
{
    for (hr_device_batch *b = p->device_published, *next; b; b = next) {
        next = b->next;
        batch_reset(p, b);
        batch_destroy(b, arena_count(p));
    }
    for (hr_device_batch *b = p->device_idle, *next; b; b = next) {
        next = b->next;
        batch_destroy(b, arena_count(p));
    }
    p->device_published = p->device_idle = NULL;
    hr_device_unref(p->device);
    p->device = NULL;
}
