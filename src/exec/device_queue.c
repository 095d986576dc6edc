/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Queues a prepared stage, with a few copies and launches per batch. For every step, and for every
 * round of pieces in it, it allocates the outputs of all samples, stages the records, and does the
 * work of each kind of piece with one call. */
#include <string.h>

#include "core/block.h"
#include "device/memory.h"
#include "exec/device_batch.h"
#include "exec/source.h"
#include "ops/function/call.h"

#define SAMPLE_ALIGN ((size_t)256) /* between samples of different shapes */

typedef struct queueing {
    hr_worker *worker;
    hr_pipeline *p;
    hr_iteration *it;
    hr_device_batch *batch;
    hr_launch *launch;
    const hr_cuda_module_def *module;
    hr_arena *arena;
    hr_piece **at;    /* one per sample: its first piece that is not queued yet */
    hr_piece **round; /* the k-th pieces of all samples in a step */
    hr_piece **part;  /* those of one kind */
    int32_t count, part_count;
    hr_staged status;    /* one word per piece that the device decodes */
    const hr_node *node; /* whose work is being queued, for messages */
} queueing;

static hr_status scratch(queueing *q, size_t size, void **out, hr_error *error)
{
    return q->launch->cuda.scratch(&q->launch->cuda, HR_MAX(size, 1), out, error);
}

static hr_status stage(queueing *q, size_t count, size_t size, hr_staged *out, hr_error *error)
{
    return q->launch->staging.alloc(&q->launch->staging, HR_MAX(count, 1) * size, out, error);
}

static int32_t select_kind(queueing *q, hr_piece_kind kind, const hr_node *node)
{
    q->part_count = 0;
    for (int32_t i = 0; i < q->count; i++)
        if (q->round[i]->kind == kind && (!node || q->round[i]->node == node))
            q->part[q->part_count++] = q->round[i];
    return q->part_count;
}

/* ---- memory for outputs ---- */

typedef struct packing {
    size_t *at; /* one per piece of the round: offset of its output; at[count]: total bytes */
    bool dense; /* samples have one shape and no gaps between them */
} packing;

/* Lays out output `k` of the round's pieces in one block. */
static hr_status pack(queueing *q, int32_t k, packing *out, hr_error *error)
{
    size_t total = 0;
    const hr_tensor *first = q->round[0]->out[k];
    out->at = hr_arena_alloc(q->arena, ((size_t)q->count + 1) * sizeof(*out->at), error);
    HR_TRY_ALLOC(out->at);
    out->dense = true;
    for (int32_t i = 0; i < q->count; i++)
        out->dense = out->dense && q->round[i]->out[k]->dtype == first->dtype &&
                     hr_shape_equal(&q->round[i]->out[k]->shape, &first->shape);
    size_t bytes = 0;
    for (int32_t i = 0; i < q->count; i++) {
        out->at[i] = total;
        bool known = out->dense && i > 0;
        if ((!known && !hr_tensor_bytes(q->round[i]->out[k], &bytes)) ||
            !hr_size_add(total, bytes + (out->dense ? 0 : SAMPLE_ALIGN), &total))
            return hr_fail(error, HR_STATUS_LIMIT, "the batch's size overflows");
        if (!out->dense)
            total = total / SAMPLE_ALIGN * SAMPLE_ALIGN;
    }
    out->at[q->count] = total;
    return HR_STATUS_OK;
}

/* Pinned host memory: from the pool, which counts and reuses it, unless the pool could not pin it.
 */
static hr_status host_buffer(queueing *q, size_t size, hr_buffer **out, hr_error *error)
{
    HR_TRY(hr_pool_alloc(q->p->pool, HR_MAX(size, HR_BLOCK_PAGE), out, error));
    if (hr_buffer_pinned(*out))
        return HR_STATUS_OK;
    hr_buffer_unref(*out);
    return hr_device_pinned(q->launch->device, size, out, error);
}

/* Allocates one block for output `k`: scratch memory inside a chain, otherwise a counted buffer on
 * the device or in pinned host memory. */
