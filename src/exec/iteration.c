/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The life of an iteration: it is scheduled, which fixes its samples, goes through its stages, and
 * becomes batches. */
#include "device/device.h"
#include "exec/device_batch.h"
#include "exec/iteration.h"
#include "exec/publish.h"
#include "exec/left_out.h"
#include "exec/settle.h"
#include "exec/source.h"

#define LARGE_SAMPLE ((size_t)16 << 10) /* bytes */
#define WORKER_NS 100000                /* the least work that is worth waking a worker */
#define PREPARE_NS 20000                /* of a task that prepares samples for a device */
#define CHEAP_NS 60000                  /* work that takes as long as waking a worker for it */
#define DEVICE_DEPTH 3                  /* iterations in flight beyond prefetch_queue_depth ... */
#define DEVICE_MORE 4                   /* ... and still more of them while there is much memory */
#define BRIEF_NS 10000000               /* a task after which the consumer may look for Ctrl-C */

/* Memory for the values that later stages use: several MB where there are many nodes. New pages
 * cost more than the work of a sample on a device, so it is kept for later iterations. */
struct hr_iteration_rows {
    size_t samples; /* there is room for */
};

static hr_status rows_take(hr_pipeline *p, hr_iteration *it, hr_error *error)
{
    hr_iteration_rows *r = NULL;
    size_t size = (size_t)it->size, most = HR_MAX(size, (size_t)p->options.batch_size);
    for (int32_t k = 0; k < HR_ROWS_KEPT && !r; k++) {
        r = atomic_exchange(&p->rows[k], NULL);
        if (r && r->samples < size) {
            hr_free(r);
            r = NULL;
        }
    }
    size_t values = (size_t)p->crossing_count * most;
    if (!r) /* HR_SMALL bytes for the head, and one `small` more than values: padding */
        r = hr_calloc(values + 2, HR_SMALL + sizeof(hr_tensor), error);
    if (!r)
        return HR_STATUS_NO_MEMORY;
    if (r->samples == 0)
        r->samples = most;
    it->rows = r;
    it->small = (char *)r + HR_SMALL;
    it->crossing =
        (hr_tensor *)(void *)(it->small + ((size_t)p->crossing_count * r->samples + 1) * HR_SMALL);
    return HR_STATUS_OK;
}

/* Kept rows hold no buffers. */
static void rows_give(hr_pipeline *p, hr_iteration *it)
{
    hr_iteration_rows *r = it->rows, *none = NULL;
    for (size_t i = 0; r && i < (size_t)p->crossing_count * (size_t)it->size; i++) {
        hr_buffer_unref(it->crossing[i].buffer);
        it->crossing[i].buffer = NULL;
    }
    it->rows = NULL;
    it->crossing = NULL;
    it->small = NULL;
    for (int32_t k = 0; r && k < HR_ROWS_KEPT; k++, none = NULL)
        if (atomic_compare_exchange_strong(&p->rows[k], &none, r))
            return;
    hr_free(r);
}

void hr__rows_free(hr_pipeline *p)
{
    for (int32_t k = 0; k < HR_ROWS_KEPT; k++)
        hr_free(atomic_exchange(&p->rows[k], NULL));
}

/* Frees the working memory. The batches hold their own references to buffers. */
static void free_work(hr_pipeline *p, hr_iteration *it)
{
    size_t size = (size_t)it->size, requests = size * (size_t)p->source_count;
    for (size_t i = 0; it->sample_sources && i < requests; i++)
        hr__source_drop(p, &it->sample_sources[i]);
    for (int32_t i = 0; it->samples && i < it->size; i++) {
        hr__names_free(&it->samples[i]);
        hr_free(it->samples[i].error);
    }
    rows_give(p, it);
    for (int32_t k = 0; it->gathers && k < p->plan->output_count; k++) {
        hr_gather *g = &it->gathers[k];
        for (int32_t i = 0; g->tensors && i < it->size; i++)
            hr_buffer_unref(g->tensors[i].buffer);
        hr_buffer_unref(g->buffer);
        hr_free(g->tensors);
        pthread_mutex_destroy(&g->lock);
    }
    hr__device_batch_drop(p, it);
    hr_free(it->gathers);
    hr_free(it->merged);
    hr_free(it->inferred);
    hr_free(it->samples);
    hr_free(it->sample_sources);
    it->gathers = NULL;
    it->merged = NULL;
    it->inferred = NULL;
    it->samples = NULL;
    it->sample_sources = NULL;
}

