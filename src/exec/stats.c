/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Counters as JSON, and the verdict on what limits a pipeline (docs/statistics.md). */
#include <string.h>

#include "exec/affinity.h"
#include "exec/device_stage.h"
#include "exec/source.h"
#include "graph/value.h"

typedef struct snapshot {
    hr_worker_stats sum; /* over workers */
    hr_readahead_stats io;
    int64_t wall_ns, wait_ns, consumer_ns, source_ns, runs, samples, bad, start_up_ns;
    int64_t idle_ns; /* of all workers: while they had nothing to do */
    int64_t device_ns, device_idle_ns, stream_ns;
    const hr_node *stream; /* the one that took most time */
    hr_cache_stats index;
    hr_coded_stats kept;
    size_t lent, peak;
    bool fed;
    bool buffered; /* a reader reads local files through the page cache */
} snapshot;

static void free_snapshot(snapshot *s)
{
    hr_free(s->sum.node_ns);
    hr_free(s->sum.node_count);
}

/* The time in `next` of streams, which their own threads call. Lock held. */
static void add_streams(const hr_pipeline *p, snapshot *s)
{
    for (int32_t k = 0; k < p->source_count; k++) {
        const hr_source *source = &p->sources[k];
        int32_t at = 0;
        if (!hr__source_streams(source))
            continue;
        while (hr__plan_node(p, at) != source->node)
            at++;
        s->sum.node_ns[at] = source->next_ns;
        s->sum.node_count[at] = source->next_count;
        if (source->next_ns > s->stream_ns) {
            s->stream_ns = source->next_ns;
            s->stream = source->node;
        }
    }
}

static hr_status take_snapshot(hr_pipeline *p, snapshot *s, hr_error *error)
{
    size_t n = (size_t)p->plan->order_count + 1;
    *s = (snapshot){0};
    HR_TRY(hr__check_owner(p, error));
    s->sum.node_ns = hr_calloc(n, sizeof(int64_t), error);
    s->sum.node_count = hr_calloc(n, sizeof(int64_t), error);
    if (!s->sum.node_ns || !s->sum.node_count) {
        free_snapshot(s);
        return HR_STATUS_NO_MEMORY;
    }
    pthread_mutex_lock(&p->lock);
    for (int32_t w = 0; w < p->worker_count; w++) {
        const hr_worker_stats *t = &p->workers[w].stats;
        for (int32_t i = 0; i < p->plan->order_count; i++) {
            s->sum.node_ns[i] += t->node_ns[i];
            s->sum.node_count[i] += t->node_count[i];
        }
        s->sum.busy_ns += t->busy_ns;
        s->sum.read_wait_ns += t->read_wait_ns;
        s->sum.cache_hits += t->cache_hits;
        s->sum.tasks += t->tasks;
    }
    s->wall_ns = hr_clock_ns() - p->start_ns;
    if (!p->options.run_here)
        s->idle_ns = HR_MAX(p->worker_count * s->wall_ns - s->sum.busy_ns, 0);
    s->wait_ns = p->consumer.wait_ns;
    s->consumer_ns = p->consumer.busy_ns;
    s->source_ns = p->consumer.source_ns;
    s->runs = p->consumer.runs;
    s->samples = p->consumer.samples;
    s->bad = p->bad.total;
    s->start_up_ns = p->consumer.first_ready_ns ? p->consumer.first_ready_ns - p->start_ns : 0;
    for (int32_t k = 0; k < p->source_count; k++) {
        const hr_source *source = &p->sources[k];
        s->fed = s->fed || hr__source_fed(source);
        s->buffered = s->buffered || (source->locates &&
                                      !((const hr_sampler_args *)source->node->args)->use_o_direct);
        hr_coded_stats_add(p->sources[k].coded, &s->kept);
    }
    add_streams(p, s);
    if (p->completion) {
        s->device_ns = p->completion->busy_ns;
        s->device_idle_ns = p->completion->idle_ns;
    }
    pthread_mutex_unlock(&p->lock);
    hr_readahead_stats_get(p->readahead, &s->io);
    if (p->cache)
        hr_cache_stats_get(p->cache, &s->index);
    s->lent = hr_pool_lent(p->pool);
    s->peak = hr_pool_peak(p->pool);
    return HR_STATUS_OK;
}

