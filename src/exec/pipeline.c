/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Creating a pipeline, and closing it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/block.h"
#include "device/device.h"
#include "exec/affinity.h"
#include "exec/bad.h"
#include "exec/checkpoint.h"
#include "exec/device_stage.h"
#include "exec/iteration.h"
#include "exec/job.h"
#include "exec/source.h"
#include "exec/stream.h"
#include "exec/trace.h"
#include "exec/worker.h"
#include "io/storage.h"
#include "kernels/kernels.h"

#define READ_AHEAD_THREADS 4
#define READ_AHEAD_LIMIT ((size_t)64 << 20)
#define INDEX_MEMORY_LIMIT ((size_t)4000000000)
#define MAX_IMAGE_PIXELS ((int64_t)1 << 28)

void hr_pipeline_options_init(hr_pipeline_options *options)
{
    *options = (hr_pipeline_options){
        .struct_size = sizeof(*options),
        .batch_size = 1,
        .num_threads = 1,
        .prefetch_queue_depth = 2,
        .seed = -1,
        .fuse = true,
        .index_memory_limit = -1,
        .device_id = HR_DEVICE_HOST,
    };
}

static hr_status check_options(hr_pipeline_options *o, hr_error *error)
{
    if (o->num_threads < 1 || o->num_threads > HR_THREADS_MAX)
        return hr_fail(error, HR_STATUS_VALUE, "num_threads is %d; allowed are 1 .. %d",
                       o->num_threads, HR_THREADS_MAX);
    if (o->prefetch_queue_depth < 1 || o->prefetch_queue_depth > 4096)
        return hr_fail(error, HR_STATUS_VALUE, "prefetch_queue_depth is %d; allowed are 1 .. 4096",
                       o->prefetch_queue_depth);
    if (o->max_image_pixels < 0)
        return hr_fail(error, HR_STATUS_VALUE, "max_image_pixels is %lld; it must be at least 0",
                       (long long)o->max_image_pixels);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
    o->host_memory_limit = o->host_memory_limit ? o->host_memory_limit : memory / 4 * 3;
    if (o->index_memory_limit < 0)
        o->index_memory_limit = (int64_t)HR_MIN(INDEX_MEMORY_LIMIT, memory / 50);
    o->read_ahead_limit = o->read_ahead_limit ? o->read_ahead_limit : READ_AHEAD_LIMIT;
    o->read_ahead_limit = HR_MIN(o->read_ahead_limit, o->host_memory_limit / 4); /* caches: half */
    o->max_image_pixels = o->max_image_pixels ? o->max_image_pixels : MAX_IMAGE_PIXELS;
    return HR_STATUS_OK;
}

/* The environment's folder is only offered: if it cannot be used, indices are in memory. */
static hr_status make_cache(hr_pipeline *p, hr_error *error)
{
    size_t limit = (size_t)p->options.index_memory_limit;
    const char *folder = p->options.index_cache, *offered = getenv("HEADRACE_INDEX_CACHE");
    if (limit == 0)
        return HR_STATUS_OK;
    if (!folder && offered && offered[0] &&
        hr_cache_create(&p->cache, limit, offered, NULL) == HR_STATUS_OK)
        return HR_STATUS_OK;
    return hr_cache_create(&p->cache, limit, folder, error);
}

static hr_status make_states(hr_pipeline *p, hr_error *error)
{
    size_t n = (size_t)p->graph->count + 1;
    p->states = hr_calloc(n, sizeof(*p->states), error);
    p->node_seeds = hr_calloc(n, sizeof(*p->node_seeds), error);
    p->sample_ns = hr_calloc((size_t)p->plan->stage_count + 1, sizeof(*p->sample_ns), error);
    p->launch_ns = hr_calloc((size_t)p->plan->stage_count + 1, sizeof(*p->launch_ns), error);
    HR_TRY_ALLOC(p->states && p->node_seeds && p->sample_ns && p->launch_ns);
    for (int32_t k = 0; k < p->plan->order_count; k++) {
        const hr_node *node = hr__plan_node(p, k);
        char text[512];
        p->node_seeds[node->index] = hr_rng_node_seed(p->seed, node->draws, node->seed);
        if (!node->def->create)
            continue;
        hr_status status = node->def->create(node->args, &p->states[node->index], error);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "%s", hr_node_text(node, text, sizeof(text)));
    }
    return HR_STATUS_OK;
}

