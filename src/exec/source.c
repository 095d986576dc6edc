/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Sources: readers with their read-ahead, and other sources with their queues. */
#include <string.h>

#include "exec/job.h"
#include "exec/source.h"

#define NAME_SIZE HR_SHOWN_SIZE /* for the name of an item */
#define AHEAD_FIRST 16
#define AHEAD_MOST 128
#define AHEAD_GROUPS (1 << 16) /* of items in groups: two groups, and the window of the shuffle */

/* How many samples beyond the iterations in flight have read requests, at most: enough for storage
 * that serves many of them at once, even if batches are small. The read-ahead bounds the bytes. */
static int32_t ahead_most(const hr_source *s)
{
    int64_t most = HR_MAX(s->pipeline->options.batch_size, AHEAD_MOST);
    if (s->node->def->flags & HR_OP_GROUPS) {
        const hr_sampler_args *args = s->node->args;
        int32_t groups;
        s->def->files(s->state, &groups);
        int64_t ahead = HR_MAX(2 * (s->selection.items / HR_MAX(groups, 1)),
                               args->random_shuffle ? args->initial_fill : 0);
        most = HR_MAX(most, HR_MIN(ahead, AHEAD_GROUPS));
        /* the other processes of a job have the items between those of this one */
        most = HR_MAX(most / HR_MAX(s->sampler.cut.ranks, 1), s->pipeline->options.batch_size);
    }
    return (int32_t)most;
}

/* About as many as the consumer has taken so far: the first batches do not wait for the bytes of
 * many later ones. Groups are read as a whole. */
static int32_t ahead_now(const hr_pipeline *p, const hr_source *s)
{
    if (s->node->def->flags & HR_OP_GROUPS)
        return s->ahead_capacity;
    int64_t batch = p->options.batch_size;
    int64_t taken = s->scheduled - batch * p->options.prefetch_queue_depth;
    int64_t least = HR_MAX(batch, AHEAD_FIRST);
    return (int32_t)HR_MIN(HR_MAX(least, taken), s->ahead_capacity);
}

/* Lets random_shuffle move groups of items, if there are any, and all of them are in their order.
 */
static hr_status make_groups(hr_source *s, hr_error *error)
{
    int32_t groups;
    if (!(s->node->def->flags & HR_OP_GROUPS) || s->mean_bytes == INT64_MAX ||
        hr_selection_repeats(&s->selection))
        return HR_STATUS_OK;
    const int64_t *first = s->def->files(s->state, &groups);
    return hr_file_order_create(&s->sampler.groups, first, groups, error);
}

/* How many bytes a reader may keep: all readers together take at most half of host_memory_limit,
 * since outputs need memory, too. */
static size_t cache_limit(const hr_pipeline *p, const hr_sampler_args *args)
{
    size_t readers = 0;
    for (int32_t k = 0; k < p->plan->source_count; k++) {
        const hr_node *node = p->graph->nodes[p->plan->sources[k]];
        readers +=
            hr_op_is_reader(node->def) && ((const hr_sampler_args *)node->args)->cache_size > 0;
    }
    return HR_MIN((size_t)args->cache_size, p->options.host_memory_limit / 2 / HR_MAX(readers, 1));
}

/* Prepares for keeping items in memory, if the user asked for it. */
static hr_status make_cache(hr_pipeline *p, hr_source *s, hr_error *error)
{
    const hr_sampler_args *args = s->node->args;
    if (args->cache_size <= 0 || !s->locates)
        return HR_STATUS_OK;
    for (int32_t i = 0; i < p->graph->count; i++)
        s->copies = s->copies || (p->graph->nodes[i]->def->flags & HR_OP_FUNCTION);
    return hr_coded_create(&s->coded, s->selection.items, cache_limit(p, args), error);
}

