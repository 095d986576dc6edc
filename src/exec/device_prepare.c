/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Prepares a sample for the device: the same as exec/chain.c up to the point where pixels are
 * processed. Operators only describe their outputs and lower themselves, so that most need no code
 * for devices. */
#include <string.h>

#include "exec/call.h"
#include "exec/device_batch.h"
#include "image/program.h"

typedef struct preparing {
    hr_group *g;
    hr_device_batch *batch;
    hr_arena *scratch; /* the worker's arena, reset when the task ends */
    int32_t i;         /* sample of the group */
    int32_t step;      /* its number in the plan */
    hr_piece ***link;  /* the sample's: where the next piece goes */
} preparing;

static hr_status piece_add(preparing *p, const hr_node *node, hr_piece **out, hr_error *error)
{
    hr_piece *piece = hr_arena_alloc(p->g->arena, sizeof(*piece), error);
    if (!piece)
        return HR_STATUS_NO_MEMORY;
    memset(piece, 0, sizeof(*piece));
    piece->node = node;
    piece->sample = p->g->first + p->i;
    piece->step = p->step;
    **p->link = *out = piece;
    *p->link = &piece->next;
    return HR_STATUS_OK;
}

/* Finds the inputs of a step's first node, which other stages or steps made. */
static hr_status find_inputs(preparing *p, hr_piece *piece, const hr_node *node, hr_error *error)
{
    piece->n_in = node->input_count;
    piece->in = hr_arena_alloc(p->g->arena, ((size_t)piece->n_in + 1) * sizeof(*piece->in), error);
    if (!piece->in)
        return HR_STATUS_NO_MEMORY;
    for (int32_t k = 0; k < piece->n_in; k++)
        piece->in[k] =
            hr__crossing(p->g, hr_plan_value_find(p->g->pipeline->plan, node->inputs[k]), p->i);
    return HR_STATUS_OK;
}

/* Describes the outputs of a step's last node for other steps. */
static hr_status put_outputs(preparing *p, hr_piece *piece, const hr_op_call *c, hr_error *error)
{
    const hr_pipeline *pipeline = p->g->pipeline;
    const char *info = c->source_info;
    if (info && info != c->task->info) {
        info = hr__name_keep(hr__sample_at(p->g, p->i), info, error);
        if (!info)
            return HR_STATUS_NO_MEMORY;
    }
    piece->n_out = c->n_out;
    piece->out = hr_arena_alloc(p->g->arena, ((size_t)c->n_out + 1) * sizeof(*piece->out), error);
    if (!piece->out)
        return HR_STATUS_NO_MEMORY;
    for (int32_t k = 0; k < c->n_out; k++) {
        int32_t value = hr__value_of(pipeline, piece->node, k);
        hr_tensor *slot = hr__crossing(p->g, value, p->i);
        hr_buffer_unref(slot->buffer);
        *slot = c->out[k];
        slot->data = NULL;
        slot->buffer = NULL;
        slot->source_info = info;
        piece->out[k] = slot;
    }
    return HR_STATUS_OK;
}

/* The output of a piece inside a chain is the tensor of its call, which the next piece reads. */
static hr_status put_inside(preparing *p, hr_piece *piece, hr_op_call *c, hr_error *error)
{
    piece->n_out = 1;
    piece->inside = true;
    piece->out = hr_arena_alloc(p->g->arena, sizeof(*piece->out), error);
    if (!piece->out)
        return HR_STATUS_NO_MEMORY;
    piece->out[0] = &c->out[0];
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
        piece->kind = HR_PIECE_KIND_PICTURE;
        if (status != HR_STATUS_NOT_FUSABLE)
            return status;
    }
    piece->kind = HR_PIECE_KIND_PIXELS;
    return stage_pixels(program, window, staging, c, &piece->pixels, error);
}