static void free_supplies(hr_pipeline *p, hr_iteration *it)
{
    for (int32_t i = 0; it->supplies && i < p->source_count; i++)
        hr__supply_free(it->supplies[i]);
    hr_free(it->supplies);
    it->supplies = NULL;
}

void hr__iteration_free(hr_pipeline *p, hr_iteration *it)
{
    if (!it)
        return;
    free_work(p, it);
    free_supplies(p, it);
    hr_outputs_unref(it->outputs);
    hr__taken_fini(&it->end, p->source_count);
    hr_free(it);
}

static hr_status allocate(hr_pipeline *p, int32_t size, hr_iteration **out, hr_error *error)
{
    size_t n = (size_t)size, sources = (size_t)p->source_count,
           outputs = (size_t)p->plan->output_count;
    hr_iteration *it = hr_calloc(1, sizeof(*it), error);
    if (!it)
        return HR_STATUS_NO_MEMORY;
    it->size = size;
    it->samples = hr_calloc(n + 1, sizeof(*it->samples), error);
    it->sample_sources = hr_calloc(n * sources + 1, sizeof(*it->sample_sources), error);
    it->supplies = hr_calloc(sources + 1, sizeof(*it->supplies), error);
    it->inferred = hr_calloc((size_t)p->plan->inferred_count * n + 1, sizeof(hr_tensor), error);
    it->gathers = hr_calloc(outputs + 1, sizeof(*it->gathers), error);
    it->merged = hr_calloc((size_t)p->graph->count + 1, sizeof(*it->merged), error);
    bool ok = it->merged && it->samples && it->sample_sources && it->supplies && it->inferred &&
              it->gathers && hr__taken_init(&it->end, p->source_count, error) == HR_STATUS_OK &&
              rows_take(p, it, error) == HR_STATUS_OK;
    for (size_t k = 0; it->gathers && k < outputs; k++) {
        pthread_mutex_init(&it->gathers[k].lock, NULL);
        it->gathers[k].tensors = hr_calloc(n + 1, sizeof(hr_tensor), error);
        ok = ok && it->gathers[k].tensors;
    }
    if (!ok) {
        hr__iteration_free(p, it);
        return HR_STATUS_NO_MEMORY;
    }
    *out = it;
    return HR_STATUS_OK;
}

/* Whether the samples that are fed in host memory are large, judging by the first ones. The cost of
 * a call then matters less than the cache, and every sample becomes a task. */
static bool fed_large(const hr_pipeline *p, const hr_iteration *it)
{
    size_t bytes;
    const hr_fed *fed;
    for (int32_t k = 0; k < p->source_count; k++)
        for (int32_t i = 0; (fed = hr__supply_fed(it->supplies[k])) && i < fed->count; i++) {
            const hr_tensor *t = hr_batch_tensor(fed->batch[i], 0);
            bool here = t && hr_batch_device(fed->batch[i]) == HR_DEVICE_HOST;
            if (here && hr_tensor_bytes(t, &bytes) && bytes > LARGE_SAMPLE)
                return true;
        }
    return false;
}

/* Samples per task. What is prepared for a device does not stay in the cache, so that small tasks
 * have no advantage. */
static int32_t group_of(const hr_pipeline *p, const hr_iteration *it, const hr_plan_stage *stage)
{
    if (stage->kind == HR_STAGE_KIND_SAMPLE && !stage->ordered && fed_large(p, it))
        return 1;
    bool whole = stage->kind == HR_STAGE_KIND_BATCH || stage->group <= 0;
    int64_t ns = p->sample_ns[stage - p->plan->stages];
    if (stage->kind == HR_STAGE_KIND_DEVICE && !whole && ns > 0)
        return (int32_t)HR_MIN(HR_MAX(PREPARE_NS / ns, 1), HR_MAX(it->size, 1));
    return whole ? HR_MAX(it->size, 1) : stage->group;
}

