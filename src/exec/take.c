/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Taking iterations in their order, and going back to the last one that was taken. */
#include <errno.h>
#include <time.h>

#include "exec/iteration.h"
#include "exec/publish.h"
#include "exec/source.h"
#include "exec/stream.h"
#include "exec/take.h"
#include "exec/worker.h"

#define STREAM_SKIPPABLE 50000 /* bad samples in a row */

/* Why nothing could be scheduled. */
static hr_status nothing_in_flight(hr_pipeline *p, hr_error *error)
{
    hr_status status = p->scheduling.broken;
    p->scheduling.broken = HR_STATUS_OK;
    if (status != HR_STATUS_OK)
        return hr_fail(error, status, "%s", p->scheduling.error.message);
    for (int32_t k = 0; k < p->source_count; k++) {
        char text[512];
        if (hr__source_fed(&p->sources[k]) && !p->sources[k].queue_first)
            return hr_fail(error, HR_STATUS_INDEX, "%s has no data: feed it before running",
                           hr_node_text(p->sources[k].node, text, sizeof(text)));
    }
    return hr_fail(error, HR_STATUS_STATE, "nothing is scheduled");
}

/* Lets ordered stages run for the next `count` iterations. They call the user's functions, who
 * relies on prefetch_queue_depth; other stages run for all iterations in flight. Lock held. */
static void schedule_ordered(hr_pipeline *p, int32_t count)
{
    int64_t end = p->taken.iteration + count;
    if (end <= p->flight.ordered_end)
        return;
    p->flight.ordered_end = end;
    hr__wake(p, hr__has_ordered(p));
}

/* ---- going back ---- */

/* Ends an iteration whose results nobody wants, except for tasks that are running and work on a
 * device, which end by themselves. Lock held. */
static void cut_short(hr_pipeline *p, hr_iteration *it)
{
    if (it->done || it->tasks_left == 0 || p->plan->stages[it->stage].kind == HR_STAGE_KIND_DEVICE)
        return;
    it->status = HR_STATUS_STATE;
    it->tasks_left -= it->tasks - it->next_task;
    it->next_task = it->tasks;
    if (it->tasks_left == 0)
        hr__iteration_enter(p, it, p->plan->stage_count);
}

void hr__rewind(hr_pipeline *p)
{
    p->flight.rewinding = true;
    hr__wake(p, p->worker_count); /* iterations behind one that lacked memory have to end, too */
}

bool hr__rewind_end(hr_pipeline *p)
{
    bool busy = p->scheduling.busy;
    for (hr_iteration *it = p->flight.first; it; it = it->next) {
        cut_short(p, it);
        busy = busy || !it->done;
    }
    if (busy)
        return false;
    hr_iteration *dropped = p->flight.first;
    hr_supply *unwanted = NULL;
    for (int32_t k = 0; k < p->source_count; k++)
        hr__source_rewind(p, k, dropped, &unwanted);
    p->flight.first = p->flight.last = NULL;
    p->flight.count = 0;
    p->flight.taken_in_row = 0;
    p->flight.next_iteration = p->taken.iteration;
    p->flight.next_sample = p->taken.sample;
    p->flight.left_out = 0;
    p->flight.rewinding = false;
    pthread_mutex_unlock(&p->lock);
    for (hr_iteration *it = dropped, *next; it; it = next) {
        next = it->next;
        hr__iteration_free(p, it);
    }
    hr__supplies_free(unwanted);
    pthread_mutex_lock(&p->lock);
    return true;
}

/* Whether to run the oldest iteration again, without others that use memory at the same time: it
 * has run out of memory twice. Readers make the same samples as often as one likes. */
static bool rerun_alone(hr_pipeline *p)
{
    if (p->flight.alone || !p->flight.first->next ||
        !hr__iteration_lacks_memory(p, p->flight.first))
        return false;
    for (int32_t k = 0; k < p->source_count; k++)
        if (!hr__source_indexed(&p->sources[k]))
            return false;
    if (hr__has_ordered(p))
        return false;
    p->flight.alone = true;
    return true;
}

