/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Prepares a sample for the device: what exec/chain.c does with a chain up to the point where
 * pixels are processed. Operators only describe their outputs and lower themselves, so that most
 * need no code for devices. */
#include <string.h>

#include "exec/call.h"
#include "exec/device_batch.h"
#include "image/program.h"

typedef struct preparing { /* a step for one sample; the context of its chain */
    hr_group *g;
    hr_device_batch *batch;
    hr_arena *scratch; /* the worker's arena, reset when the task ends */
    int32_t i;         /* sample of the group */
    int32_t step;      /* its number in the plan */
    hr_piece ***link;  /* the sample's: where the next piece goes */
    hr_piece *last;    /* of the pieces so far; NULL: none yet */
} preparing;

/* Adds the piece of some nodes. Its inputs were made by other stages, other steps or the piece
 * before. */
static hr_status piece_add(preparing *p, const hr_node *first, const hr_node *last, hr_piece **out,
                           hr_error *error)
{
    hr_arena *arena = p->g->arena;
    int32_t n_in = first->input_count;
    hr_piece *piece = hr_arena_alloc(arena, sizeof(*piece), error);
    hr_piece_work *work = hr_arena_alloc(arena, sizeof(*work), error);
    hr_tensor **in = hr_arena_alloc(arena, ((size_t)n_in + 1) * sizeof(*in), error);
    HR_TRY_ALLOC(piece && work && in);
    work->call = (hr_op_call){0};
    for (int32_t k = 0; k < n_in; k++)
        in[k] =
            hr__crossing(p->g, hr_plan_value_find(p->g->pipeline->plan, first->inputs[k]), p->i);
    if (p->last)
        in[0] = p->last->out[0];
    *piece = (hr_piece){.node = last,
                        .sample = p->g->first + p->i,
                        .step = p->step,
                        .work = work,
                        .in = in,
                        .n_in = n_in};
    **p->link = *out = piece;
    *p->link = &piece->next;
    return HR_STATUS_OK;
}

/* Ends the piece of a call. The output of one inside a chain is the tensor of its call, which the
 * next piece reads; the last one describes its outputs for other steps. */
static hr_status piece_end(preparing *p, hr_piece *piece, bool inside, const hr_op_call *c,
                           hr_error *error)
{
    const char *info = NULL;
    p->last = piece;
    piece->inside = inside;
    piece->n_out = c->n_out;
    piece->out = hr_arena_alloc(p->g->arena, ((size_t)c->n_out + 1) * sizeof(*piece->out), error);
    HR_TRY_ALLOC(piece->out);
    if (inside) { /* nodes inside a chain have one output */
        piece->out[0] = &c->out[0];
        return HR_STATUS_OK;
    }
    HR_TRY(hr__name_keep(hr__sample_at(p->g, p->i), c, &info, error));
    piece->info = info;
    for (int32_t k = 0; k < c->n_out; k++) {
        hr_tensor *slot = hr__crossing(p->g, hr__value_of(p->g->pipeline, piece->node, k), p->i);
        hr_buffer_unref(slot->buffer);
        *slot = c->out[k];
        slot->data = NULL;
        slot->buffer = NULL;
        slot->source_info = info;
        piece->out[k] = slot;
    }
    return HR_STATUS_OK;
}

/* Decodes pixels on the CPU into staging memory. */
static hr_status stage_pixels(const hr_image_program *program, hr_window window,
                              hr_staging *staging, hr_op_call *c, hr_staged *out, hr_error *error)
{
    size_t stride =
        (size_t)window.w * (size_t)program->channels * hr_dtype_size(program->src_dtype);
    size_t size;
    if (!hr_size_mul(stride, (size_t)window.h, &size))
        return hr_fail(error, HR_STATUS_LIMIT, "the image's size overflows");
    HR_TRY(staging->alloc(staging, size + HR_PAD, out, error));
    return program->coded.decode(program->coded.context, window, out->host, stride, c, error);
}

static hr_status stage_source(preparing *p, const hr_image_program *program, hr_op_call *c,
                              hr_piece *piece, hr_error *error)
{
    if (!program->coded.decode) {
        piece->kind = HR_PIECE_KIND_PROGRAM;
        return HR_STATUS_OK;
    }
    hr_staging *staging = &p->batch->launch->staging;
    hr_window window;
    HR_TRY(hr_device_program_window(program, &window, error));
    if (window.h == 0 || window.w == 0) {
        piece->kind = HR_PIECE_KIND_PIXELS; /* the whole output is fill */
        return HR_STATUS_OK;
    }
    if (program->coded.stage && !p->batch->redo[piece->sample]) {
        hr_status status = program->coded.stage(program->coded.context, window, staging,
                                                p->g->arena, c, &piece->coded, error);
        piece->kind = HR_PIECE_KIND_IMAGE;
        if (status != HR_STATUS_NOT_FUSABLE)
            return status;
    }
    piece->kind = HR_PIECE_KIND_PIXELS;
    return stage_pixels(program, window, staging, c, &piece->pixels, error);
}