bool hr__has_ordered(const hr_pipeline *p)
{
    for (int32_t k = 0; k < p->plan->stage_count; k++)
        if (p->plan->stages[k].ordered)
            return true;
    return false;
}

/* Whether all failures are lack of memory. */
static bool only_memory(const hr_iteration *it)
{
    bool memory = it->status == HR_STATUS_NO_MEMORY;
    if (it->outputs || it->size == 0 || (it->status != HR_STATUS_OK && !memory))
        return false;
    for (int32_t i = 0; i < it->size; i++) {
        memory = memory || it->samples[i].status == HR_STATUS_NO_MEMORY;
        if (it->samples[i].status != HR_STATUS_OK && it->samples[i].status != HR_STATUS_NO_MEMORY)
            return false;
    }
    return memory;
}

/* The stage from which an iteration that failed may be run again: the first one or, after ordered
 * stages, which must not run twice, the one that failed. -1: none. What earlier stages have put on
 * a device is gone. */
static int32_t restart_of(const hr_pipeline *p, const hr_iteration *it)
{
    bool ordered = false, device = false;
    for (int32_t k = 0; k <= it->failed_stage; k++) {
        ordered = ordered || p->plan->stages[k].ordered;
        device = device || p->plan->stages[k].kind == HR_STAGE_KIND_DEVICE;
    }
    bool here = !device && !p->plan->stages[it->failed_stage].ordered;
    return !ordered ? 0 : here ? it->failed_stage : -1;
}

bool hr__iteration_lacks_memory(const hr_pipeline *p, const hr_iteration *it)
{
    return it->done && only_memory(it) && restart_of(p, it) >= 0;
}

void hr__wake(hr_pipeline *p, int32_t workers)
{
    if (workers > 0 && p->lookout) {
        p->lookout = false;
        pthread_cond_signal(&p->work);
        workers--;
    }
    if (workers > 0 && !p->stop) /* afterwards the pipeline leaves the pool */
        hr__pool_call(&p->user, workers);
}

static bool all_fed(const hr_pipeline *p)
{
    for (int32_t k = 0; k < p->source_count; k++)
        if (!hr__source_fed(&p->sources[k]))
            return false;
    return true;
}

/* Whether a thread can bring the iteration to the device in about the time that it takes to wake
 * another. Where nothing is for a device, the lookout need not be woken. */
static bool is_cheap(const hr_pipeline *p, const hr_iteration *it)
{
    int64_t ns = 0;
    for (int32_t k = it->stage; k < p->plan->stage_count && ns <= CHEAP_NS; k++) {
        bool device = p->plan->stages[k].kind == HR_STAGE_KIND_DEVICE;
        bool known = p->sample_ns[k] > 0 && (!device || p->launch_ns[k] > 0);
        if (p->plan->stages[k].ordered || !known)
            return false;
        ns += p->sample_ns[k] * it->size + p->launch_ns[k];
        if (device)
            return ns <= CHEAP_NS;
    }
    return false;
}

bool hr__consumer_works(const hr_pipeline *p, const hr_iteration *it)
{
    if (p->options.run_here || it->cheap)
        return true;
    if (!it->called || it->done || p->plan->stages[it->stage].ordered)
        return false;
    int64_t ns = p->sample_ns[it->stage] * it->group;
    return ns > 0 && ns < BRIEF_NS && all_fed(p);
}

/* Waking a thread takes longer than many a task. Whoever takes part anyway has the first share. */
int32_t hr__workers_wanted(const hr_pipeline *p, const hr_iteration *it)
{
    if (it->done)
        return 0;
    int32_t here = hr__consumer_works(p, it);
    int64_t ns = p->sample_ns[it->stage] * it->size, shares = ns / WORKER_NS + 1;
    return (int32_t)(ns > 0 ? HR_MIN(shares, it->tasks) : it->tasks) - here;
}