/* ---- waiting ---- */

/* What the consumer finds; lock held. HR_STATUS_OK: the oldest iteration is done; HR_STATUS_STATE:
 * there is none; HR_STATUS_TIMEOUT: it has to wait. */
static hr_status look(hr_pipeline *p)
{
    if (p->flight.rewinding && !hr__rewind_end(p))
        return HR_STATUS_TIMEOUT;
    if (!p->flight.first)
        hr__schedule_unlocking(p, HR_SCHEDULER_CONSUMER);
    if (!p->flight.first && !p->scheduling.busy &&
        (p->scheduling.broken != HR_STATUS_OK || !hr__streams_awaited(p)))
        return HR_STATUS_STATE;
    bool done =
        p->flight.first && p->flight.first->done && !hr__iteration_retry(p, p->flight.first);
    if (done && rerun_alone(p)) {
        hr__rewind(p);
        done = false;
    }
    return done ? HR_STATUS_OK : HR_STATUS_TIMEOUT;
}

/* Waits until the oldest iteration is done; lock held. HR_STATUS_TIMEOUT: it is not done yet;
 * HR_STATUS_STATE: there is none. `more`: iterations that the consumer wants after this one. */
static hr_status wait_first(hr_pipeline *p, int64_t start_ns, int32_t timeout_ms, int32_t more)
{
    schedule_ordered(p, p->options.prefetch_queue_depth + more);
    int64_t end_ns = start_ns + (int64_t)HR_MAX(timeout_ms, 0) * 1000000;
    struct timespec until = {end_ns / 1000000000, end_ns % 1000000000};
    for (int code = 0;;) {
        hr_status found = look(p);
        if (found != HR_STATUS_TIMEOUT)
            return found;
        if (code != ETIMEDOUT && (hr__work_here(p) || (p->flight.rewinding && hr__rewind_end(p)))) {
            code = timeout_ms > 0 && hr_clock_ns() >= end_ns ? ETIMEDOUT : 0;
            continue;
        }
        if (code == ETIMEDOUT || timeout_ms == 0)
            return HR_STATUS_TIMEOUT;
        if (p->lookout) /* do not wait until it looks the next time */
            hr__wake(p, 1);
        hr__pool_wait_begin();
        code = timeout_ms > 0 ? pthread_cond_timedwait(&p->ready, &p->lock, &until)
                              : pthread_cond_wait(&p->ready, &p->lock);
        hr__pool_wait_end();
    }
}

/* The consumer has taken what came before this cursor. An iteration that took nothing from a stream
 * has none. */
static void take_cursor(hr_pipeline *p, hr_iteration *it, int32_t source)
{
    if (!it->end.cursor[source])
        return;
    hr_free(p->undelivered.before.cursor[source]);
    p->undelivered.before.cursor[source] = p->taken.cursor[source];
    p->taken.cursor[source] = it->end.cursor[source];
    it->end.cursor[source] = NULL;
}

/* Keeps the state that a checkpoint records until hr_pipeline_delivered; lock held. */
static void keep_before(hr_pipeline *p)
{
    p->undelivered.before.iteration = p->taken.iteration;
    p->undelivered.before.sample = p->taken.sample;
    for (int32_t k = 0; k < p->source_count; k++) {
        p->undelivered.before.position[k] = p->taken.position[k];
        hr_free(p->undelivered.before.cursor[k]);
        p->undelivered.before.cursor[k] = NULL;
    }
    p->undelivered.called = p->flight.first->called;
    p->undelivered.any = true;
}

/* Takes the oldest iteration off the list; lock held. From here on it counts as taken, although
 * making its outputs may still fail: the consumer gets its error, and the next call the next
 * iteration. Iterations before it that were dropped belong to the same batch, so that what a
 * checkpoint records stays before them, and needs no count of positions. */