hr_status hr__source_init(hr_pipeline *p, hr_source *s, const hr_node *node, hr_error *error)
{
    *s = (hr_source){
        .pipeline = p, .node = node, .def = node->def->source, .state = p->states[node->index]};
    if (!hr__source_indexed(s))
        return HR_STATUS_OK;
    char text[512];
    hr_sampler_args args = hr__job_args(p, node->args);
    uint64_t seed = p->node_seeds[node->index];
    int32_t shards = p->job.batch > 0 ? 1 : args.num_shards;
    s->locates = s->def->locate && (!s->def->locates || s->def->locates(node->args, &node->given));
    s->mean_bytes = s->def->mean_bytes ? s->def->mean_bytes(s->state) : INT64_MAX;
    hr_status status = hr_selection_init(&s->selection, &args, s->def, s->state, seed, error);
    int64_t count = s->selection.count;
    if (status == HR_STATUS_OK)
        status = hr_sampler_init(&s->sampler, &args, count,
                                 hr_sampler_chunk(shards, count, s->mean_bytes),
                                 p->options.batch_size, seed, error);
    s->sampler.selection = &s->selection;
    if (status == HR_STATUS_OK)
        status = make_groups(s, error);
    if (status != HR_STATUS_OK)
        return hr_error_prefix(error, "%s", hr_node_text(node, text, sizeof(text)));
    s->ahead_capacity = ahead_most(s);
    s->ahead = hr_calloc((size_t)s->ahead_capacity, sizeof(*s->ahead), error);
    return s->ahead ? make_cache(p, s, error) : HR_STATUS_NO_MEMORY;
}

hr_source *hr__source_find(const hr_pipeline *p, int32_t node)
{
    for (int32_t k = 0; k < p->source_count; k++)
        if (p->sources[k].node->index == node)
            return &p->sources[k];
    return NULL;
}

/* Drops the samples of a stream. */
static void samples_drop(hr_streamed_batch *b)
{
    for (int32_t i = 0; i < b->supply.size; i++)
        for (int32_t k = 0; b->samples[i].out && k < b->stream->node->output_count; k++)
            hr_buffer_unref(b->samples[i].out[k].buffer);
    b->supply.size = 0;
    b->samples = NULL;
    hr_arena_reset(b->arena);
}

void hr__supply_free(hr_supply *supply)
{
    hr_fed *fed = hr__supply_fed(supply);
    if (!supply)
        return;
    hr_free(supply->cursor);
    supply->cursor = NULL;
    for (int32_t i = 0; fed && i < fed->count; i++)
        hr_batch_unref(fed->batch[i]);
    if (supply->kind != HR_SUPPLY_KIND_STREAMED) {
        hr_free(supply);
        return;
    }
    hr_streamed_batch *b = (hr_streamed_batch *)supply;
    hr_source *s = b->stream;
    samples_drop(b);
    pthread_mutex_lock(&s->pipeline->lock);
    supply->next = s->idle ? &s->idle->supply : NULL;
    s->idle = b;
    pthread_cond_signal(&s->room);
    pthread_mutex_unlock(&s->pipeline->lock);
}

void hr__supplies_free(hr_supply *first)
{
    for (hr_supply *next; first; first = next) {
        next = first->next;
        hr__supply_free(first);
    }
}

void hr__source_fini(hr_pipeline *p, hr_source *s)
{
    for (int32_t i = 0; i < s->ahead_count; i++)
        hr_readahead_drop(p->readahead, s->ahead[(s->ahead_first + i) % s->ahead_capacity]);
    hr__supplies_free(s->queue_first);
    for (hr_streamed_batch *b = s->idle, *next; b; b = next) {
        next = (hr_streamed_batch *)b->supply.next;
        hr_arena_destroy(b->arena);
        hr_free(b);
    }
    if (s->started)
        pthread_cond_destroy(&s->room);
    hr_free(s->ahead);
    hr_coded_destroy(s->coded);
    hr_free(s->past);
    hr_sampler_fini(&s->sampler);
    hr_selection_fini(&s->selection);
    *s = (hr_source){0};
}

