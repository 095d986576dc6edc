/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fills in the calls of operators for samples, and the chains of a step. */
#include "exec/call.h"

#include <string.h>

#include "exec/branch.h"
#include "exec/source.h"

static const char *find_info(const hr_tensor *in, size_t n_in, const char *otherwise)
{
    for (size_t k = 0; k < n_in; k++)
        if (in[k].source_info)
            return in[k].source_info;
    return otherwise;
}

static hr_rng rng_of(const hr_group *g, const hr_node *node, int32_t i)
{
    const hr_sample *s = hr__sample_at(g, i);
    const hr_sampler_item item =
        s->sources ? s->sources[0].item
                   : (hr_sampler_item){g->iteration->first_sample + s->index, 0, 0};
    return hr_rng_make(g->pipeline->node_seeds[node->index], item.index, (uint32_t)item.epoch,
                       (uint32_t)item.repeat);
}

hr_status hr__inputs_check(const hr_op_call *c, int32_t first, hr_error *error)
{
    if (c->def->flags & HR_OP_ENUMS)
        return HR_STATUS_OK;
    for (int32_t k = first; k < c->n_in; k++)
        if (hr_dtype_is_enum(c->in[k].dtype))
            return hr_fail(error, HR_STATUS_ERROR,
                           "input %d has elements of type %s, which are not numbers: convert them "
                           "with fn.cast",
                           (int)k, hr_dtype_name(c->in[k].dtype));
    return HR_STATUS_OK;
}

hr_status hr__call_build(hr_group *g, const hr_node *node, int32_t i, int32_t n, bool inside,
                         hr_op_call *c, hr_error *error)
{
    size_t n_in = (size_t)node->input_count, n_out = (size_t)node->output_count;
    int32_t draws = node->def->flags & HR_OP_RANDOM ? n : 0;
    hr_tensor *tensors = hr_arena_alloc(
        g->arena, (n_in + n_out + 1) * sizeof(hr_tensor) + (size_t)draws * sizeof(hr_rng), error);
    HR_TRY_ALLOC(tensors);
    hr_rng *rngs = (hr_rng *)(void *)(tensors + n_in + n_out + 1);
    for (size_t k = inside; k < n_in; k++)
        tensors[k] = hr__value_get(g, hr_plan_value_find(g->pipeline->plan, node->inputs[k]), i);
    memset(tensors + n_in, 0, n_out * sizeof(hr_tensor));
    if (g->pipeline->plan->inferred[node->index] >= 0)
        for (int32_t k = 0; k < node->output_count; k++)
            tensors[n_in + (size_t)k] = *hr__inferred(g, node, k, i);
    for (int32_t k = 0; k < draws; k++)
        rngs[k] = rng_of(g, node, i + k);
    hr_task *task = &g->tasks[i];
    if (!inside)
        task->info = find_info(tensors, n_in, hr__sample_at(g, i)->info);
    *c = (hr_op_call){
        .def = node->def,
        .state = g->pipeline->states[node->index],
        .in = tensors,
        .n_in = (int32_t)n_in,
        .out = tensors + n_in,
        .n_out = (int32_t)n_out,
        .source_info = task->info,
        .arena = g->arena,
        .task = task,
        .kernels = g->pipeline->kernels,
        .count = n,
        .rngs = draws > 0 ? rngs : NULL,
        .function = node->function,
    };
    if (draws > 0)
        c->rng = rngs[0];
    HR_TRY(hr__local_get(g->worker, node, &c->local, error));
    HR_TRY(hr__inputs_check(c, inside, error));
    return hr__value_args(g, node, i, &c->args, error);
}

/* Whether the sample goes through a node inside a chain. It skips merges, which only pass on their
 * input, and nodes of branches that it does not take. */
static hr_status takes(const hr_group *g, const hr_node *node, int32_t i, bool *yes,
                       hr_error *error)
{
    *yes = !(node->def->flags & HR_OP_MERGE);
    return *yes && node->guarded ? hr__guard_holds(g, node, i, yes, error) : HR_STATUS_OK;
}

hr_status hr__chain_build(hr_group *g, const hr_plan_step *step, int32_t i, hr_chain *chain,
                          const hr_node **at, hr_error *error)
{
    size_t count = (size_t)step->count;
    const hr_node **nodes = hr_arena_alloc(g->arena, count * sizeof(*nodes), error);
    hr_op_call *calls = hr_arena_alloc(g->arena, count * sizeof(*calls), error);
    HR_TRY_ALLOC(nodes && calls);
    int32_t n = 0;
    for (int32_t k = 0; k < step->count; k++) {
        bool yes = true;
        *at = nodes[n] = hr__plan_node(g->pipeline, step->first + k);
        g->tasks[i].node = nodes[n];
        if (k > 0)
            HR_TRY(takes(g, nodes[n], i, &yes, error));
        if (yes)
            HR_TRY(hr__call_build(g, nodes[n], i, 1, k > 0, &calls[n], error));
        n += yes;
    }
    g->tasks[i].node = nodes[0];
    chain->nodes = nodes;
    chain->calls = calls;
    chain->count = n;
    return HR_STATUS_OK;
}