static hr_status stage_tensor(preparing *p, const hr_tensor *t, hr_piece *piece, hr_error *error)
{
    size_t bytes;
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the size overflows");
    if (t->buffer && hr_buffer_device(t->buffer) != HR_DEVICE_HOST) { /* made there */
        piece->pixels = (hr_staged){NULL, t->data};
        return HR_STATUS_OK;
    }
    hr_staging *staging = &p->batch->launch->staging;
    HR_TRY(staging->alloc(staging, bytes, &piece->pixels, error));
    if (bytes > 0)
        memcpy(piece->pixels.host, t->data, bytes);
    return HR_STATUS_OK;
}

/* The work of a node that is not part of a program. When the pipeline was made, device_stage.c has
 * checked that the module has the operator, or that it may become part of one. */
static hr_status call_prepare(preparing *p, hr_op_call *c, hr_piece *piece, hr_error *error)
{
    for (int32_t k = 0; k < c->n_in && !(c->def->flags & HR_OP_TO_DEVICE); k++)
        if (!hr_input_of(c->def, k)->host)
            ((hr_tensor *)c->in)[k].data = NULL; /* device memory, not accessible here */
    c->staging = &p->batch->launch->staging;
    if (c->def->infer)
        HR_TRY(c->def->infer(c, error));
    piece->work->call = *c;
    piece->work->call.task = NULL; /* not valid any more at the launch */
    if (c->def->flags & HR_OP_TO_DEVICE) {
        piece->kind = HR_PIECE_KIND_TO_DEVICE;
        return stage_tensor(p, &c->in[0], piece, error);
    }
    if (c->def->flags & HR_OP_FUNCTION) {
        piece->kind = HR_PIECE_KIND_FUNCTION;
        return HR_STATUS_OK;
    }
    bool view = c->def->flags & HR_OP_VIEW, borrows = c->def->flags & HR_OP_BORROWS;
    piece->kind = c->def->flags & HR_OP_TO_HOST ? HR_PIECE_KIND_TO_HOST
                  : view && borrows             ? HR_PIECE_KIND_COPY
                  : view                        ? HR_PIECE_KIND_VIEW
                                                : HR_PIECE_KIND_OP;
    if (piece->kind == HR_PIECE_KIND_OP && !hr_device_op(p->g->pipeline->device, c->def))
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "it has no GPU version for this input; use .cpu() before it and .gpu() "
                       "after it");
    return HR_STATUS_OK;
}

static hr_status prepare_alone(hr_chain *chain, int32_t i, hr_error *error)
{
    preparing *p = chain->context;
    hr_piece *piece;
    chain->failed = i;
    HR_TRY(piece_add(p, chain->nodes[i], chain->nodes[i], &piece, error));
    HR_TRY(call_prepare(p, &chain->calls[i], piece, error));
    return piece_end(p, piece, i + 1 < chain->count, &chain->calls[i], error);
}

/* A program that only picks elements is left to the operator's own kernel, if it has one. */
static hr_status prepare_program(hr_chain *chain, int32_t first, int32_t last,
                                 hr_image_program *program, hr_error *error)
{
    preparing *p = chain->context;
    hr_piece *piece;
    if (first == last && hr_device_program_is_plain(program) &&
        hr_device_op(p->g->pipeline->device, chain->nodes[first]->def))
        return prepare_alone(chain, first, error);
    hr_op_call c = chain->calls[first];
    c.arena = p->scratch;
    chain->failed = last;
    HR_TRY(piece_add(p, chain->nodes[first], chain->nodes[last], &piece, error));
    hr_program_describe(program, &chain->calls[last].out[0]);
    HR_TRY(
        hr_device_program_make(program, &p->batch->launch->staging, &piece->work->program, error));
    chain->failed = first;
    HR_TRY(stage_source(p, program, &c, piece, error));
    chain->failed = last;
    return piece_end(p, piece, last + 1 < chain->count, &chain->calls[last], error);
}

/* ---- samples like one before ---- */

/* Whether a step does the same for all samples whose inputs have the same description: nothing in
 * it is drawn, is read from host memory, or has values of its own for each sample. */
static bool same_for_all(const hr_group *g, const hr_plan_step *step)
{
    const int own = HR_OP_RANDOM | HR_OP_FUNCTION | HR_OP_TO_DEVICE | HR_OP_MERGE;
    for (int32_t k = 0; k < step->count; k++) {
        const hr_node *node = hr__plan_node(g->pipeline, step->first + k);
        const hr_op_def *def = node->def;
        bool decodes = def->lower && def->lower_rank == HR_LOWER_RANK_SOURCE;
        if ((def->flags & own) || decodes || node->guarded || node->arg_input_count > 0 ||
            g->pipeline->plan->inferred[node->index] >= 0 || (k > 0 && node->input_count > 1))
            return false;
        for (int32_t i = 0; i < node->input_count; i++)
            if (hr_input_of(def, i)->host)
                return false;
    }
    return true;
}