static hr_status request(const hr_source *s, int64_t index, hr_read **out, hr_error *error)
{
    hr_span spans[HR_SOURCE_MAX_SPANS];
    int32_t count = 0;
    *out = NULL;
    HR_TRY(s->def->locate(s->state, index, spans, &count, error));
    if (count == 0)
        return HR_STATUS_OK;
    const hr_sampler_args *args = s->node->args;
    return hr_readahead_ask(spans, count, args->use_o_direct, out, error);
}

/* Requests the bytes of an item. `*out` is NULL if no request is needed: the bytes are in memory,
 * or the source reads the item by itself. */
static hr_status ask(const hr_source *s, int64_t index, hr_read **out, hr_error *error)
{
    *out = NULL;
    if (!s->locates || (s->coded && hr_coded_get(s->coded, index)))
        return HR_STATUS_OK;
    return request(s, index, out, error);
}

hr_status hr__source_fill(hr_pipeline *p, hr_source *s, hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    int32_t before = s->ahead_count, end = s->ahead_first + before, wanted = ahead_now(p, s);
    while (s->ahead_count < wanted && status == HR_STATUS_OK) {
        int64_t index = hr_sampler_at(&s->sampler, s->position + s->ahead_count).index;
        int32_t slot = (s->ahead_first + s->ahead_count) % s->ahead_capacity;
        status = ask(s, index, &s->ahead[slot], error);
        s->ahead_count += status == HR_STATUS_OK;
    }
    int32_t fresh = s->ahead_count - before, first = end % s->ahead_capacity;
    int32_t straight = HR_MIN(fresh, s->ahead_capacity - first); /* up to the end of the ring */
    if (fresh > 0)
        hr_readahead_queue(p->readahead, s->ahead + first, straight);
    if (fresh > straight)
        hr_readahead_queue(p->readahead, s->ahead, fresh - straight);
    return status;
}

void hr__source_next(hr_source *s, hr_sample_source *out)
{
    if (hr__source_streams(s)) {
        *out = (hr_sample_source){.item.index = s->position, .position = s->position};
        s->position++;
        return;
    }
    *out = (hr_sample_source){.item = hr_sampler_at(&s->sampler, s->position),
                              .position = s->position,
                              .read = s->ahead[s->ahead_first]};
    s->ahead_first = (s->ahead_first + 1) % s->ahead_capacity;
    s->ahead_count--;
    s->position++;
    s->scheduled++;
}

void hr__source_drop(hr_pipeline *p, hr_sample_source *ss)
{
    hr_readahead_drop(p->readahead, ss->read);
    hr_free(ss->name);
    ss->read = NULL;
    ss->name = NULL;
}

void hr__source_append(hr_source *s, hr_supply *supply)
{
    supply->next = NULL;
    *(s->queue_last ? &s->queue_last->next : &s->queue_first) = supply;
    s->queue_last = supply;
    s->queue_count++;
}

/* Puts what iterations had back to the front of the queue, except what a call fed (feed.c). */
static void refill(hr_source *s, int32_t source, hr_iteration *dropped, hr_supply **unwanted)
{
    hr_supply *queue = s->queue_first, *before = s->pipeline->undelivered.supplies[source];
    s->queue_first = s->queue_last = NULL;
    s->queue_count = 0;
    s->pipeline->undelivered.supplies[source] = NULL;
    if (before)
        hr__source_append(s, before);
    for (hr_iteration *it = dropped; it; it = it->next) {
        hr_supply *supply = it->supplies ? it->supplies[source] : NULL;
        if (!supply || hr__supply_called(supply))
            continue; /* freed with the iteration */
        it->supplies[source] = NULL;
        supply->cursor = it->end.cursor[source];
        it->end.cursor[source] = NULL;
        hr__source_append(s, supply);
    }
    for (hr_supply *supply = queue, *next; supply; supply = next) {
        next = supply->next;
        if (!hr__supply_called(supply)) {
            hr__source_append(s, supply);
            continue;
        }
        supply->next = *unwanted;
        *unwanted = supply;
    }
}

