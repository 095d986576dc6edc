/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Workers. Each takes the oldest task, whichever iteration it belongs to. */
#include <string.h>

#include "device/device.h"
#include "exec/affinity.h"
#include "exec/device_batch.h"
#include "exec/device_stage.h"
#include "exec/iteration.h"
#include "exec/settle.h"
#include "exec/stage.h"
#include "exec/worker.h"

#define TURN_NS 200000        /* a worker takes tasks for about this time at once ... */
#define TURN_LEAST_NS 50000   /* ... and for at least this time if there are any */
#define LATE_NS (2 * TURN_NS) /* a turn that takes longer is cut short */
#define LOOK_NS 2000000       /* between two looks of the lookout */
#define LOOKS 50              /* looks without a task before it sleeps until it is woken */

/* Whether an iteration may begin its ordered stage: the consumer has asked for it, and all earlier
 * iterations have finished that stage, or a device has their work. */
static bool in_turn(const hr_pipeline *p, const hr_iteration *it)
{
    if (it->number >= p->flight.ordered_end)
        return false;
    for (const hr_iteration *before = p->flight.first; before != it; before = before->next)
        if (!before->done && before->stage <= it->stage &&
            !(before->stage == it->stage && before->queued))
            return false;
    return true;
}

/* The oldest iteration with a task to run; lock held. Iterations after one that ran out of memory
 * get no tasks until that one has been retried, or all of them are to end. */
static hr_iteration *pick(const hr_pipeline *p)
{
    for (hr_iteration *it = p->flight.first; it && (!it->retry_due || p->flight.rewinding);
         it = it->next) {
        if (it->done || it->next_task >= it->tasks)
            continue;
        if (!p->plan->stages[it->stage].ordered || in_turn(p, it))
            return it;
    }
    return NULL;
}

static void run_task(hr_worker *w, hr_iteration *it, int32_t task, hr_device_batch **device)
{
    hr_pipeline *p = w->pipeline;
    const hr_plan_stage *stage = &p->plan->stages[it->stage];
    int32_t first = task * it->group;
    hr_group g = {.pipeline = p,
                  .worker = w,
                  .iteration = it,
                  .first = first,
                  .count = HR_MIN(it->group, it->size - first),
                  .arena = w->arena,
                  .device = *device};
    hr__stall_random(&p->stall, (uint64_t)it->number * 8191 + (uint64_t)task);
    hr__stage_run(&g, stage);
    hr__samples_settle(&g);
    *device = g.device;
    hr__group_release(&g);
    hr_arena_reset(w->arena);
}

/* How many tasks of its stage a worker takes at once: few enough for all workers to end the stage
 * at about the same time. Lock held. */
static int32_t turn_length(const hr_pipeline *p, const hr_iteration *it)
{
    int64_t ns = p->sample_ns[it->stage] * it->group;
    int64_t most = ns > 0 ? TURN_NS / ns : 1, least = ns > 0 ? TURN_LEAST_NS / ns : 1;
    int32_t left = it->tasks - it->next_task, share = left / (2 * p->worker_count);
    return (int32_t)HR_MIN(HR_MAX(HR_MIN(most, HR_MAX(share, least)), 1), left);
}

/* A mean of the latest times. It falls faster than it rises, so that it soon forgets the first
 * time, and one at which the thread was interrupted. */
static void note_mean(int64_t *mean, int64_t now)
{
    *mean = *mean ? *mean + (now - *mean) / (now < *mean ? 4 : 8) : HR_MAX(now, 1);
}

/* Lock held. The last task of a stage ends it, or launches what was prepared for a device. */
static void tasks_done(hr_worker *w, hr_iteration *it, int32_t count)
{
    hr_pipeline *p = w->pipeline;
    it->tasks_left -= count;
    if (it->tasks_left > 0)
        return;
    if (p->plan->stages[it->stage].kind != HR_STAGE_KIND_DEVICE || hr__samples_failed(it)) {
        hr__stage_end(p, it, w);
        return;
    }
    int32_t stage = it->stage;
    it->cheap = false;
    pthread_mutex_unlock(&p->lock);
    int64_t start = hr_clock_ns();
    hr__device_launch(w, it);
    int64_t ns = hr_clock_ns() - start;
    pthread_mutex_lock(&p->lock);
    note_mean(&p->launch_ns[stage], ns);
}

/* Runs tasks from `first` on; returns how many. Those that a worker has taken because they were
 * cheap until now, and that are not, are given back. */
