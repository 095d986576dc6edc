/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Feeding: a batch for all sources or for none of them; calls, which feed and take. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "device/device.h"
#include "exec/iteration.h"
#include "exec/source.h"
#include "exec/take.h"
#include "exec/worker.h"

#define SLICE_MS 100 /* between two questions whether to go on */

int32_t hr_pipeline_feed_room(hr_pipeline *p, int32_t node)
{
    const hr_source *s = hr__check_owner(p, NULL) == HR_STATUS_OK ? hr__source_find(p, node) : NULL;
    if (!s || !hr__source_fed(s))
        return 0;
    pthread_mutex_lock(&p->lock);
    int32_t room = p->options.prefetch_queue_depth - p->flight.count - s->queue_count;
    pthread_mutex_unlock(&p->lock);
    return HR_MAX(room, 0);
}

hr_pool *hr_pipeline_feed_pool(hr_pipeline *p)
{
    return hr_pool_ref(p->feed_pool);
}

static hr_status check_feed(const hr_pipeline *p, const hr_source *s, hr_batch *const *batches,
                            int32_t count, hr_error *error)
{
    char text[512];
    hr_node_text(s->node, text, sizeof(text));
    if (count != s->node->output_count)
        return hr_fail(error, HR_STATUS_ERROR, "%s: fed %d outputs, it has %d", text, count,
                       s->node->output_count);
    for (int32_t i = 0; i < count; i++) {
        int32_t size = hr_batch_size(batches[i]);
        if (size != hr_batch_size(batches[0]))
            return hr_fail(error, HR_STATUS_ERROR,
                           "%s: its outputs differ in batch size: %d and %d", text,
                           hr_batch_size(batches[0]), size);
        if (size > p->options.batch_size)
            return hr_fail(error, HR_STATUS_ERROR,
                           "%s: fed a batch of %d samples; allowed are 0 .. %d (batch_size)", text,
                           size, p->options.batch_size);
        if (size == 0) /* an empty batch has no device and no type */
            continue;
        int32_t device =
            strcmp(s->node->device, "cpu") == 0 ? HR_DEVICE_HOST : hr_device_id(p->device);
        if (hr_batch_device(batches[i]) != device)
            return hr_fail(error, HR_STATUS_ERROR,
                           "%s: fed a batch on device %d, expected %d (-1 is the CPU)", text,
                           hr_batch_device(batches[i]), device);
    }
    /* All samples of a batch have one type: checking the first is enough. */
    hr_tensor sample[HR_OP_MAX_OUTPUTS];
    if (hr_batch_size(batches[0]) > 0 &&
        hr__fed_sample(s, batches, 0, sample, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "%s", text);
    return HR_STATUS_OK;
}

/* What one source is fed; NULL if it cannot take it. */
static hr_supply *fed_make(const hr_pipeline *p, const hr_feeding *feeding, bool called,
                           hr_error *error)
{
    const hr_source *s = hr__source_find(p, feeding->node);
    if (!s || !hr__source_fed(s)) {
        hr_fail(error, HR_STATUS_KEY, "node %d is not a source that can be fed", feeding->node);
        return NULL;
    }
    if (check_feed(p, s, feeding->batches, feeding->count, error) != HR_STATUS_OK)
        return NULL;
    hr_fed *fed = hr_calloc(1, sizeof(*fed), error);
    if (!fed)
        return NULL;
    fed->called = called;
    fed->count = feeding->count;
    fed->supply.size = hr_batch_size(feeding->batches[0]);
    for (int32_t i = 0; i < fed->count; i++)
        fed->batch[i] = hr_batch_ref(feeding->batches[i]);
    return &fed->supply;
}

/* Whether a call gets the results of what it feeds: no source may have other batches before it.
 * Lock held. */
static hr_status check_call(const hr_pipeline *p, const hr_feeding *feedings, int32_t count,
                            hr_error *error)
{
    char text[512];
    bool before = p->flight.count > 0;
    for (int32_t i = 0; i < count; i++) {
        const hr_source *s = hr__source_find(p, feedings[i].node);
        if (before || s->queue_first)
            return hr_fail(error, HR_STATUS_STATE,
                           "%s: a batch that was fed before has not been taken yet: run the "
                           "pipeline without feeding this source first",
                           hr_node_text(s->node, text, sizeof(text)));
    }
    return HR_STATUS_OK;
}

static hr_status feed(hr_pipeline *p, const hr_feeding *feedings, int32_t count, bool called,
                      hr_error *error)
{
    hr_supply *first = NULL, **end = &first;
    hr_status status = HR_STATUS_OK;
    for (int32_t i = 0; i < count; i++) {
        *end = fed_make(p, &feedings[i], called, error);
        if (!*end) {
            hr__supplies_free(first);
            return error ? error->status : HR_STATUS_ERROR;
        }
        end = &(*end)->next;
    }
    pthread_mutex_lock(&p->lock);
    if (called)
        status = check_call(p, feedings, count, error);
    for (int32_t i = 0; i < count && status == HR_STATUS_OK; i++) {
        hr_source *s = hr__source_find(p, feedings[i].node);
        hr_supply *supply = first;
        first = supply->next;
        hr__source_append(s, supply);
    }
    if (status == HR_STATUS_OK) {
        hr__schedule_unlocking(p, HR_SCHEDULER_CONSUMER);
        hr__work_after_feeding(p);
    }
    pthread_mutex_unlock(&p->lock);
    hr__supplies_free(first);
    return status;
}

hr_status hr_pipeline_feed(hr_pipeline *p, int32_t node, hr_batch *const *batches, int32_t count,
                           hr_error *error)
{
    return hr_pipeline_feed_all(p, &(hr_feeding){node, count, batches}, 1, error);
}

hr_status hr_pipeline_feed_all(hr_pipeline *p, const hr_feeding *feedings, int32_t count,
                               hr_error *error)
{
    hr_error room = {0};
    HR_TRY(hr__check_owner(p, error));
    return feed(p, feedings, count, false, error ? error : &room);
}

void hr_pipeline_note_feeding(hr_pipeline *p, int64_t ns)
{
    if (hr__check_owner(p, NULL) != HR_STATUS_OK)
        return;
    pthread_mutex_lock(&p->lock);
    p->consumer.feeding_ns += HR_MAX(ns, 0);
    pthread_mutex_unlock(&p->lock);
}

int32_t hr_pipeline_pending(hr_pipeline *p)
{
    int32_t fed = 0;
    if (hr__check_owner(p, NULL) != HR_STATUS_OK)
        return 0;
    pthread_mutex_lock(&p->lock);
    for (int32_t k = 0; k < p->source_count; k++)
        fed = HR_MAX(fed, hr__source_fed(&p->sources[k]) ? p->sources[k].queue_count : 0);
    int32_t pending = p->flight.count + fed;
    pthread_mutex_unlock(&p->lock);
    return pending;
}

/* ---- calls ---- */

static bool given_up(const hr_call *call)
{
    return call->stop && call->stop(call->context);
}

/* Takes the last call back, because its outputs were not delivered. Lock held. */
static void take_back(hr_pipeline *p)
{
    p->undelivered.any = false;
    p->taken.iteration = p->undelivered.before.iteration;
    p->taken.sample = p->undelivered.before.sample;
    for (int32_t k = 0; k < p->source_count; k++) {
        p->taken.position[k] = p->undelivered.before.position[k];
        if (!p->undelivered.before.cursor[k])
            continue;
        if (p->undelivered.supplies[k])
            p->undelivered.supplies[k]->cursor = p->taken.cursor[k];
        else
            hr_free(p->taken.cursor[k]);
        p->taken.cursor[k] = p->undelivered.before.cursor[k];
        p->undelivered.before.cursor[k] = NULL;
    }
    hr__rewind(p);
}

/* Waits until what an earlier call has left is dropped. */
static hr_status settle(hr_pipeline *p, const hr_call *call, hr_error *error)
{
    if (!call->again)
        hr_pipeline_delivered(p);
    pthread_mutex_lock(&p->lock);
    if (p->undelivered.any && p->undelivered.called)
        take_back(p);
    while (p->flight.rewinding && !hr__rewind_end(p)) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)SLICE_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (hr__work_here(p) || pthread_cond_timedwait(&p->ready, &p->lock, &until) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&p->lock);
        if (given_up(call))
            return hr_fail(error, HR_STATUS_TIMEOUT, "the call was given up");
        pthread_mutex_lock(&p->lock);
    }
    if (call->sample >= 0 && p->flight.count == 0)
        p->flight.next_sample = call->sample;
    pthread_mutex_unlock(&p->lock);
    return HR_STATUS_OK;
}