static hr_status give_memory(queueing *q, int32_t k, bool host, hr_error *error)
{
    packing to;
    hr_buffer *buffer = NULL;
    char *base;
    HR_TRY(pack(q, k, &to, error));
    size_t total = HR_MAX(to.at[q->count], 1);
    if (q->round[0]->inside) {
        void *memory;
        HR_TRY(scratch(q, total, &memory, error));
        base = memory;
    } else {
        HR_TRY(host ? host_buffer(q, total, &buffer, error)
                    : hr_device_buffer(q->launch->device, q->launch->cuda.stream, total, &buffer,
                                       error));
        base = hr_buffer_data(buffer);
    }
    for (int32_t i = 0; i < q->count; i++) {
        hr_tensor *t = q->round[i]->out[k];
        hr_buffer_unref(t->buffer);
        t->data = base + to.at[i];
        t->buffer = buffer ? hr_buffer_ref(buffer) : NULL;
    }
    hr_buffer_unref(buffer);
    return HR_STATUS_OK;
}

/* ---- the work of a round ---- */

static size_t round_up(size_t size)
{
    return (size + SAMPLE_ALIGN) / SAMPLE_ALIGN * SAMPLE_ALIGN;
}

/* Takes `size` bytes off the block at `*at`. */
static void *take(char **at, size_t size)
{
    void *taken = *at;
    *at += round_up(size);
    return taken;
}

static size_t pixel_bytes(const hr_coded *coded)
{
    return (size_t)coded->stride * (size_t)coded->rows;
}

/* The images of the round that `decoder` decodes: q->part. */
static int32_t select_coded(queueing *q, const hr_coded_decoder *decoder)
{
    q->part_count = 0;
    for (int32_t i = 0; i < q->count; i++)
        if (q->round[i]->kind == HR_PIECE_KIND_IMAGE && q->round[i]->coded.decoder == decoder)
            q->part[q->part_count++] = q->round[i];
    return q->part_count;
}

/* Gives memory to the images in q->part: a block of scratch for pixels and what the decoder
 * needs, and staged memory for notes, of `*noted` bytes. */
static hr_status give_coded(queueing *q, hr_staged *notes, size_t *noted, hr_error *error)
{
    size_t total = 0;
    void *block;
    *noted = 0;
    for (int32_t i = 0; i < q->part_count; i++) {
        const hr_coded *coded = &q->part[i]->coded;
        total += round_up(pixel_bytes(coded)) + round_up(coded->scratch);
        *noted += coded->notes > 0 ? round_up(coded->notes) : 0;
    }
    HR_TRY(scratch(q, total + HR_PAD, &block, error));
    HR_TRY(stage(q, *noted, 1, notes, error));
    char *at = block, *note = notes->device;
    for (int32_t i = 0; i < q->part_count; i++) {
        hr_piece *piece = q->part[i];
        const hr_coded *coded = &piece->coded;
        piece->notes =
            coded->notes > 0 ? (char *)notes->host + (note - (char *)notes->device) : NULL;
        piece->memory.scratch = take(&at, coded->scratch);
        piece->memory.pixels = take(&at, pixel_bytes(coded));
        piece->memory.notes = coded->notes > 0 ? take(&note, coded->notes) : NULL;
        piece->memory.status = (uint32_t *)q->status.device + q->batch->decoding_count;
        q->batch->decoding[q->batch->decoding_count++] = piece;
    }
    return HR_STATUS_OK;
}

/* Queues the work of one decoder. */
static hr_status queue_decoder(queueing *q, const hr_coded_decoder *decoder, hr_error *error)
{
    int32_t n = select_coded(q, decoder);
    hr_staged records, notes;
    size_t noted;
    HR_TRY(give_coded(q, &notes, &noted, error));
    HR_TRY(stage(q, (size_t)n, decoder->record_size, &records, error));
    for (int32_t i = 0; i < n; i++)
        decoder->bind(&q->part[i]->coded, &q->part[i]->memory,
                      (char *)records.host + (size_t)i * decoder->record_size);
    HR_TRY(q->launch->staging.flush(&q->launch->staging, error));
    const hr_cuda_decoder *kernels = hr_device_decoder(q->launch->device, decoder->name);
    if (!kernels)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the CUDA module has no decoder of %s",
                       decoder->name);
    HR_TRY(kernels->decode(&q->launch->cuda, records, n, error));
    if (noted == 0)
        return HR_STATUS_OK;
    return q->module->copy(hr_device_id(q->launch->device), q->launch->cuda.stream, notes.host,
                           notes.device, noted, error);
}