static hr_status make_sources(hr_pipeline *p, hr_error *error)
{
    size_t n = (size_t)p->plan->source_count + 1, values = (size_t)p->plan->value_count + 1;
    p->sources = hr_calloc(n, sizeof(*p->sources), error);
    HR_TRY(hr__taken_init(&p->taken, p->plan->source_count, error));
    HR_TRY(hr__taken_init(&p->undelivered.before, p->plan->source_count, error));
    p->undelivered.supplies = hr_calloc(n, sizeof(*p->undelivered.supplies), error);
    p->crossing_of = hr_calloc(values, sizeof(*p->crossing_of), error);
    HR_TRY_ALLOC(p->sources && p->undelivered.supplies && p->crossing_of);
    for (int32_t v = 0; v < p->plan->value_count; v++)
        p->crossing_of[v] = p->plan->values[v].crosses ? p->crossing_count++ : -1;
    for (; p->source_count < p->plan->source_count; p->source_count++)
        HR_TRY(hr__source_init(p, &p->sources[p->source_count],
                               p->graph->nodes[p->plan->sources[p->source_count]], error));
    return HR_STATUS_OK;
}

/* The kernels treat an unknown level as the best one, which would hide a typing error. */
static hr_status check_level(hr_error *error)
{
    const char *level = getenv("HEADRACE_CPU_LEVEL");
    if (!level || !level[0] || !strcmp(level, "base") || !strcmp(level, "v3") ||
        !strcmp(level, "v4"))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_VALUE,
                   "HEADRACE_CPU_LEVEL is '%.200s'; allowed are base, v3, v4", level);
}

/* Whether any source reads: one that is fed does not. */
static bool has_readers(const hr_pipeline *p)
{
    for (int32_t k = 0; k < p->plan->source_count; k++)
        if (p->graph->nodes[p->plan->sources[k]]->def->source->kind != HR_SOURCE_KIND_FED)
            return true;
    return false;
}

static hr_status build(hr_pipeline *p, const hr_graph *graph, hr_error *error)
{
    HR_TRY(check_level(error));
    HR_TRY(check_options(&p->options, error));
    p->options.num_threads = p->options.run_here ? 1 : p->options.num_threads;
    HR_TRY(hr__quarantine_open(p, p->options.quarantine, error));
    HR_TRY(hr_graph_copy(&p->graph, graph, error));
    HR_TRY(hr__graph_own_outputs(p->graph, error));
    for (int32_t i = 0; i < p->graph->count; i++)
        HR_TRY(hr_args_check_excludes(p->graph->nodes[i], error));
    HR_TRY(hr_plan_make(&p->plan, p->graph, p->options.fuse, error));
    HR_TRY(hr__stall_parse(&p->stall, getenv("HEADRACE_STALL"), error));
    HR_TRY(hr__checkpoint_open(p, error));
    HR_TRY(hr__job_open(p, error));
    p->fingerprint = hr__graph_fingerprint(p->graph);
    p->kernels = hr_kernels_get((hr_cpu_level)p->options.cpu_level);
    HR_TRY(hr_pool_create(&p->pool, p->options.host_memory_limit, error));
    HR_TRY(hr_pool_create(&p->feed_pool, 0, error));
    HR_TRY(make_cache(p, error));
    HR_TRY(hr__device_open(p, error));
    hr_pool *const pools[] = {p->pool, p->feed_pool};
    for (int32_t k = 0; k < 2; k++) {
        if (p->device) /* it reads files directly from these buffers */
            hr_device_pin(pools[k], hr_device_id(p->device), HR_BLOCK_PAGE);
        else if (p->options.device_id >= 0) /* the caller will copy outputs to it */
            hr_device_pin(pools[k], p->options.device_id, HR_BLOCK_HUGE);
    }
    HR_TRY(make_states(p, error));
    int32_t spare = HR_MIN(HR_MAX(hr__cpu_count() - p->options.num_threads, 0), READ_AHEAD_THREADS);
    HR_TRY(hr_readahead_create(&p->readahead, p->pool, p->options.read_ahead_limit,
                               has_readers(p) ? READ_AHEAD_THREADS : 0, spare, p->stall.read_us,
                               error));
    if (p->device)
        hr_readahead_keys(p->readahead, hr_cache_keys(p->cache));
    HR_TRY(make_sources(p, error));
    HR_TRY(hr__checkpoint_restore(p, error));
    const char *trace = p->options.trace ? p->options.trace : getenv("HEADRACE_TRACE");
    if (trace && trace[0])
        HR_TRY(hr__trace_create(&p->trace, trace, p->options.num_threads, p->source_count, error));
    p->start_ns = hr_clock_ns();
    pthread_mutex_lock(&p->lock);
    hr_status scheduled = hr__schedule_unlocking(p, HR_SCHEDULER_OTHER);
    pthread_mutex_unlock(&p->lock);
    if (scheduled != HR_STATUS_OK)
        return hr_fail(error, scheduled, "%s", p->scheduling.error.message);
    HR_TRY(hr__workers_start(p, error));
    return hr__streams_start(p, error);
}