void hr__source_move(hr_source *s, int64_t position)
{
    for (; s->ahead_count > 0; s->ahead_count--) {
        hr_readahead_drop(s->pipeline->readahead, s->ahead[s->ahead_first]);
        s->ahead_first = (s->ahead_first + 1) % s->ahead_capacity;
    }
    s->position = position;
}

void hr__source_rewind(hr_pipeline *p, int32_t source, hr_iteration *dropped, hr_supply **unwanted)
{
    hr_source *s = &p->sources[source];
    hr__source_move(s, p->taken.position[source]);
    if (!hr__source_indexed(s))
        refill(s, source, dropped, unwanted);
}

hr_status hr__source_again(const hr_source *s, hr_sample_source *ss, hr_error *error)
{
    return ss->read ? HR_STATUS_OK : ask(s, ss->item.index, &ss->read, error);
}

hr_status hr__source_replace(hr_pipeline *p, const hr_source *s, const hr_iteration *it,
                             hr_sample *sample, hr_error *error)
{
    hr_sample_source *ss = &sample->sources[s - p->sources];
    if (hr__source_streams(s)) {
        int32_t other = (sample->index + sample->attempt) % it->size;
        ss->item.index = ss->position - sample->index + other;
        ss->item.repeat = HR_SAMPLER_REPLACED + sample->attempt;
        return HR_STATUS_OK;
    }
    hr__source_drop(p, ss);
    ss->item = hr_sampler_replace(&s->sampler, ss->position, sample->attempt);
    return ask(s, ss->item.index, &ss->read, error); /* taken at once, so not queued */
}

hr_status hr__fed_sample(const hr_source *s, hr_batch *const *batches, int32_t sample,
                         hr_tensor *out, hr_error *error)
{
    const hr_node *node = s->node;
    for (int32_t k = 0; k < node->output_count; k++)
        out[k] = *hr_batch_tensor(batches[k], sample);
    hr_op_call c = {.def = node->def,
                    .args = node->args,
                    .in = out,
                    .n_in = node->output_count,
                    .out = out,
                    .n_out = node->output_count};
    return node->def->infer ? node->def->infer(&c, error) : HR_STATUS_OK;
}

/* How many samples from the group's i-th on have the description of that one, which is number `at`
 * of what was fed. */
static int32_t fed_alike(const hr_group *g, const hr_fed *fed, int32_t i, int32_t at)
{
    int32_t n = 1;
    for (; i + n < g->count; n++) {
        const hr_sample *sample = hr__sample_at(g, i + n);
        if (!hr__sample_alive(sample) || sample->attempt > 0)
            break;
        for (int32_t k = 0; k < fed->count; k++)
            if (!hr__described_alike(hr_batch_tensor(fed->batch[k], at + n),
                                     hr_batch_tensor(fed->batch[k], at)))
                return n;
    }
    return n;
}

/* How many of `most` samples alike, from number `at` on, follow one another in memory. */
static int32_t fed_straight(const hr_batch *batch, int32_t at, int32_t most)
{
    const hr_tensor *first = hr_batch_tensor(batch, at);
    size_t bytes;
    int32_t n = 1;
    if (!hr_tensor_bytes(first, &bytes))
        return n;
    for (; n < most; n++) {
        const hr_tensor *t = hr_batch_tensor(batch, at + n);
        if ((uintptr_t)t->data != (uintptr_t)first->data + (size_t)n * bytes ||
            t->buffer != first->buffer || t->source_info != first->source_info)
            break;
    }
    return n;
}

/* Puts the k-th output of `n` samples alike; `like` is what the node made of the first one. */
static hr_status put_fed(hr_group *g, const hr_source *s, const hr_batch *batch, int32_t k,
                         int32_t i, int32_t at, int32_t n, const hr_tensor *like, hr_error *error)
{
    int32_t value = hr__value_of(g->pipeline, s->node, k);
    for (int32_t done = 0, run; done < n; done += run) {
        const hr_tensor *from = hr_batch_tensor(batch, at + done);
        hr_tensor t = *like;
        t.data = from->data;
        t.buffer = from->buffer;
        t.source_info = from->source_info;
        run = fed_straight(batch, at + done, n - done);
        HR_TRY(hr__value_put(g, value, i + done, run, &t, error));
    }
    return HR_STATUS_OK;
}