/* Queues the decoding of images, decoder by decoder. */
static hr_status queue_images(queueing *q, hr_error *error)
{
    for (int32_t i = 0; i < q->count; i++)
        q->round[i]->memory.pixels = NULL; /* set by an earlier launch that is repeated */
    for (int32_t i = 0; i < q->count; i++)
        if (q->round[i]->kind == HR_PIECE_KIND_IMAGE && !q->round[i]->memory.pixels)
            HR_TRY(queue_decoder(q, q->round[i]->coded.decoder, error));
    return HR_STATUS_OK;
}

static bool runs_program(const hr_piece *piece)
{
    return piece->kind == HR_PIECE_KIND_PROGRAM || piece->kind == HR_PIECE_KIND_IMAGE ||
           piece->kind == HR_PIECE_KIND_PIXELS;
}

static hr_status queue_programs(queueing *q, hr_error *error)
{
    hr_staged records;
    int32_t n = 0;
    for (int32_t i = 0; i < q->count; i++)
        if (runs_program(q->round[i]))
            q->part[n++] = q->round[i];
    if (n == 0)
        return HR_STATUS_OK;
    HR_TRY(stage(q, (size_t)n, sizeof(hr_device_program), &records, error));
    for (int32_t i = 0; i < n; i++) {
        hr_piece *piece = q->part[i];
        hr_device_program *to = (hr_device_program *)records.host + i;
        *to = piece->work->program;
        to->dst = piece->out[0]->data;
        to->src = piece->kind == HR_PIECE_KIND_PIXELS ? piece->pixels.device : piece->in[0]->data;
        if (piece->kind == HR_PIECE_KIND_IMAGE)
            hr_device_program_set_source(to, piece->memory.pixels, piece->coded.stride,
                                         (int64_t)pixel_bytes(&piece->coded) + HR_PAD);
    }
    HR_TRY(q->launch->staging.flush(&q->launch->staging, error));
    return q->module->program_run(&q->launch->cuda, records, n, error);
}

/* The call of a piece, with its tensors, now that their memory is known. */
static hr_status fill_call(queueing *q, const hr_piece *piece, hr_op_call *c, hr_error *error)
{
    *c = piece->work->call;
    if (piece->shared) {
        size_t n = (size_t)piece->n_in + (size_t)piece->n_out;
        hr_tensor *own = hr_arena_alloc(q->arena, (n + 1) * sizeof(*own), error);
        HR_TRY_ALLOC(own);
        c->in = own;
        c->out = own + piece->n_in;
        c->source_info = piece->info;
    }
    for (int32_t k = 0; k < piece->n_in; k++)
        ((hr_tensor *)c->in)[k] = *piece->in[k];
    for (int32_t k = 0; k < piece->n_out; k++)
        c->out[k] = *piece->out[k];
    return HR_STATUS_OK;
}

static hr_status queue_ops(queueing *q, const hr_node *node, hr_error *error)
{
    int32_t n = select_kind(q, HR_PIECE_KIND_OP, node);
    if (n == 0)
        return HR_STATUS_OK;
    hr_op_call *calls = hr_arena_alloc(q->arena, (size_t)n * sizeof(*calls), error);
    HR_TRY_ALLOC(calls);
    for (int32_t i = 0; i < n; i++)
        HR_TRY(fill_call(q, q->part[i], &calls[i], error));
    hr_cuda_run_fn run = hr_device_op(q->launch->device, node->def);
    return run(&q->launch->cuda, calls, n, &q->launch->staging, error);
}