static int32_t run_tasks(hr_worker *w, hr_iteration *it, int32_t first, int32_t count,
                         hr_device_batch *device)
{
    hr_pipeline *p = w->pipeline;
    int64_t late = hr_clock_ns() + LATE_NS;
    for (int32_t n = 0; n < count;) {
        run_task(w, it, first + n++, &device);
        if (n == count || hr_clock_ns() < late)
            continue;
        pthread_mutex_lock(&p->lock);
        bool last = it->next_task == first + count; /* nobody has taken later ones */
        count = last ? n : count;
        it->next_task = last ? first + n : it->next_task;
        pthread_mutex_unlock(&p->lock);
        late = INT64_MAX;
    }
    return count;
}

/* Takes consecutive tasks and runs them. Lock held; released while they run. */
static void take_turn(hr_worker *w, hr_iteration *it)
{
    hr_pipeline *p = w->pipeline;
    int32_t count = turn_length(p, it), first = it->next_task, stage = it->stage;
    hr_device_batch *device = it->device;
    it->next_task += count;
    pthread_mutex_unlock(&p->lock);
    int64_t start = hr_clock_ns();
    count = run_tasks(w, it, first, count, device);
    int64_t ns = hr_clock_ns() - start;
    int32_t samples = HR_MIN(count * it->group, it->size - first * it->group);
    hr__count(&w->stats.busy_ns, ns);
    hr__count(&w->stats.tasks, count);
    pthread_mutex_lock(&p->lock);
    int64_t before = p->sample_ns[stage], now = ns / samples;
    note_mean(&p->sample_ns[stage], now);
    bool late = ns > LATE_NS;
    it->cheap = it->cheap && !late;
    if ((now / 2 > before || late) && it->next_task < it->tasks) /* too few workers were woken */
        hr__wake(p, hr__workers_wanted(p, it));
    tasks_done(w, it, count);
}

/* Waits for work in place, or returns false: the thread should go. Lock held. Waking a thread is
 * the most expensive part of `run` for the training loop (tens of microseconds in a virtual
 * machine). So one idle worker, the lookout, polls for work for a while and need not be woken. This
 * needs prefetched batches that the consumer can take in the meantime, and is not done with a
 * device, which takes less time per batch than the lookout sleeps, nor where other pipelines may
 * need the thread. */
static bool look_out(hr_pipeline *p, int32_t *looks)
{
    if (p->lookout || p->device || p->options.prefetch_queue_depth < 2 || *looks >= LOOKS ||
        !hr__pool_roomy(&p->user))
        return false;
    int64_t end = hr_clock_ns() + LOOK_NS;
    struct timespec until = {end / 1000000000, end % 1000000000};
    p->lookout = true;
    pthread_cond_timedwait(&p->work, &p->lock, &until);
    p->lookout = false;
    ++*looks;
    return true;
}

/* Index entries are stored before other work, because they keep the memory of a device batch. Lock
 * held. */
static bool keep_entries(hr_worker *w)
{
    int64_t start = w->pipeline->device_batches.published ? hr_clock_ns() : 0;
    if (!hr__device_keep_entries(w->pipeline))
        return false;
    hr__count(&w->stats.busy_ns, hr_clock_ns() - start);
    return true;
}

/* NULL: the consumer has the last one. */
static hr_worker *seat(hr_pipeline *p)
{
    hr_worker *w = p->free_worker;
    if (w)
        p->free_worker = w->next;
    return w;
}

static void unseat(hr_pipeline *p, hr_worker *w)
{
    w->next = p->free_worker;
    p->free_worker = w;
}

/* A thread of the pool works for the pipeline as long as there is something to do and no other
 * pipeline waits for a thread. */
static void serve(void *context)
{
    hr_pipeline *p = context;
    int32_t looks = 0; /* as the lookout, since the last task */
    bool pressed = false;
    pthread_mutex_lock(&p->lock);
    hr_worker *w = seat(p);
    while (w && !p->stop && !pressed) {
        if (p->scheduling.due) {
            (void)hr__schedule_unlocking(p, HR_SCHEDULER_WORKER); /* `run` reports a failure */
            continue;
        }
        if (keep_entries(w))
            continue;
        hr_iteration *it = pick(p);
        if (it) {
            looks = 0;
            take_turn(w, it);
            pressed = hr__pool_pressed(&p->user);
        } else if (!look_out(p, &looks)) {
            break;
        }
    }
    if (w)
        unseat(p, w);
    hr__pool_served(&p->user, pressed && !p->stop);
    pthread_mutex_unlock(&p->lock);
}

/* What a worker finds when it looks for work. Lock held. */
static bool work_left(const hr_pipeline *p)
{
    return (p->scheduling.due && hr__can_schedule(p)) || p->device_batches.published || pick(p);
}