static hr_status emit_fed(hr_group *g, const hr_source *s, int32_t source, int32_t i, int32_t *n,
                          hr_error *error)
{
    hr_tensor t[HR_OP_MAX_OUTPUTS];
    const hr_fed *fed = hr__supply_fed(g->iteration->supplies[source]);
    const hr_sample *sample = hr__sample_at(g, i);
    bool primary = hr__source_fed(&g->pipeline->sources[0]); /* no reader chooses another item */
    int32_t at = primary ? (sample->index + sample->attempt) % fed->supply.size : sample->index;
    HR_TRY(hr__fed_sample(s, fed->batch, at, t, error));
    int32_t alike = sample->attempt > 0 ? 1 : fed_alike(g, fed, i, at);
    for (int32_t k = 0; k < s->node->output_count; k++)
        HR_TRY(put_fed(g, s, fed->batch[k], k, i, at, alike, &t[k], error));
    *n = alike;
    return HR_STATUS_OK;
}

/* Describes the bytes of an item as tensors, one per span. */
static void describe_bytes(hr_buffer *buffer, const hr_read_piece *pieces, int32_t count,
                           hr_tensor *bytes)
{
    for (int32_t i = 0; i < count; i++) {
        hr_tensor_describe(&bytes[i], HR_DTYPE_UINT8, (hr_shape){1, {(int64_t)pieces[i].size}},
                           NULL);
        bytes[i].data = (char *)hr_buffer_data(buffer) + pieces[i].offset;
        bytes[i].buffer = buffer;
    }
}

/* Copies what is kept for later epochs, for users who may write into it. */
static hr_status copy_bytes(hr_group *g, int32_t count, hr_tensor *bytes, hr_error *error)
{
    for (int32_t i = 0; i < count; i++) {
        size_t size = (size_t)bytes[i].shape.extent[0];
        void *copy = hr_arena_alloc(g->arena, size, error);
        HR_TRY_ALLOC(copy);
        if (size > 0)
            memcpy(copy, bytes[i].data, size);
        bytes[i].data = copy;
        bytes[i].buffer = NULL;
    }
    return HR_STATUS_OK;
}

/* Waits for a request, and keeps its bytes until the group is released; values that outlive the
 * group take a reference (gather.c, values.c). */
static hr_status take_read(hr_group *g, const hr_source *s, hr_sample_source *ss, hr_tensor *bytes,
                           int32_t *count, hr_error *error)
{
    hr_pipeline *p = g->pipeline;
    hr_read_piece pieces[HR_SOURCE_MAX_SPANS];
    hr_buffer *buffer = NULL;
    int64_t waited = 0;
    hr_read *read = ss->read;
    *count = hr_readahead_count(read);
    ss->read = NULL;
    hr_status status =
        hr_readahead_take(p->readahead, read, g->arena, &buffer, pieces, &waited, error);
    hr__count(&g->worker->stats.read_wait_ns, waited);
    if (status == HR_STATUS_NO_MEMORY) { /* of the read-ahead: there may be memory now */
        HR_TRY(request(s, ss->item.index, &read, error));
        status = hr_readahead_take(p->readahead, read, g->arena, &buffer, pieces, &waited, error);
    }
    HR_TRY(status);
    describe_bytes(buffer, pieces, *count, bytes);
    if (s->coded)
        hr_coded_put(s->coded, ss->item.index, buffer, pieces, *count);
    return hr__group_hold(g, buffer, error);
}