static hr_status queue_views(queueing *q, hr_error *error)
{
    int32_t n = select_kind(q, HR_PIECE_KIND_VIEW, NULL);
    for (int32_t i = 0; i < n; i++) {
        hr_op_call c;
        HR_TRY(fill_call(q, q->part[i], &c, error));
        HR_TRY(hr_op_run(&c, error)); /* moves pointers only */
        for (int32_t k = 0; k < c.n_out; k++) {
            hr_tensor *out = q->part[i]->out[k];
            hr_buffer *buffer = c.out[k].buffer ? hr_buffer_ref(c.out[k].buffer) : NULL;
            hr_buffer_unref(out->buffer);
            out->data = c.out[k].data;
            out->buffer = buffer;
        }
    }
    return HR_STATUS_OK;
}

static hr_status copy_pieces(queueing *q, int32_t n, const hr_cuda_copy *pieces, hr_error *error)
{
    hr_staged records;
    HR_TRY(stage(q, (size_t)n, sizeof(*pieces), &records, error));
    memcpy(records.host, pieces, (size_t)n * sizeof(*pieces));
    HR_TRY(q->launch->staging.flush(&q->launch->staging, error));
    return q->module->copy_all(&q->launch->cuda, records, n, error);
}

static hr_status queue_copies(queueing *q, hr_error *error)
{
    int32_t n = select_kind(q, HR_PIECE_KIND_COPY, NULL);
    if (n == 0)
        return HR_STATUS_OK;
    size_t most = (size_t)n * (size_t)q->part[0]->n_out;
    hr_cuda_copy *pieces = hr_arena_alloc(q->arena, most * sizeof(*pieces), error);
    HR_TRY_ALLOC(pieces);
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        hr_op_call c;
        HR_TRY(fill_call(q, q->part[i], &c, error));
        HR_TRY(hr_op_run(&c, error)); /* moves pointers only */
        for (int32_t k = 0; k < c.n_out; k++, count++) {
            const hr_tensor *out = q->part[i]->out[k];
            pieces[count] = (hr_cuda_copy){.dst = out->data, .src = c.out[k].data};
            (void)hr_tensor_bytes(out, &pieces[count].size);
        }
    }
    return copy_pieces(q, count, pieces, error);
}

static hr_status queue_uploads(queueing *q, hr_error *error)
{
    int32_t n = select_kind(q, HR_PIECE_KIND_TO_DEVICE, NULL);
    if (n == 0)
        return HR_STATUS_OK;
    hr_cuda_copy *pieces = hr_arena_alloc(q->arena, (size_t)n * sizeof(*pieces), error);
    HR_TRY_ALLOC(pieces);
    for (int32_t i = 0; i < n; i++) {
        const hr_tensor *out = q->part[i]->out[0];
        pieces[i] = (hr_cuda_copy){.dst = out->data, .src = q->part[i]->pixels.device};
        (void)hr_tensor_bytes(out, &pieces[i].size);
        if (!q->part[i]->pixels.host && pieces[i].size > 0)
            HR_TRY(hr_launch_keep(q->launch, q->part[i]->in[0]->buffer, error));
    }
    return copy_pieces(q, n, pieces, error);
}

/* Gathers the samples on the device and copies them to the host at once. */
static hr_status queue_downloads(queueing *q, hr_error *error)
{
    int32_t n = select_kind(q, HR_PIECE_KIND_TO_HOST, NULL);
    if (n == 0)
        return HR_STATUS_OK;
    hr_cuda_copy *pieces = hr_arena_alloc(q->arena, (size_t)n * sizeof(*pieces), error);
    void *together;
    HR_TRY_ALLOC(pieces);
    const char *base = q->part[0]->out[0]->data, *last = q->part[n - 1]->out[0]->data;
    size_t total;
    (void)hr_tensor_bytes(q->part[n - 1]->out[0], &total);
    total += (size_t)(last - base);
    if (total == 0)
        return HR_STATUS_OK;
    HR_TRY(scratch(q, total, &together, error));
    for (int32_t i = 0; i < n; i++) {
        const hr_tensor *out = q->part[i]->out[0];
        pieces[i] = (hr_cuda_copy){.dst = (char *)together + ((const char *)out->data - base),
                                   .src = q->part[i]->in[0]->data};
        (void)hr_tensor_bytes(out, &pieces[i].size);
    }
    HR_TRY(copy_pieces(q, n, pieces, error));
    return q->module->copy(hr_device_id(q->launch->device), q->launch->cuda.stream,
                           q->part[0]->out[0]->data, together, total, error);
}