void hr__iteration_enter(hr_pipeline *p, hr_iteration *it, int32_t stage)
{
    it->stage = stage;
    it->next_task = 0;
    it->queued = false;
    if (stage >= p->plan->stage_count) {
        it->done = true;
        it->retry_due = !it->retried && hr__iteration_lacks_memory(p, it);
        return;
    }
    it->group = group_of(p, it, &p->plan->stages[stage]);
    it->tasks = it->tasks_left = (it->size + it->group - 1) / it->group;
    if (it->tasks == 0) { /* an empty batch was fed */
        it->done = true;
        pthread_cond_broadcast(&p->ready);
    }
}

bool hr__iteration_retry(hr_pipeline *p, hr_iteration *it)
{
    if (!it->retry_due)
        return false;
    int32_t stage = restart_of(p, it);
    it->retry_due = false;
    it->retried = true;
    it->cheap = false;
    it->status = HR_STATUS_OK;
    for (int32_t i = 0; i < p->graph->count && stage == 0; i++)
        it->merged[i] = 0;
    for (int32_t i = 0; i < it->size; i++) {
        hr_sample *s = &it->samples[i];
        s->status = HR_STATUS_OK;
        for (int32_t k = 0; k < p->source_count && !s->skipped && s->status == HR_STATUS_OK; k++)
            if (stage == 0 && hr__source_indexed(&p->sources[k]))
                s->status = hr__source_again(&p->sources[k], &s->sources[k], NULL);
    }
    it->done = false;
    hr__iteration_enter(p, it, stage);
    hr__wake(p, hr__workers_wanted(p, it));
    return !it->done;
}

static hr_status fill_sources(hr_pipeline *p, hr_error *error)
{
    for (int32_t k = 0; k < p->source_count; k++)
        if (hr__source_indexed(&p->sources[k]))
            HR_TRY(hr__source_fill(p, &p->sources[k], error));
    return HR_STATUS_OK;
}

static void take_samples(hr_pipeline *p, hr_iteration *it)
{
    bool items = p->source_count > 0 && !hr__source_fed(&p->sources[0]);
    for (int32_t i = 0; i < it->size; i++) {
        hr_sample *s = &it->samples[i];
        hr_sample_source *sources = &it->sample_sources[(size_t)i * (size_t)p->source_count];
        s->index = i;
        s->sources = items ? sources : NULL;
        for (int32_t k = 0; k < p->source_count; k++)
            if (!hr__source_fed(&p->sources[k]))
                hr__source_next(&p->sources[k], &sources[k]);
    }
}

static bool is_end(const hr_supply *s)
{
    return s && s->kind == HR_SUPPLY_KIND_END;
}

/* Size of the next iteration: that of the fed batch, or batch_size. 0 with `*ended`: a stream has
 * none, as its epoch is over. -1: a source must be fed first, or a stream has nothing yet. */
static int32_t next_size(const hr_pipeline *p, bool *ended)
{
    int32_t size = p->options.batch_size;
    bool fed = false, lacks = false;
    *ended = false;
    for (int32_t k = 0; k < p->source_count; k++) {
        const hr_source *s = &p->sources[k];
        if (hr__source_indexed(s))
            continue;
        lacks = lacks || !s->queue_first;
        *ended = *ended || is_end(s->queue_first);
        size = fed || !s->queue_first ? size : s->queue_first->size;
        fed = true;
    }
    return *ended ? 0 : lacks ? -1 : size;
}

/* Takes the first supply off the queue of a source. */
static void take_supply(hr_source *s, hr_iteration *it, int32_t source)
{
    hr_supply *supply = it->supplies[source] = s->queue_first;
    it->called = it->called || hr__supply_called(supply);
    s->queue_first = supply->next;
    s->queue_last = s->queue_first ? s->queue_last : NULL;
    s->queue_count--;
    it->end.cursor[source] = supply->cursor;
    supply->cursor = NULL;
    if (hr__source_streams(s))
        pthread_cond_signal(&s->room);
}