static void append_seconds(hr_text *t, const char *key, int64_t ns)
{
    hr_text_append(t, "\"%s\": %.6f, ", key, (double)ns * 1e-9);
}

static void append_index(hr_text *t, const hr_cache_stats *s)
{
    hr_text_append(t,
                   "\"index_files\": %lld, \"index_bytes\": %lld, \"index_hits\": %lld, "
                   "\"index_misses\": %lld, \"index_made\": %lld, \"index_refused\": %lld, "
                   "\"index_unwritten\": %lld, \"index_ignored\": %lld, ",
                   (long long)s->values, (long long)s->bytes, (long long)s->hits,
                   (long long)s->misses, (long long)s->made, (long long)s->refused,
                   (long long)s->unwritten, (long long)s->ignored);
    hr_text_append(t,
                   "\"transcoded_hits\": %lld, \"transcoded_misses\": %lld, "
                   "\"transcoded_made\": %lld, \"transcoded_unwritten\": %lld, ",
                   (long long)s->file_hits, (long long)s->file_misses, (long long)s->files_made,
                   (long long)s->files_unwritten);
}

hr_status hr_pipeline_stats(hr_pipeline *p, char **json, hr_error *error)
{
    char named[HR_NODE_TEXT_SIZE];
    snapshot s;
    hr_text t = {0};
    HR_TRY(take_snapshot(p, &s, error));
    hr_text_append(
        &t, "{\"iterations\": %lld, \"samples\": %lld, \"bad_samples\": %lld, \"threads\": %d, ",
        (long long)s.runs, (long long)s.samples, (long long)s.bad, p->worker_count);
    append_seconds(&t, "wall_s", s.wall_ns);
    append_seconds(&t, "first_batch_s", s.start_up_ns);
    append_seconds(&t, "consumer_wait_s", s.wait_ns);
    append_seconds(&t, "consumer_busy_s", s.consumer_ns);
    append_seconds(&t, "source_s", s.source_ns);
    append_seconds(&t, "workers_busy_s", s.sum.busy_ns);
    append_seconds(&t, "workers_idle_s", s.idle_ns);
    append_seconds(&t, "workers_read_wait_s", s.sum.read_wait_ns);
    append_seconds(&t, "read_s", s.io.read_ns);
    append_seconds(&t, "device_busy_s", s.device_ns);
    append_seconds(&t, "device_idle_s", s.device_idle_ns);
    hr_text_append(&t,
                   "\"files_read\": %lld, \"bytes_read\": %lld, \"read_ahead_peak_bytes\": %lld, ",
                   (long long)s.io.files, (long long)s.io.bytes, (long long)s.io.peak_bytes);
    hr_text_append(&t,
                   "\"cache_hits\": %lld, \"cache_items\": %lld, \"cache_bytes\": %lld, "
                   "\"cache_limit\": %lld, \"cache_refused\": %lld, ",
                   (long long)s.sum.cache_hits, (long long)s.kept.items, (long long)s.kept.bytes,
                   (long long)s.kept.limit, (long long)s.kept.refused);
    append_index(&t, &s.index);
    hr_text_append(&t, "\"memory_bytes\": %zu, \"memory_peak_bytes\": %zu, \"operators\": [",
                   s.lent, s.peak);
    for (int32_t i = 0; i < p->plan->order_count; i++) {
        const hr_node *node = hr__plan_node(p, i);
        hr_text_append(&t, "%s{\"operator\": ", i ? ", " : "");
        hr_text_append_quoted(&t, node->def->name);
        hr_text_append(&t, ", \"name\": ");
        hr_text_append_quoted(&t, node->name);
        hr_text_append(&t, ", \"samples\": %lld, \"seconds\": %.6f, \"node\": ",
                       (long long)s.sum.node_count[i], (double)s.sum.node_ns[i] * 1e-9);
        hr_text_append_quoted(&t, hr_node_text(node, named, sizeof(named)));
        hr_text_append(&t, "}");
    }
    hr_text_append(&t, "]}");
    free_snapshot(&s);
    return hr_text_take(&t, json, NULL, error);
}