/* A turn of the consumer in place of a worker. Lock held; released while it works. */
static void work_as_guest(hr_pipeline *p, hr_worker *w, hr_iteration *it)
{
    w->guest = true;
    if (it)
        take_turn(w, it);
    w->guest = false;
    bool last = !p->free_worker;
    unseat(p, w);
    if (last && work_left(p)) /* a thread that was called meanwhile has found no seat */
        hr__wake(p, 1);
}

bool hr__work_here(hr_pipeline *p)
{
    bool alone = p->options.run_here;
    hr_iteration *it = pick(p);
    hr_worker *w = alone || (it && hr__consumer_works(p, it)) ? seat(p) : NULL;
    if (!w)
        return false;
    const hr_cuda_module_def *cuda = p->device ? hr_device_module(p->device) : NULL;
    void *before = cuda ? cuda->current() : NULL;
    bool kept = keep_entries(w);
    work_as_guest(p, w, kept ? NULL : it);
    bool worked = kept || it || (alone && hr__device_complete(p));
    if (cuda)
        cuda->restore(before); /* the thread is the caller's */
    return worked;
}

void hr__work_after_feeding(hr_pipeline *p)
{
    while (p->flight.last && p->flight.last->cheap && !p->stop && hr__work_here(p)) {
    }
}

static hr_status make_stats(const hr_pipeline *p, hr_worker_stats *s, hr_error *error)
{
    size_t n = (size_t)p->plan->order_count + 1;
    s->node_ns = hr_calloc(n, sizeof(*s->node_ns), error);
    s->node_count = hr_calloc(n, sizeof(*s->node_count), error);
    return s->node_ns && s->node_count ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

/* Pinned threads work for one pipeline only. */
static hr_status make_threads(hr_pipeline *p, hr_error *error)
{
    if (p->options.thread_pool && !p->options.set_affinity) {
        p->threads = hr_thread_pool_ref(p->options.thread_pool);
        return HR_STATUS_OK;
    }
    HR_TRY(hr_thread_pool_create(&p->threads, p->worker_count, error));
    if (!p->options.set_affinity)
        return HR_STATUS_OK;
    int *cpus = hr_calloc((size_t)p->worker_count, sizeof(*cpus), error);
    if (!cpus)
        return HR_STATUS_NO_MEMORY;
    const char *pci = p->device ? hr_device_info(p->device)->pci : NULL;
    hr_status status = hr__affinity_choose(pci, cpus, p->worker_count, error);
    if (status == HR_STATUS_OK)
        status = hr__pool_pin(p->threads, cpus, p->worker_count, error);
    hr_free(cpus);
    return status;
}

hr_status hr__workers_start(hr_pipeline *p, hr_error *error)
{
    p->workers = hr_calloc((size_t)p->options.num_threads, sizeof(*p->workers), error);
    if (!p->workers)
        return HR_STATUS_NO_MEMORY;
    p->worker_count = p->options.num_threads;
    for (int32_t i = p->worker_count - 1; i >= 0; i--) {
        hr_worker *w = &p->workers[i];
        w->pipeline = p;
        w->number = i;
        HR_TRY(make_stats(p, &w->stats, error));
        HR_TRY(hr_arena_create(&w->arena, error));
        w->locals = hr_calloc((size_t)p->graph->count + 1, sizeof(*w->locals), error);
        if (!w->locals)
            return HR_STATUS_NO_MEMORY;
        hr_arena_limit(w->arena, p->pool);
        unseat(p, w);
    }
    if (p->options.run_here)
        return HR_STATUS_OK;
    HR_TRY(make_threads(p, error));
    p->user = (hr_pool_user){.serve = serve, .context = p, .most = p->worker_count};
    HR_TRY(hr__pool_join(p->threads, &p->user, error));
    hr__pool_call(&p->user, p->worker_count);
    return HR_STATUS_OK;
}

void hr__workers_stop(hr_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}

static void free_locals(const hr_pipeline *p, hr_worker *w)
{
    for (int32_t k = 0; w->locals && k < p->graph->count; k++)
        if (w->locals[k])
            p->graph->nodes[k]->def->local_destroy(w->locals[k]);
    hr_free(w->locals);
}

void hr__workers_join(hr_pipeline *p)
{
    hr__pool_leave(&p->user);
    pthread_mutex_lock(&p->lock); /* the last thread that served may still be releasing it */
    pthread_mutex_unlock(&p->lock);
    hr_thread_pool_unref(p->threads);
    for (int32_t i = 0; i < p->worker_count; i++) {
        hr_worker *w = &p->workers[i];
        free_locals(p, w);
        hr_arena_destroy(w->arena);
        hr_free(w->stats.node_ns);
        hr_free(w->stats.node_count);
    }
    hr_free(p->workers);
    p->workers = NULL;
    p->threads = NULL;
    p->free_worker = NULL;
    p->worker_count = 0;
}