/* ---- functions of the caller ---- */

typedef struct calling {
    queueing *q;
    hr_op_call *calls; /* of the pieces in q->round */
} calling;

/* Allocates an output of all samples, which the calls describe. */
static hr_status function_memory(void *context, int32_t output, hr_error *error)
{
    const calling *c = context;
    queueing *q = c->q;
    for (int32_t i = 0; i < q->count; i++) {
        hr_tensor *to = q->round[i]->out[output];
        const char *info = to->source_info;
        hr_buffer_unref(to->buffer);
        *to = c->calls[i].out[output];
        to->source_info = info;
    }
    HR_TRY(give_memory(q, output, false, error));
    for (int32_t i = 0; i < q->count; i++) {
        c->calls[i].out[output].data = q->round[i]->out[output]->data;
        c->calls[i].out[output].buffer = q->round[i]->out[output]->buffer;
    }
    return HR_STATUS_OK;
}

/* Calls the function with the samples of the round, and queues the copies of its results. */
static hr_status queue_function(queueing *q, hr_error *error)
{
    int32_t n = q->count, n_out = q->round[0]->n_out;
    hr_op_call *calls = hr_arena_alloc(q->arena, (size_t)n * sizeof(*calls), error);
    calling context = {q, calls};
    hr_function_device_call device = {q->launch, function_memory, &context, NULL};
    HR_TRY_ALLOC(calls);
    for (int32_t i = 0; i < n; i++) {
        HR_TRY(fill_call(q, q->round[i], &calls[i], error));
        calls[i].arena = q->arena;
        for (int32_t k = 0; k < n_out; k++)
            calls[i].out[k].buffer = NULL;
    }
    HR_TRY(hr__function_run_device(calls, n, &device, error));
    /* the function may have made another device the thread's current one */
    HR_TRY(q->module->use(hr_device_id(q->launch->device), error));
    for (int32_t k = 0; k < n_out; k++) {
        if (calls[0].out[k].buffer)
            continue; /* made in place */
        HR_TRY(function_memory(&context, k, error));
        HR_TRY(hr__function_copy(calls, n, k, &device, error));
    }
    return HR_STATUS_OK;
}

static hr_status queue_step_function(queueing *q, const hr_plan_step *step, hr_error *error)
{
    int64_t start = hr_clock_ns();
    hr_status status = queue_function(q, error);
    hr__count(&q->worker->stats.node_ns[step->first], hr_clock_ns() - start);
    return status;
}

static hr_status queue_round(queueing *q, const hr_plan_step *step, hr_error *error)
{
    const hr_piece *first = q->round[0];
    q->node = first->node;
    if (first->kind == HR_PIECE_KIND_FUNCTION)
        return queue_step_function(q, step, error);
    bool host = first->kind == HR_PIECE_KIND_TO_HOST;
    for (int32_t k = 0; k < first->n_out && first->kind != HR_PIECE_KIND_VIEW; k++)
        HR_TRY(give_memory(q, k, host, error));
    HR_TRY(queue_uploads(q, error));
    HR_TRY(queue_images(q, error));
    HR_TRY(queue_programs(q, error));
    for (int32_t k = 0; k < step->count; k++)
        HR_TRY(queue_ops(q, hr__plan_node(q->p, step->first + k), error));
    HR_TRY(queue_views(q, error));
    HR_TRY(queue_copies(q, error));
    return queue_downloads(q, error);
}

static bool in_step(const hr_piece *piece, int32_t number)
{
    return piece && piece->step == number;
}

/* Queues a step in rounds: the first pieces of all samples, then the second ones, and so on. The
 * last pieces of all samples share the last round, so that their outputs are one block. */