/* Lets later samples share the work of the piece, if it is all that the step has made of this one.
 * `memo` may hold what belongs to one sample. */
static void keep_model(hr_group *g, const hr_plan_step *step, const hr_piece *first,
                       const preparing *p, const hr_op_call *last)
{
    bool alone = first && first == p->last && !first->inside && !first->work->call.memo;
    bool own_name = last->source_info != g->tasks[p->i].info;
    if (alone && !own_name && first->kind != HR_PIECE_KIND_IMAGE &&
        first->kind != HR_PIECE_KIND_PIXELS && same_for_all(g, step))
        p->batch->models[g->worker->number] = first;
}

typedef struct alike { /* a piece, and what it refers to */
    hr_piece piece;
    hr_tensor *slots[];
} alike;

/* Makes a piece with the work of the model. NULL: the sample's inputs are different, or there is no
 * memory. `first`: the step's first node. */
static hr_piece *make_alike(hr_group *g, hr_arena *arena, const hr_piece *model,
                            const hr_node *first, int32_t i)
{
    size_t n_in = (size_t)model->n_in, n_out = (size_t)model->n_out;
    alike *made = hr_arena_alloc(arena, sizeof(*made) + (n_in + n_out) * sizeof(hr_tensor *), NULL);
    if (!made)
        return NULL;
    made->piece = *model;
    made->piece.next = NULL;
    made->piece.shared = true;
    made->piece.sample = g->first + i;
    made->piece.info = NULL;
    made->piece.in = made->slots;
    made->piece.out = made->slots + n_in;
    for (size_t k = 0; k < n_in; k++) {
        int32_t value = hr_plan_value_find(g->pipeline->plan, first->inputs[k]);
        const hr_tensor *in = made->piece.in[k] = hr__crossing(g, value, i);
        made->piece.info = made->piece.info ? made->piece.info : in->source_info;
        if (!hr__described_alike(in, model->in[k]))
            return NULL;
    }
    made->piece.info = made->piece.info ? made->piece.info : hr__sample_at(g, i)->info;
    for (size_t k = 0; k < n_out; k++) {
        int32_t value = hr__value_of(g->pipeline, model->node, (int32_t)k);
        hr_tensor *slot = made->piece.out[k] = hr__crossing(g, value, i);
        hr_buffer_unref(slot->buffer);
        *slot = *model->out[k];
        slot->data = NULL; /* the model may have been launched */
        slot->buffer = NULL;
        slot->source_info = made->piece.info;
    }
    return &made->piece;
}

/* Where the sample's next piece goes. */
static hr_piece ***link_of(hr_group *g, int32_t i)
{
    hr_task *task = &g->tasks[i];
    if (!task->link) {
        task->link = &g->device->pieces[g->first + i];
        *task->link = NULL; /* pieces of an earlier attempt */
    }
    return &task->link;
}

int32_t hr__device_prepare_alike(hr_group *g, const hr_plan_step *step, int32_t i)
{
    hr_device_batch *batch = g->device;
    const hr_plan *plan = g->pipeline->plan;
    const hr_node *first = hr__plan_node(g->pipeline, step->first);
    const hr_piece *model = batch->models[g->worker->number];
    int32_t end = i;
    if (!model || model->step != (int32_t)(step - plan->steps) || batch->again)
        return 0;
    hr_arena *arena = batch->arenas[g->worker->number];
    for (; end < g->count && hr__sample_alive(hr__sample_at(g, end)); end++) {
        hr_piece *piece = make_alike(g, arena, model, first, end);
        if (!piece)
            break;
        hr_piece ***link = link_of(g, end);
        **link = piece;
        *link = &piece->next;
        g->tasks[end].node = first;
        g->tasks[end].info = piece->info;
    }
    return end - i;
}

hr_status hr__device_prepare(hr_group *g, const hr_plan_step *step, int32_t i, const hr_node **at,
                             hr_error *error)
{
    static const hr_chain_actions prepare = {prepare_program, prepare_alone};
    hr_device_batch *batch = g->device;
    int32_t sample = g->first + i;
    if (batch->again && !batch->redo[sample])
        return HR_STATUS_OK;
    hr_piece ***link = link_of(g, i);
    preparing p = {.g = g,
                   .batch = batch,
                   .scratch = g->arena,
                   .i = i,
                   .step = (int32_t)(step - g->pipeline->plan->steps),
                   .link = link};
    g->arena = batch->arenas[g->worker->number];
    hr_chain chain = {.context = &p};
    hr_piece **begin = *link;
    hr_status status = hr__chain_build(g, step, i, &chain, at, error);
    if (status == HR_STATUS_OK) {
        status = hr__chain_walk(&chain, &prepare, error);
        *at = chain.nodes[chain.failed];
    }
    if (status == HR_STATUS_OK)
        keep_model(g, step, *begin, &p, &chain.calls[chain.count - 1]);
    g->arena = p.scratch;
    return status;
}
