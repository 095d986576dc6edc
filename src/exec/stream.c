/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The thread of a stream. It makes one batch ahead of those that are scheduled. A stream's samples
 * are in an arena of their batch, so that nothing is copied between `next` and the operators. */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "core/thread.h"
#include "exec/iteration.h"
#include "exec/stream.h"
#include "exec/trace.h"

#define MEMORY_PAUSE_NS 1000000 /* before memory is asked for again */

typedef struct filling { /* a batch that the thread makes */
    hr_source *source;
    hr_streamed_batch *batch;
    hr_iteration iteration; /* what messages and records of bad samples need of it */
    int64_t position;       /* of its first sample */
    int64_t next_ns;
    hr_error error;
} filling;

static bool stopped(hr_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    bool stop = p->stop;
    pthread_mutex_unlock(&p->lock);
    return stop;
}

/* Waits a moment for memory. Samples that were taken from the stream are never given up. */
static bool memory_pause(hr_pipeline *p)
{
    nanosleep(&(struct timespec){0, MEMORY_PAUSE_NS}, NULL);
    return !stopped(p);
}

static hr_cursor *cursor_make(const hr_source *s)
{
    const hr_stream_def *def = s->def->stream;
    size_t size = def->save(s->state, NULL, 0), total;
    hr_cursor *cursor =
        hr_size_add(sizeof(*cursor), size, &total) ? hr_calloc(1, total, NULL) : NULL;
    if (!cursor)
        return NULL;
    cursor->size = size;
    def->save(s->state, cursor->bytes, size);
    return cursor;
}