/* The time of workers in a node. */
static int64_t workers_ns(const hr_pipeline *p, const snapshot *s, int32_t i)
{
    return hr_op_is_stream(hr__plan_node(p, i)->def) ? 0 : s->sum.node_ns[i];
}

/* The node that took the most time of workers. */
static int32_t heaviest(const hr_pipeline *p, const snapshot *s)
{
    int32_t best = 0;
    for (int32_t i = 1; i < p->plan->order_count; i++)
        best = workers_ns(p, s, i) > workers_ns(p, s, best) ? i : best;
    return best;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

/* More threads help only where there are CPUs for them. */
static void append_threads_advice(const hr_pipeline *p, hr_text *t)
{
    int32_t cpus = hr__cpu_count();
    if (p->options.num_threads < cpus)
        hr_text_append(t,
                       "more threads (num_threads is %d, %d CPUs can be used) or smaller files "
                       "would help most.\n",
                       p->options.num_threads, cpus);
    else
        hr_text_append(t,
                       "smaller files or more CPUs would help most (num_threads is %d, %d CPU%s "
                       "can be used).\n",
                       p->options.num_threads, cpus, cpus == 1 ? "" : "s");
}

/* The verdict if workers on the CPU limit the pipeline. */
static void append_heaviest(const hr_pipeline *p, const snapshot *s, hr_text *t)
{
    char text[HR_NODE_TEXT_SIZE];
    int32_t top = heaviest(p, s);
    const hr_node *node = hr__plan_node(p, top);
    bool decoder = strncmp(node->def->name, "decoders.", 9) == 0;
    hr_text_append(t, "Verdict: %s. %s takes %.0f %% of the workers' time%s",
                   !decoder                  ? "work on the CPU"
                   : hr_node_on_device(node) ? "preparing files for the GPU"
                                             : "decoding on the CPU",
                   hr_node_text(node, text, sizeof(text)),
                   100 * share(s->sum.node_ns[top], s->sum.busy_ns), decoder ? "; " : ".\n");
    if (decoder)
        append_threads_advice(p, t);
}

static void append_stream(const snapshot *s, hr_text *t)
{
    char text[HR_NODE_TEXT_SIZE];
    hr_text_append(t,
                   "Verdict: the stream. %s has one thread, which is busy or waiting for data "
                   "%.0f %% of the time.\n",
                   hr_node_text(s->stream, text, sizeof(text)),
                   100 * share(s->stream_ns, s->wall_ns));
}

static void append_reading(const snapshot *s, double reading, hr_text *t)
{
    hr_text_append(t,
                   "Verdict: reading. Workers spend %.0f %% of their time waiting for files; "
                   "faster storage, or files closer to this machine, would help most.",
                   100 * reading);
    if (s->kept.limit == 0)
        hr_text_append(t, " If the files fit into memory, cache_size of the reader avoids reading "
                          "them again.");
    else if (s->kept.refused > 0)
        hr_text_append(t, " Not all of them fit into cache_size of the reader.");
    if (s->kept.limit == 0 && s->buffered)
        hr_text_append(t, " If there are several times as many bytes as memory, use_o_direct=True "
                          "makes reading local files cheaper.");
    hr_text_append(t, "\n");
}

/* The order matters: first the consumer (if it is slow, nothing else limits the pipeline), then
 * what the workers wait for, then their work. Python sources run while the consumer waits for
 * `run`. */
static void append_verdict(const hr_pipeline *p, const snapshot *s, hr_text *t)
{
    int64_t total = s->wait_ns + s->source_ns + s->consumer_ns;
    double wait = share(s->wait_ns + s->source_ns, total), source = share(s->source_ns, total);
    double idle = share(s->idle_ns, s->idle_ns + s->sum.busy_ns);
    double reading = share(s->sum.read_wait_ns, s->sum.busy_ns);
    double device = share(s->device_ns, s->device_ns + s->device_idle_ns);
    if (s->runs < 2)
        hr_text_append(t, "Verdict: not enough iterations yet.\n");
    else if (wait < 0.1)
        hr_text_append(t,
                       "Verdict: the consumer. It waits for data %.0f %% of its time; the pipeline "
                       "is not what limits it.\n",
                       100 * wait);
    else if (source > 0.1 && s->source_ns > s->wait_ns)
        hr_text_append(t,
                       "Verdict: the Python source (external_source). %.0f %% of the time passes "
                       "in it; a faster source, or parallel=True, would help most.\n",
                       100 * source);
    else if (device > 0.8)
        hr_text_append(t,
                       "Verdict: the GPU. It has batches to process %.0f %% of the time; the CPU "
                       "keeps up with it.\n",
                       100 * device);
    else if (share(s->stream_ns, s->wall_ns) > 0.8)
        append_stream(s, t);
    else if (reading > 0.4)
        append_reading(s, reading, t);
    else if (idle > 0.5 && s->fed)
        hr_text_append(t,
                       "Verdict: the source (external_source). Workers are idle %.0f %% of their "
                       "time, waiting for data to be fed.\n",
                       100 * idle);
    else if (idle > 0.5)
        hr_text_append(t,
                       "Verdict: too little work in flight. Workers are idle %.0f %% of their time "
                       "although the consumer waits; raise prefetch_queue_depth or batch_size.\n",
                       100 * idle);
    else
        append_heaviest(p, s, t);
}

/* A table of the operators that have run. */
static void append_operators(const hr_pipeline *p, const snapshot *s, hr_text *t)
{
    char named[HR_NODE_TEXT_SIZE];
    int width = (int)strlen("operator");
    for (int32_t i = 0; i < p->plan->order_count; i++)
        if (s->sum.node_count[i] > 0)
            width =
                HR_MAX(width, (int)strlen(hr_node_text(hr__plan_node(p, i), named, sizeof(named))));
    hr_text_append(t, "\n%-*s  us per sample  %% of the workers' time\n", width, "operator");
    for (int32_t i = 0; i < p->plan->order_count; i++) {
        const hr_node *node = hr__plan_node(p, i);
        if (s->sum.node_count[i] > 0)
            hr_text_append(t, "%-*s  %13.1f  %22.1f%s\n", width,
                           hr_node_text(node, named, sizeof(named)),
                           (double)s->sum.node_ns[i] * 1e-3 / (double)s->sum.node_count[i],
                           100 * share(workers_ns(p, s, i), s->sum.busy_ns),
                           hr_op_is_stream(node->def) ? "  in a thread of its own" : "");
    }
}

hr_status hr_pipeline_explain(hr_pipeline *p, char **text, hr_error *error)
{
    snapshot s;
    hr_text t = {0};
    HR_TRY(take_snapshot(p, &s, error));
    append_verdict(p, &s, &t);
    hr_text_append(&t, "%lld iterations, %lld samples, %lld bad; ", (long long)s.runs,
                   (long long)s.samples, (long long)s.bad);
    hr_text_append(
        &t, "the consumer waited %.3f s and was busy %.3f s; Python sources took %.3f s.\n",
        (double)s.wait_ns * 1e-9, (double)s.consumer_ns * 1e-9, (double)s.source_ns * 1e-9);
    hr_text_append(&t, "%d workers: busy %.3f s (waiting for files %.3f s), idle %.3f s.\n",
                   p->worker_count, (double)s.sum.busy_ns * 1e-9, (double)s.sum.read_wait_ns * 1e-9,
                   (double)s.idle_ns * 1e-9);
    if (s.kept.limit > 0)
        hr_text_append(&t,
                       "Items of readers in memory: %lld, %.1f of at most %.1f MB, %lld times used "
                       "instead of reading; %lld reads of items that did not fit.\n",
                       (long long)s.kept.items, (double)s.kept.bytes * 1e-6,
                       (double)s.kept.limit * 1e-6, (long long)s.sum.cache_hits,
                       (long long)s.kept.refused);
    if (p->device)
        hr_text_append(&t, "The GPU: busy %.3f s, idle %.3f s.\n", (double)s.device_ns * 1e-9,
                       (double)s.device_idle_ns * 1e-9);
    append_operators(p, &s, &t);
    free_snapshot(&s);
    return hr_text_take(&t, text, NULL, error);
}