static void take_batches(hr_pipeline *p, hr_iteration *it)
{
    for (int32_t k = 0; k < p->source_count; k++) {
        hr_source *s = &p->sources[k];
        if (hr__source_indexed(s))
            continue;
        take_supply(s, it, k);
        if (it->supplies[k]->size != it->size && it->status == HR_STATUS_OK)
            it->status = hr_fail(&it->error, HR_STATUS_ERROR,
                                 "%s: the batches of one iteration differ in size: %d and %d "
                                 "samples",
                                 s->node->def->name, it->size, it->supplies[k]->size);
    }
}

/* Takes the end of an epoch of the first stream that is there. The other sources go on with the
 * next iteration. */
static void take_end(hr_pipeline *p, hr_iteration *it)
{
    char text[512];
    int32_t k = 0;
    while (!is_end(p->sources[k].queue_first))
        k++;
    take_supply(&p->sources[k], it, k);
    const hr_epoch_end *end = (const hr_epoch_end *)it->supplies[k];
    it->status = hr_fail(&it->error, end->status, "%s: %s",
                         hr_node_text(p->sources[k].node, text, sizeof(text)), end->message);
}

/* Everything that can fail comes first, so that a failed call has taken nothing and can be
 * repeated. No lock needed: one thread schedules at a time. */
static hr_status make(hr_pipeline *p, int32_t size, hr_iteration **out, hr_error *error)
{
    HR_TRY(fill_sources(p, error));
    HR_TRY(allocate(p, size, out, error));
    take_samples(p, *out);
    for (int32_t k = 0; k < p->source_count; k++)
        (*out)->end.position[k] = p->sources[k].position;
    return HR_STATUS_OK;
}

/* Goes on behind iterations that are left out. Lock held. */
static void pass_left_out(hr_pipeline *p)
{
    int64_t steps = hr__left_out_from(p, p->flight.next_iteration);
    int64_t samples = steps * p->options.batch_size;
    p->flight.next_iteration += steps;
    p->flight.next_sample += samples;
    p->flight.left_out += steps;
    for (int32_t k = 0; k < p->source_count && steps > 0; k++)
        hr__source_move(&p->sources[k], p->sources[k].position + samples);
}

/* Numbers an iteration and puts it last in the list; lock held. */
static void append(hr_pipeline *p, hr_iteration *it, bool ended, hr_scheduler by)
{
    it->number = p->flight.next_iteration++;
    it->end.iteration = p->flight.next_iteration;
    it->first_sample = p->flight.next_sample;
    p->flight.next_sample += it->size;
    it->end.sample = p->flight.next_sample;
    it->positions = it->size + (int32_t)(p->flight.left_out * p->options.batch_size);
    p->flight.left_out = 0;
    if (ended)
        take_end(p, it);
    else
        take_batches(p, it);
    hr__iteration_enter(p, it, it->status == HR_STATUS_OK ? 0 : p->plan->stage_count);
    *(p->flight.last ? &p->flight.last->next : &p->flight.first) = it;
    p->flight.last = it;
    p->flight.count++;
    it->cheap = by == HR_SCHEDULER_CONSUMER && !it->done && all_fed(p) && is_cheap(p, it);
    if (it->done)
        pthread_cond_broadcast(&p->ready);
    else
        hr__wake(p, hr__workers_wanted(p, it) - (by == HR_SCHEDULER_WORKER));
}

/* Lock held on entry and exit; released while it makes the iteration and asks for its items, which
 * takes as long as the work of several samples. */
static hr_status schedule_one(hr_pipeline *p, int32_t size, bool ended, hr_scheduler by,
                              hr_error *error)
{
    hr_iteration *it;
    pass_left_out(p);
    pthread_mutex_unlock(&p->lock);
    hr_status status = make(p, size, &it, error);
    pthread_mutex_lock(&p->lock);
    HR_TRY(status);
    append(p, it, ended, by);
    pthread_mutex_unlock(&p->lock);
    (void)fill_sources(p, NULL); /* for the next iteration, which reports a failure */
    pthread_mutex_lock(&p->lock);
    return HR_STATUS_OK;
}