static hr_status queue_step(queueing *q, int32_t number, hr_error *error)
{
    size_t size = (size_t)q->it->size;
    for (;;) {
        bool inside = false;
        for (size_t i = 0; i < size; i++)
            inside = inside || (in_step(q->at[i], number) && q->at[i]->inside);
        q->count = 0;
        for (size_t i = 0; i < size; i++) {
            if (!in_step(q->at[i], number) || (inside && !q->at[i]->inside))
                continue;
            q->round[q->count++] = q->at[i];
            q->at[i] = q->at[i]->next;
        }
        if (q->count == 0)
            return HR_STATUS_OK;
        HR_TRY(queue_round(q, &q->p->plan->steps[number], error));
    }
}

static hr_status queue_all(queueing *q, hr_error *error)
{
    const hr_plan *plan = q->p->plan;
    const hr_plan_stage *stage_at = &plan->stages[q->it->stage];
    size_t size = (size_t)q->it->size, most = size * (size_t)stage_at->count;
    q->batch->decoding_count = 0;
    q->at = hr_arena_alloc(q->arena, (size + 1) * sizeof(hr_piece *), error);
    q->round = hr_arena_alloc(q->arena, (size + 1) * sizeof(hr_piece *), error);
    q->part = hr_arena_alloc(q->arena, (size + 1) * sizeof(hr_piece *), error);
    q->batch->decoding = hr_arena_alloc(q->arena, (most + 1) * sizeof(hr_piece *), error);
    HR_TRY_ALLOC(q->at && q->round && q->part && q->batch->decoding);
    for (size_t i = 0; i < size; i++)
        q->at[i] = hr__sample_alive(&q->it->samples[i]) ? q->batch->pieces[i] : NULL;
    HR_TRY(stage(q, most, sizeof(uint32_t), &q->status, error));
    memset(q->status.host, 0, most * sizeof(uint32_t));
    q->batch->status = q->status.host;
    for (int32_t k = 0; k < stage_at->count; k++)
        HR_TRY(queue_step(q, stage_at->first + k, error));
    if (q->batch->decoding_count == 0)
        return HR_STATUS_OK;
    return q->module->copy(hr_device_id(q->launch->device), q->launch->cuda.stream, q->status.host,
                           q->status.device, (size_t)q->batch->decoding_count * sizeof(uint32_t),
                           error);
}

/* Makes the launch wait for fed data that its user's stream may still be writing. */
static void await_fed(const queueing *q)
{
    for (int32_t i = 0; i < q->p->source_count; i++) {
        const hr_fed *fed = hr__supply_fed(q->it->supplies[i]);
        for (int32_t k = 0; fed && k < fed->count; k++) {
            const hr_buffer *before = NULL;
            for (int32_t s = 0; s < hr_batch_size(fed->batch[k]); s++) {
                hr_buffer *buffer = hr_batch_tensor(fed->batch[k], s)->buffer;
                if (buffer && buffer != before)
                    hr_device_buffer_await(buffer, q->launch->cuda.stream);
                before = buffer;
            }
        }
    }
}

hr_status hr__device_queue(hr_worker *w, hr_iteration *it, hr_error *error)
{
    char text[512];
    hr_pipeline *p = w->pipeline;
    const hr_plan_step *step = &p->plan->steps[p->plan->stages[it->stage].first];
    queueing q = {.worker = w,
                  .p = p,
                  .it = it,
                  .batch = it->device,
                  .launch = it->device->launch,
                  .module = hr_device_module(p->device),
                  .arena = it->device->arenas[p->options.num_threads],
                  .node = hr__plan_node(p, step->first)};
    hr_status status = q.module->use(hr_device_id(p->device), error);
    if (status == HR_STATUS_OK) {
        hr_launch_rewind(q.launch);
        await_fed(&q);
        status = queue_all(&q, error);
    }
    if (status == HR_STATUS_OK)
        status = q.module->event_record(hr_device_id(p->device), q.launch->done,
                                        q.launch->cuda.stream, error);
    if (status != HR_STATUS_OK)
        hr_error_prefix(error, "%s", hr_node_text(q.node, text, sizeof(text)));
    return status;
}