/* The seed of the random node at `k` of the plan, after those before it. `*drawing` counts the
 * nodes that do not draw as an earlier one. */
static uint64_t reseeded(const hr_pipeline *p, int32_t k, int64_t seed, int32_t *drawing)
{
    int32_t draws = hr__plan_node(p, k)->draws;
    for (int32_t j = 0; j < k; j++) {
        const hr_node *other = hr__plan_node(p, j);
        if (other->draws == draws && (other->def->flags & HR_OP_RANDOM))
            return p->node_seeds[other->index];
    }
    return hr_rng_node_seed(seed, (*drawing)++, -1);
}

hr_status hr_pipeline_reseed(hr_pipeline *p, int64_t seed, hr_error *error)
{
    HR_TRY(hr__check_owner(p, error));
    pthread_mutex_lock(&p->lock);
    while (p->scheduling.busy && p->flight.count == 0)
        pthread_cond_wait(&p->ready, &p->lock);
    hr_status status = p->flight.count == 0
                           ? HR_STATUS_OK
                           : hr_fail(error, HR_STATUS_STATE, "iterations are in flight");
    int32_t drawing = 0;
    for (int32_t k = 0; status == HR_STATUS_OK && k < p->plan->order_count; k++) {
        const hr_node *node = hr__plan_node(p, k);
        if (node->def->flags & HR_OP_RANDOM)
            p->node_seeds[node->index] = reseeded(p, k, seed, &drawing);
    }
    if (status == HR_STATUS_OK) {
        p->seed = seed;
        p->flight.next_sample = 0;
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

hr_status hr_pipeline_call(hr_pipeline *p, const hr_call *call, hr_outputs **out, bool *taken,
                           hr_error *error)
{
    hr_error room = {0};
    error = error ? error : &room;
    *taken = false;
    HR_TRY(hr__check_owner(p, error));
    HR_TRY(settle(p, call, error));
    if (call->seed >= 0)
        HR_TRY(hr_pipeline_reseed(p, call->seed, error));
    HR_TRY(feed(p, call->feedings, call->count, true, error));
    hr_status status;
    do
        status = hr_pipeline_take(p, SLICE_MS, out, taken, error);
    while (status == HR_STATUS_TIMEOUT && !given_up(call));
    if (*taken && (status != HR_STATUS_OK || !call->hold))
        hr_pipeline_delivered(p);
    if (*taken)
        return status;
    pthread_mutex_lock(&p->lock);
    hr__rewind(p);
    (void)hr__rewind_end(p); /* or the next call does */
    pthread_mutex_unlock(&p->lock);
    return status;
}