static hr_iteration *take_first(hr_pipeline *p)
{
    hr_iteration *it = p->flight.first;
    if (p->undelivered.positions == 0)
        keep_before(p);
    p->flight.alone = false;
    p->flight.first = it->next;
    p->flight.last = p->flight.first ? p->flight.last : NULL;
    it->next = NULL;
    p->flight.count--;
    p->flight.taken_in_row = p->flight.count > 0 ? p->flight.taken_in_row + 1 : 0;
    p->taken.iteration = it->end.iteration;
    p->taken.sample = it->end.sample;
    for (int32_t k = 0; k < p->source_count; k++) {
        p->taken.position[k] = it->end.position[k];
        take_cursor(p, it, k);
        if (it->called && it->supplies[k] && !hr__supply_called(it->supplies[k])) {
            p->undelivered.supplies[k] = it->supplies[k]; /* until it is delivered */
            it->supplies[k] = NULL;
        }
    }
    if (!it->called) /* a worker schedules, so that the consumer does not wait for it */
        p->scheduling.due = true;
    return it;
}

/* The most positions in a row that may be skipped before the pipeline gives up: two epochs and a
 * batch. How long the epoch of a stream is, is not known. */
static int64_t skippable(const hr_pipeline *p)
{
    if (p->source_count == 0)
        return p->options.batch_size;
    const hr_source *s = &p->sources[0];
    int64_t epoch = hr__source_indexed(s) ? s->sampler.count : STREAM_SKIPPABLE;
    return HR_MIN(2 * epoch + p->options.batch_size, INT32_MAX / 2 - p->options.batch_size);
}

/* Whether an iteration may be dropped: who feeds a batch expects its outputs, and the processes of
 * a job stay in step. */
static bool may_drop(const hr_pipeline *p)
{
    if (p->job.batch > 0)
        return false;
    for (int32_t k = 0; k < p->source_count; k++)
        if (hr__source_fed(&p->sources[k]))
            return false;
    return true;
}

/* Counts the positions of an iteration. One whose samples were all skipped (`*empty`) is dropped,
 * unless batches are fed, and the next one takes over its positions. Lock held. */
static hr_status count_positions(hr_pipeline *p, hr_iteration *it, bool *empty, hr_error *error)
{
    int32_t positions = p->undelivered.positions + it->positions; /* also those left out */
    int32_t bad = p->undelivered.bad + it->size;
    *empty = it->outputs && it->outputs->samples == 0 && it->size > 0 && may_drop(p);
    bool go_on = *empty && bad <= skippable(p) && positions <= INT32_MAX / 2;
    p->undelivered.positions = go_on ? positions : 0;
    p->undelivered.bad = go_on ? bad : 0;
    if (it->outputs)
        it->outputs->positions = positions;
    if (*empty && !go_on)
        return hr_fail(error, HR_STATUS_ERROR,
                       "on_error=\"skip\": each of the last %d samples was bad", bad);
    return HR_STATUS_OK;
}

/* Lock held; `samples` < 0: no iteration was taken. */
static void note_run(hr_pipeline *p, int64_t start, int64_t end, int32_t samples)
{
    int64_t fed = p->consumer.feeding_ns;
    p->consumer.feeding_ns = 0;
    if (p->consumer.last_run_ns) {
        fed = HR_MIN(fed, start - p->consumer.last_run_ns);
        p->consumer.source_ns += fed;
        p->consumer.busy_ns += start - p->consumer.last_run_ns - fed;
    }
    p->consumer.wait_ns += p->consumer.runs > 0 ? end - start : 0; /* the first wait is start-up */
    p->consumer.last_run_ns = end;
    if (samples >= 0) {
        p->consumer.runs++;
        p->consumer.first_ready_ns = p->consumer.first_ready_ns ? p->consumer.first_ready_ns : end;
        p->consumer.samples += samples;
    }
}

/* Takes the next iteration that is not dropped. The lock is released before freeing an iteration,
 * which may call the hr_release_fn of fed memory, and before waking a worker, which takes the lock.
 */