/* The bytes of an item: one tensor per span. */
static hr_status take_bytes(hr_group *g, const hr_source *s, hr_sample_source *ss, hr_tensor *bytes,
                            hr_error *error)
{
    const hr_coded_item *kept = s->coded ? hr_coded_get(s->coded, ss->item.index) : NULL;
    int32_t count = 0;
    if (kept) {
        hr_readahead_drop(g->pipeline->readahead, ss->read); /* it was asked for before */
        ss->read = NULL;
        count = kept->count;
        describe_bytes(kept->buffer, kept->pieces, count, bytes);
        hr__count(&g->worker->stats.cache_hits, 1);
    } else if (ss->read) {
        HR_TRY(take_read(g, s, ss, bytes, &count, error));
    }
    return s->copies ? copy_bytes(g, count, bytes, error) : HR_STATUS_OK;
}

/* The item's name, for messages and source_info. It lives as long as the sample. */
static const char *item_name(const hr_source *s, hr_sample_source *ss)
{
    char room[NAME_SIZE], other[NAME_SIZE];
    const char *name = s->def->name(s->state, ss->item.index, room, sizeof(room));
    const char *shown = hr_shown_name(name, other, sizeof(other));
    if (shown == name && name != room)
        return name;
    name = shown;
    hr_free(ss->name);
    ss->name = hr_strdup(name, NULL);
    return ss->name ? ss->name : "";
}

static hr_status emit_item(hr_group *g, const hr_source *s, hr_sample_source *ss, int32_t i,
                           hr_error *error)
{
    hr_tensor bytes[HR_SOURCE_MAX_SPANS];
    HR_TRY(take_bytes(g, s, ss, bytes, error));
    hr_tensor *out = hr_arena_alloc(g->arena, (size_t)s->node->output_count * sizeof(*out), error);
    HR_TRY_ALLOC(out);
    memset(out, 0, (size_t)s->node->output_count * sizeof(*out));
    hr_op_call c = {.def = s->node->def,
                    .state = s->state,
                    .out = out,
                    .n_out = s->node->output_count,
                    .count = 1,
                    .arena = g->arena,
                    .task = &g->tasks[i],
                    .kernels = g->pipeline->kernels};
    HR_TRY(hr__local_get(g->worker, s->node, &c.local, error));
    HR_TRY(hr__value_args(g, s->node, i, &c.args, error));
    HR_TRY(s->def->emit(&c, ss->item.index, s->locates ? bytes : NULL, error));
    for (int32_t k = 0; k < s->node->output_count; k++) {
        out[k].source_info = g->tasks[i].info;
        HR_TRY(hr__value_put(g, hr__value_of(g->pipeline, s->node, k), i, 1, &out[k], error));
    }
    return HR_STATUS_OK;
}

static hr_status emit_streamed(hr_group *g, const hr_source *s, const hr_streamed *x, int32_t i,
                               hr_error *error)
{
    if (x->status != HR_STATUS_OK)
        return hr_fail(error, x->status, "%s", x->message);
    for (int32_t k = 0; k < s->node->output_count; k++) {
        hr_tensor t = x->out[k];
        t.source_info = x->name;
        HR_TRY(hr__value_put(g, hr__value_of(g->pipeline, s->node, k), i, 1, &t, error));
    }
    return HR_STATUS_OK;
}

hr_status hr__source_emit(hr_group *g, const hr_source *s, int32_t source, int32_t i, int32_t *n,
                          hr_error *error)
{
    *n = 1;
    if (hr__source_fed(s))
        return emit_fed(g, s, source, i, n, error);
    hr_sample *sample = &g->iteration->samples[g->first + i];
    hr_sample_source *ss = &sample->sources[source];
    const hr_streamed_batch *b =
        hr__source_streams(s) ? (const hr_streamed_batch *)g->iteration->supplies[source] : NULL;
    /* its own sample, or the one that replaces it */
    const hr_streamed *x = b ? &b->samples[ss->item.index - (ss->position - sample->index)] : NULL;
    g->tasks[i].info = x ? x->name : item_name(s, ss);
    if (source == 0)
        sample->info = g->tasks[i].info;
    return x ? emit_streamed(g, s, x, i, error) : emit_item(g, s, ss, i, error);
}