hr_status hr_pipeline_create(hr_pipeline **out, const hr_graph *graph,
                             const hr_pipeline_options *options, hr_error *error)
{
    if (options->struct_size != sizeof(*options)) /* the caller was built with another version */
        return hr_fail(error, HR_STATUS_VALUE, "options: struct_size is %zu, expected %zu",
                       options->struct_size, sizeof(*options));
    hr_pipeline *p = hr_calloc(1, sizeof(*p), error);
    HR_TRY_ALLOC(p);
    pthread_condattr_t clock;
    p->options = *options;
    p->pid = getpid();
    p->bad.quarantine = -1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->bad.quarantine_lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->work, &clock);
    pthread_cond_init(&p->ready, &clock);
    pthread_condattr_destroy(&clock);
    hr_interrupt_by(options->interrupt);
    hr_status status = build(p, graph, error);
    hr_interrupt_by(NULL);
    if (status != HR_STATUS_OK) {
        hr_pipeline_destroy(p);
        return status;
    }
    p->options.checkpoint = NULL; /* borrowed from the caller, not valid after this call */
    p->options.trace = p->options.quarantine = p->options.index_cache = NULL;
    p->options.interrupt = NULL;
    p->options.thread_pool = NULL; /* `threads` has it */
    *out = p;
    return HR_STATUS_OK;
}

static void free_plan(hr_pipeline *p)
{
    for (int32_t k = 0; p->states && k < p->plan->order_count; k++) {
        const hr_node *node = hr__plan_node(p, k);
        if (p->states[node->index] && node->def->destroy)
            node->def->destroy(p->states[node->index]);
    }
    hr_plan_destroy(p->plan);
    hr_graph_destroy(p->graph);
    hr_free(p->states);
    hr_free(p->node_seeds);
    hr_free(p->sample_ns);
    hr_free(p->launch_ns);
}

hr_status hr_pipeline_close(hr_pipeline *p, hr_error *error)
{
    if (!p || p->pid != getpid())
        return HR_STATUS_OK;
    /* Before cancelling reads: otherwise tasks that wait for a file would fail and let later
     * iterations enter ordered stages. */
    hr__workers_stop(p);
    if (p->readahead)
        hr_readahead_cancel(p->readahead);
    hr__streams_stop(p);
    hr__workers_join(p);
    hr__device_stop(p);
    hr_status status = hr__trace_destroy(p->trace, error);
    for (hr_iteration *it = p->flight.first, *next; it; it = next) {
        next = it->next;
        hr__iteration_free(p, it);
    }
    hr__rows_free(p);
    for (int32_t k = 0; k < p->source_count; k++) {
        hr__supply_free(p->undelivered.supplies[k]);
        hr__source_fini(p, &p->sources[k]);
    }
    hr__taken_fini(&p->taken, p->source_count);
    hr__taken_fini(&p->undelivered.before, p->source_count);
    if (p->sources && p->plan && p->source_count < p->plan->source_count)
        hr__source_fini(p, &p->sources[p->source_count]); /* the one that failed to start */
    hr_readahead_destroy(p->readahead);
    if (p->plan)
        free_plan(p);
    else
        hr_graph_destroy(p->graph);
    hr_json_destroy(p->resume);
    hr__bad_fini(p);
    hr_cache_destroy(p->cache);
    hr__device_close(p);
    hr_pool_unref(p->pool);
    hr_pool_unref(p->feed_pool);
    hr_free(p->sources);
    hr_free(p->left_out);
    hr_free(p->undelivered.supplies);
    hr_free(p->crossing_of);
    pthread_cond_destroy(&p->ready);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->bad.quarantine_lock);
    pthread_mutex_destroy(&p->lock);
    hr_free(p);
    return status;
}

void hr_pipeline_destroy(hr_pipeline *p)
{
    (void)hr_pipeline_close(p, NULL);
}

void hr_pipeline_set_device_allocator(hr_pipeline *p, const hr_device_allocator *allocator)
{
    if (p->device)
        hr_device_set_allocator(p->device, allocator);
}