static hr_status prepare_program(preparing *p, hr_chain *chain, int32_t first, int32_t last,
                                 hr_image_program *program, hr_piece *piece, hr_error *error)
{
    hr_op_call c = chain->calls[first];
    c.arena = p->scratch;
    chain->failed = last;
    hr_program_describe(program, &chain->calls[last].out[0]);
    HR_TRY(hr_device_program_make(program, &p->batch->launch->staging, &piece->program, error));
    chain->failed = first;
    return stage_source(p, program, &c, piece, error);
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

/* Prepares a node that is not part of a program. hr__device_open has checked that the module has
 * the operator, or that it may become part of one. */
static hr_status prepare_alone(preparing *p, hr_chain *chain, int32_t i, hr_piece *piece,
                               hr_error *error)
{
    hr_op_call *c = &chain->calls[i];
    chain->failed = i;
    for (int32_t k = 0; k < c->n_in && !(c->def->flags & HR_OP_TO_DEVICE); k++)
        if (!hr_input_of(c->def, k)->host)
            ((hr_tensor *)c->in)[k].data = NULL; /* device memory, not accessible here */
    c->staging = &p->batch->launch->staging;
    if (c->def->infer)
        HR_TRY(c->def->infer(c, error));
    piece->call = *c;
    piece->call.task = NULL; /* not valid any more at the launch */
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

/* Prepares a chain piece by piece, with the same programs as hr__chain_run. */
static hr_status prepare_chain(preparing *p, hr_chain *chain, hr_error *error)
{
    hr_piece *piece = NULL, *before;
    for (int32_t i = 0, end; i < chain->count; i = end) {
        hr_image_program program;
        before = piece;
        if (before)
            ((hr_tensor *)chain->calls[i].in)[0] = *before->out[0];
        chain->failed = i;
        HR_TRY(piece_add(p, chain->nodes[i], &piece, error));
        HR_TRY(find_inputs(p, piece, chain->nodes[i], error));
        if (before)
            piece->in[0] = before->out[0];
        HR_TRY(hr__chain_lower(chain, i, &program, &end, error));
        if (end == i + 1 && hr_device_program_is_plain(&program) &&
            hr_device_op(p->g->pipeline->device, chain->nodes[i]->def))
            end = i;
        if (end > i) {
            piece->node = chain->nodes[end - 1];
            HR_TRY(prepare_program(p, chain, i, end - 1, &program, piece, error));
        } else {
            HR_TRY(prepare_alone(p, chain, i, piece, error));
            end = i + 1;
        }
        hr_op_call *c = &chain->calls[end - 1];
        HR_TRY(end < chain->count ? put_inside(p, piece, c, error)
                                  : put_outputs(p, piece, c, error));
    }
    return HR_STATUS_OK;
}

static hr_status prepare_step(preparing *p, const hr_plan_step *step, const hr_node **at,
                              hr_error *error)
{
    hr_group *g = p->g;
    size_t count = (size_t)step->count;
    const hr_node **nodes = hr_arena_alloc(g->arena, count * sizeof(*nodes), error);
    hr_op_call *calls = hr_arena_alloc(g->arena, count * sizeof(*calls), error);
    if (!nodes || !calls)
        return HR_STATUS_NO_MEMORY;
    for (int32_t k = 0; k < step->count; k++) {
        *at = nodes[k] = hr__plan_node(g->pipeline, step->first + k);
        g->tasks[p->i].node = nodes[k];
        HR_TRY(hr__call_build(g, nodes[k], p->i, 1, k > 0, &calls[k], error));
    }
    g->tasks[p->i].node = nodes[0];
    hr_chain chain = {.nodes = nodes, .calls = calls, .count = step->count};
    hr_status status = prepare_chain(p, &chain, error);
    *at = nodes[chain.failed];
    return status;
}

hr_status hr__device_prepare(hr_group *g, const hr_plan_step *step, int32_t i, const hr_node **at,
                             hr_error *error)
{
    hr_device_batch *batch = g->device;
    int32_t sample = g->first + i;
    if (batch->again && !batch->redo[sample])
        return HR_STATUS_OK;
    hr_task *task = &g->tasks[i];
    if (!task->link) {
        task->link = &batch->pieces[sample];
        *task->link = NULL; /* pieces of an earlier attempt */
    }
    preparing p = {.g = g,
                   .batch = batch,
                   .scratch = g->arena,
                   .i = i,
                   .step = (int32_t)(step - g->pipeline->plan->steps),
                   .link = &task->link};
    g->arena = batch->arenas[g->worker->number];
    hr_status status = prepare_step(&p, step, at, error);
    g->arena = p.scratch;
    return status;
}