static hr_status take_next(hr_pipeline *p, int32_t timeout_ms, hr_iteration **out, hr_error *error)
{
    int64_t start = hr_clock_ns();
    hr_status status = HR_STATUS_OK;
    for (bool empty = true; empty && status == HR_STATUS_OK;) {
        hr__iteration_free(p, *out);
        *out = NULL;
        pthread_mutex_lock(&p->lock);
        status = wait_first(p, start, timeout_ms, 0);
        if (status == HR_STATUS_OK)
            status = hr__iteration_short(p, p->flight.first, error);
        if (status == HR_STATUS_OK) {
            *out = take_first(p);
            status = count_positions(p, *out, &empty, error);
        } else if (status == HR_STATUS_STATE) {
            status = nothing_in_flight(p, error);
        } else if (status == HR_STATUS_TIMEOUT) {
            hr_fail(error, status, "the next iteration is not ready yet");
        }
        if (status != HR_STATUS_OK || !empty)
            note_run(p, start, hr_clock_ns(),
                     status == HR_STATUS_OK && (*out)->outputs ? (*out)->outputs->samples : -1);
        bool wake = *out && p->scheduling.due && !p->lookout && hr__can_schedule(p);
        pthread_mutex_unlock(&p->lock);
        if (wake)
            hr__pool_call(&p->user, 1);
    }
    return status;
}

hr_status hr_pipeline_take(hr_pipeline *p, int32_t timeout_ms, hr_outputs **out, bool *taken,
                           hr_error *error)
{
    *taken = false;
    HR_TRY(hr__check_owner(p, error));
    hr_iteration *it = NULL;
    hr_status status = take_next(p, timeout_ms, &it, error);
    *taken = it != NULL;
    if (status == HR_STATUS_OK && !it->outputs)
        status = hr__publish(p, it, error); /* returns what failed */
    if (status == HR_STATUS_OK) {
        *out = it->outputs;
        it->outputs = NULL;
    }
    hr__iteration_free(p, it);
    return status;
}

void hr_pipeline_delivered(hr_pipeline *p)
{
    if (hr__check_owner(p, NULL) != HR_STATUS_OK)
        return;
    hr_supply *done = NULL;
    pthread_mutex_lock(&p->lock);
    p->undelivered.any = false;
    for (int32_t k = 0; p->undelivered.called && k < p->source_count; k++) {
        if (p->undelivered.supplies[k]) {
            p->undelivered.supplies[k]->next = done;
            done = p->undelivered.supplies[k];
        }
        p->undelivered.supplies[k] = NULL;
    }
    pthread_mutex_unlock(&p->lock);
    hr__supplies_free(done);
}

hr_status hr_pipeline_run(hr_pipeline *p, int32_t timeout_ms, hr_outputs **out, hr_error *error)
{
    bool taken;
    hr_status status = hr_pipeline_take(p, timeout_ms, out, &taken, error);
    if (taken)
        hr_pipeline_delivered(p);
    return status;
}

/* Whether a finished iteration has a full batch, and none that was dropped or left out is before
 * it. */
static bool is_full(const hr_pipeline *p, const hr_iteration *it)
{
    return it->outputs && it->outputs->samples == p->options.batch_size &&
           it->positions == it->size && p->undelivered.positions == 0;
}

hr_status hr_pipeline_wait(hr_pipeline *p, int32_t timeout_ms)
{
    HR_TRY(hr__check_owner(p, NULL));
    int64_t start = timeout_ms != 0 ? hr_clock_ns() : 0;
    pthread_mutex_lock(&p->lock);
    hr_status status = wait_first(p, start, timeout_ms, 1);
    if (status == HR_STATUS_OK && !is_full(p, p->flight.first))
        status = HR_STATUS_STATE;
    if (timeout_ms != 0)
        note_run(p, start, hr_clock_ns(), -1);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void hr_pipeline_schedule(hr_pipeline *p, int32_t count)
{
    if (hr__check_owner(p, NULL) != HR_STATUS_OK)
        return;
    pthread_mutex_lock(&p->lock);
    schedule_ordered(p, count);
    pthread_mutex_unlock(&p->lock);
}
