/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Takes one sample through a node, or through a chain of nodes, with as few image programs as
 * possible. Fusion is decided per sample: a node that cannot join the program for this sample
 * starts a new one. */
#include <string.h>

#include "core/core.h"
#include "exec/call.h"
#include "image/program.h"

/* Wraps a program's coded source to measure the time spent decoding. */
typedef struct timed_source {
    hr_image_source inner;
    int64_t *ns;
    int64_t stall_us;
} timed_source;

static hr_status timed_decode(void *context, hr_window window, void *dst, size_t stride,
                              hr_op_call *c, hr_error *error)
{
    timed_source *t = context;
    int64_t start = hr_clock_ns();
    hr__stall_for(t->stall_us);
    hr_status status = t->inner.decode(t->inner.context, window, dst, stride, c, error);
    *t->ns += hr_clock_ns() - start;
    return status;
}

static hr_status timed_open(void *context, hr_window window, hr_op_call *c, hr_error *error)
{
    timed_source *t = context;
    int64_t start = hr_clock_ns();
    hr_status status = t->inner.open(t->inner.context, window, c, error);
    if (status == HR_STATUS_OK)
        hr__stall_for(t->stall_us);
    *t->ns += hr_clock_ns() - start;
    return status;
}

static hr_status timed_read(void *context, void *dst, size_t stride, int32_t rows, hr_error *error)
{
    timed_source *t = context;
    int64_t start = hr_clock_ns();
    hr_status status = t->inner.read(t->inner.context, dst, stride, rows, error);
    *t->ns += hr_clock_ns() - start;
    return status;
}

/* The array of inputs belongs to the executor; it is const only for operators. */
static void set_input(hr_op_call *c, const hr_tensor *t)
{
    ((hr_tensor *)c->in)[0] = *t;
}

/* The operator can only run as a program, and no program supports this input. */
static hr_status unsupported(hr_error *error)
{
    if (!error || error->status != HR_STATUS_NOT_FUSABLE)
        return hr_fail(error, HR_STATUS_ERROR, "this input is not supported");
    error->status = HR_STATUS_ERROR;
    return hr_error_prefix(error, "this input is not supported");
}

/* Lowers as many nodes as possible, from `i` on, into a program. `*end`: the first one that could
 * not join. */
static hr_status lower(hr_chain *chain, int32_t i, hr_image_program *p, int32_t *end,
                       hr_error *error)
{
    const hr_op_def *def = chain->nodes[i]->def;
    *end = i;
    chain->failed = i;
    HR_TRY(hr__inputs_check(&chain->calls[i], 0, error));
    if (!def->lower)
        return HR_STATUS_OK;
    if (def->lower_rank != HR_LOWER_RANK_SOURCE) {
        hr_status status =
            hr_program_from_tensor(p, &chain->calls[i].in[0], def->in[0].layouts, error);
        if (status != HR_STATUS_OK && hr_op_has_run(def))
            return HR_STATUS_OK;
        if (status != HR_STATUS_OK)
            return status == HR_STATUS_NOT_FUSABLE ? unsupported(error) : status;
    }
    for (int32_t k = i; k < chain->count && chain->nodes[k]->def->lower; k++) {
        if (k > i && chain->nodes[k]->def->lower_rank == HR_LOWER_RANK_SOURCE)
            break;
        chain->failed = k;
        hr_status status = chain->nodes[k]->def->lower(&chain->calls[k], p, error);
        if (status == HR_STATUS_NOT_FUSABLE && k == i && !hr_op_has_run(def))
            return unsupported(error);
        if (status == HR_STATUS_NOT_FUSABLE)
            break;
        HR_TRY(status);
        *end = k + 1;
    }
    return HR_STATUS_OK;
}

static hr_status run_program(hr_chain *chain, int32_t first, int32_t last, hr_image_program *p,
                             hr_error *error)
{
    hr_tensor *out = &chain->calls[last].out[0];
    hr_program_describe(p, out);
    chain->failed = last;
    HR_TRY(chain->memory(chain->context, last, 0, out, error));
    timed_source timed = {p->coded, chain->decode_ns, chain->stall_decode_us};
    if (p->coded.decode)
        p->coded = (hr_image_source){&timed, timed_decode, p->coded.open ? timed_open : NULL,
                                     p->coded.read ? timed_read : NULL};
    chain->failed = first;
    return hr_program_run(p, &chain->calls[first], out->data, error);
}

/* Runs a single node without a program: infer, memory, run. */
static hr_status run_alone(hr_chain *chain, int32_t i, hr_error *error)
{
    hr_op_call *c = &chain->calls[i];
    chain->failed = i;
    if (!hr_op_has_run(c->def))
        return hr_fail(error, HR_STATUS_ERROR, "this input is not supported");
    if (c->def->infer)
        HR_TRY(c->def->infer(c, error));
    for (int32_t k = 0; k < c->n_out; k++)
        if (!(c->def->flags & HR_OP_VIEW) && !c->out[k].data)
            HR_TRY(chain->memory(chain->context, i, k, &c->out[k], error));
    return hr_op_run(c, error);
}

hr_status hr__chain_walk(hr_chain *chain, const hr_chain_actions *actions, hr_error *error)
{
    for (int32_t i = 0, end; i < chain->count; i = end) {
        hr_image_program p;
        if (i > 0)
            set_input(&chain->calls[i], &chain->calls[i - 1].out[0]);
        HR_TRY(lower(chain, i, &p, &end, error));
        if (end > i) {
            HR_TRY(actions->program(chain, i, end - 1, &p, error));
        } else {
            HR_TRY(actions->alone(chain, i, error));
            end = i + 1;
        }
    }
    return HR_STATUS_OK;
}

hr_status hr__chain_run(hr_chain *chain, hr_error *error)
{
    static const hr_chain_actions run = {run_program, run_alone};
    return hr__chain_walk(chain, &run, error);
}