static char *arena_text(hr_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hr_arena_alloc(arena, size, NULL);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* The outputs of a call live as long as the batch. */
static void outputs_hold(const hr_op_call *c, hr_streamed *x)
{
    x->out = c->out;
    for (int32_t k = 0; k < c->n_out; k++)
        if (c->out[k].buffer)
            hr_buffer_ref(c->out[k].buffer);
}

/* Calls `next` for the next sample of the batch, or learns that the batch or the epoch ends. */
static hr_stream_event take_sample(filling *f, hr_streamed *x)
{
    hr_source *s = f->source;
    hr_pipeline *p = s->pipeline;
    hr_arena *arena = f->batch->arena;
    hr_stream_event event = HR_STREAM_EVENT_SAMPLE;
    size_t size = (size_t)s->node->output_count * sizeof(hr_tensor);
    hr_tensor *out = hr_arena_alloc(arena, size, NULL);
    while (!out && memory_pause(p))
        out = hr_arena_alloc(arena, size, NULL);
    if (!out)
        return HR_STREAM_EVENT_BATCH;
    memset(out, 0, size);
    int64_t position = f->position + f->batch->supply.size;
    hr_sample_source from = {.item.index = position, .position = position};
    hr_sample sample = {.index = f->batch->supply.size, .sources = &from};
    hr_task task = {.pipeline = p, .iteration = &f->iteration, .sample = &sample, .node = s->node};
    hr_op_call c = {.def = s->node->def,
                    .args = s->node->args,
                    .state = s->state,
                    .out = out,
                    .n_out = s->node->output_count,
                    .arena = arena,
                    .task = &task,
                    .kernels = p->kernels,
                    .count = 1};
    task.next = &c;
    f->error.message[0] = '\0';
    int64_t start = hr_clock_ns();
    *x = (hr_streamed){.status = s->def->stream->next(&c, &event, &f->error)};
    int64_t end = hr_clock_ns();
    f->next_ns += end - start;
    if (p->trace)
        hr__trace_span(
            p->trace, hr__trace_source_lane(p->trace, (int32_t)(s - p->sources)),
            (hr_trace_span){s->node, s->node, start, end, f->iteration.number, sample.index});
    if (x->status == HR_STATUS_OK && event != HR_STREAM_EVENT_SAMPLE)
        return event;
    x->name = c.source_info ? arena_text(arena, c.source_info) : NULL;
    if (x->status == HR_STATUS_OK) {
        outputs_hold(&c, x);
    } else {
        const char *message = arena_text(arena, f->error.message);
        x->message = message ? message : "out of memory";
    }
    return HR_STREAM_EVENT_SAMPLE;
}

/* What the queue gets in place of a batch without samples, because the epoch is over. NULL: no
 * memory until the pipeline stopped. */
static hr_supply *end_epoch(filling *f)
{
    const hr_stream_def *def = f->source->def->stream;
    const char *message = "the epoch is over";
    f->error.message[0] = '\0';
    hr_status status = def->restart ? def->restart(f->source->state, &f->error) : HR_STATUS_OK;
    if (status != HR_STATUS_OK)
        message = f->error.message;
    size_t size = strlen(message) + 1;
    hr_epoch_end *end;
    while (!(end = hr_calloc(1, sizeof(*end) + size, NULL)))
        if (!memory_pause(f->source->pipeline))
            return NULL;
    end->supply.kind = HR_SUPPLY_KIND_END;
    end->status = status == HR_STATUS_OK ? HR_STATUS_END : status;
    memcpy(end->message, message, size);
    return &end->supply;
}

/* Takes the samples of one batch from the stream, or learns that the epoch is over. */
static hr_supply *fill(filling *f)
{
    hr_pipeline *p = f->source->pipeline;
    hr_streamed_batch *b = f->batch;
    hr_supply *made = &b->supply, *end = NULL;
    size_t size = (size_t)p->options.batch_size * sizeof(*b->samples);
    while (!(b->samples = hr_arena_alloc(b->arena, size, NULL)) && memory_pause(p))
        continue;
    hr_stream_event event = HR_STREAM_EVENT_SAMPLE;
    while (b->samples && made->size < p->options.batch_size && !stopped(p)) {
        event = take_sample(f, &b->samples[made->size]);
        if (event == HR_STREAM_EVENT_SAMPLE)
            made->size++;
        else if (event == HR_STREAM_EVENT_END || made->size > 0)
            break;
    }
    if (event == HR_STREAM_EVENT_END && made->size == 0)
        end = end_epoch(f); /* otherwise `next` says it again, for an iteration of its own */
    if (end) {
        hr__supply_free(made);
        made = end;
    }
    if (f->source->def->stream->save)
        while (!(made->cursor = cursor_make(f->source)) && memory_pause(p))
            continue;
    return made;
}

static void *stream_main(void *context)
{
    hr_source *s = context;
    hr_pipeline *p = s->pipeline;
    filling f = {.source = s};
    pthread_mutex_lock(&p->lock);
    f.position = s->position;
    while (true) {
        while (!p->stop && (s->queue_first || !s->idle))
            pthread_cond_wait(&s->room, &p->lock);
        if (p->stop)
            break;
        f.batch = s->idle;
        s->idle = (hr_streamed_batch *)f.batch->supply.next;
        f.iteration.number = p->flight.next_iteration;
        f.next_ns = 0;
        pthread_mutex_unlock(&p->lock);
        hr_supply *made = fill(&f);
        f.position += made->size;
        pthread_mutex_lock(&p->lock);
        s->next_ns += f.next_ns;
        s->next_count += made->size;
        hr__source_append(s, made); /* the only one, unless hr__source_rewind gave some back */
        if (!p->stop)
            (void)hr__schedule_unlocking(p, HR_SCHEDULER_OTHER); /* `run` reports a failure */
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* As many batches as are in flight, one that the consumer has just taken, and one ahead. */
static hr_status make_batches(hr_source *s, hr_error *error)
{
    for (int32_t i = hr__iterations_max(s->pipeline) + 2; i > 0; i--) {
        hr_arena *arena;
        HR_TRY(hr_arena_create(&arena, error));
        hr_streamed_batch *b = hr_calloc(1, sizeof(*b), error);
        if (!b) {
            hr_arena_destroy(arena);
            return HR_STATUS_NO_MEMORY;
        }
        hr_arena_limit(arena, s->pipeline->pool);
        b->supply.kind = HR_SUPPLY_KIND_STREAMED;
        b->stream = s;
        b->arena = arena;
        b->supply.next = s->idle ? &s->idle->supply : NULL;
        s->idle = b;
    }
    return HR_STATUS_OK;
}

static hr_status start(hr_pipeline *p, int32_t source, hr_error *error)
{
    hr_source *s = &p->sources[source];
    HR_TRY(make_batches(s, error));
    if (s->def->stream->save) {
        p->taken.cursor[source] = cursor_make(s);
        if (!p->taken.cursor[source])
            return hr_fail(error, HR_STATUS_NO_MEMORY, "out of memory");
    }
    pthread_cond_init(&s->room, NULL);
    int code = hr_thread_create(&s->thread, stream_main, s);
    s->started = code == 0;
    if (s->started)
        return HR_STATUS_OK;
    pthread_cond_destroy(&s->room);
    return hr_fail_errno(error, code, "the thread of a stream cannot be started");
}

hr_status hr__streams_start(hr_pipeline *p, hr_error *error)
{
    for (int32_t k = 0; k < p->source_count; k++)
        if (hr__source_streams(&p->sources[k]))
            HR_TRY(start(p, k, error));
    return HR_STATUS_OK;
}

void hr__streams_stop(hr_pipeline *p)
{
    for (int32_t k = 0; k < p->source_count; k++) {
        hr_source *s = &p->sources[k];
        if (!s->started)
            continue;
        if (s->def->stream->cancel)
            s->def->stream->cancel(s->state);
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&s->room);
        pthread_mutex_unlock(&p->lock);
    }
    for (int32_t k = 0; k < p->source_count; k++)
        if (p->sources[k].started)
            pthread_join(p->sources[k].thread, NULL);
}

bool hr__streams_awaited(const hr_pipeline *p)
{
    for (int32_t k = 0; k < p->source_count; k++)
        if (hr__source_streams(&p->sources[k]) && !p->sources[k].queue_first)
            return true;
    return false;
}