int32_t hr__iterations_max(const hr_pipeline *p)
{
    return p->options.prefetch_queue_depth + (p->device ? DEVICE_DEPTH + DEVICE_MORE : 0);
}

/* Whether there is memory for more iterations than the device needs at least. What they take shows
 * once several have passed through the pipeline. */
static bool has_room(const hr_pipeline *p)
{
    size_t limit = p->options.host_memory_limit;
    return p->flight.taken_in_row >= hr__iterations_max(p) && hr_device_has_room(p->device) &&
           (limit == 0 || hr_pool_lent(p->pool) <= limit / 3);
}

/* While the device processes two batches, the next one is copied to it and one more is prepared.
 * More of them hide how long the longest scan of each batch takes, and the time between the steps
 * of an iteration. They are worth memory that nobody else needs. Lock held. */
static bool may_begin(const hr_pipeline *p)
{
    int32_t most = hr__iterations_max(p);
    most = p->flight.alone ? 1 : p->device && !has_room(p) ? most - DEVICE_MORE : most;
    return p->flight.count < most;
}

bool hr__can_schedule(const hr_pipeline *p)
{
    bool ended;
    return may_begin(p) && next_size(p, &ended) >= 0;
}

hr_status hr__schedule_unlocking(hr_pipeline *p, hr_scheduler by)
{
    p->scheduling.due = false;
    if (p->scheduling.busy) /* that thread looks again before it ends */
        return p->scheduling.broken;
    p->scheduling.busy = true;
    while (p->scheduling.broken == HR_STATUS_OK && !p->stop && !p->flight.rewinding &&
           may_begin(p)) {
        bool ended;
        int32_t size = next_size(p, &ended);
        if (size < 0)
            break;
        p->scheduling.broken = schedule_one(p, size, ended, by, &p->scheduling.error);
    }
    p->scheduling.busy = false;
    if (p->scheduling.broken != HR_STATUS_OK || !p->flight.first || p->flight.rewinding)
        pthread_cond_broadcast(&p->ready); /* the consumer may wait for this thread */
    return p->scheduling.broken;
}

hr_status hr__iteration_short(const hr_pipeline *p, hr_iteration *it, hr_error *error)
{
    if (!it->retried || !hr__iteration_lacks_memory(p, it))
        return HR_STATUS_OK;
    it->retried = false;
    it->retry_due = true; /* the next call runs it again */
    return hr__iteration_failure(it, error);
}

bool hr__samples_failed(const hr_iteration *it)
{
    for (int32_t i = 0; i < it->size; i++)
        if (it->samples[i].status != HR_STATUS_OK)
            return true;
    return false;
}

/* Makes the batches. Only what the next call may need is kept besides. */
static void finish(hr_pipeline *p, hr_iteration *it, hr_worker *worker)
{
    hr__outputs_settle(p, it, worker);
    it->status = hr__publish(p, it, &it->error);
    if (it->status != HR_STATUS_OK)
        return;
    free_work(p, it);
    if (!it->called) /* hr__source_rewind wants what else the iteration was fed */
        free_supplies(p, it);
}

void hr__stage_end(hr_pipeline *p, hr_iteration *it, hr_worker *worker)
{
    bool failed = it->status != HR_STATUS_OK || hr__samples_failed(it);
    it->failed_stage = it->stage;
    int32_t next = failed ? p->plan->stage_count : it->stage + 1;
    if (next == p->plan->stage_count) {
        pthread_mutex_unlock(&p->lock);
        if (failed)
            hr__device_batch_drop(p, it);
        else
            finish(p, it, worker);
        pthread_mutex_lock(&p->lock);
    }
    hr__iteration_enter(p, it, next);
    /* A worker goes on with one of the tasks; the next iteration may enter an ordered stage. The
     * consumer's share is not among those that are wanted. */
    bool goes_on = worker && !worker->guest && !it->done && !hr__consumer_works(p, it);
    hr__wake(p, hr__workers_wanted(p, it) - goes_on + (it->next && hr__has_ordered(p)));
    if (it->done)
        pthread_cond_broadcast(&p->ready);
}
