/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs equal nodes only once: same operator, same arguments, same inputs. Random operators are
 * equal only if they draw the same numbers; sources and operators that need iterations in
 * order never are. Two pipeline outputs are not merged, because users write into them. */
#include "graph/value.h"
#include "plan/edge.h"
#include "plan/pass.h"

#include <string.h>

#define BUCKETS 256

/* Generated names begin with "__". As in DALI, a node with a given name is not merged. */
static bool named(const hr_node *node)
{
    return strncmp(node->name, "__", 2) != 0;
}

static bool mergeable(const hr_node *node)
{
    return !named(node) && !node->def->source && !(node->def->flags & HR_OP_ORDERED);
}

static bool draws_equal(const hr_node *a, const hr_node *b)
{
    if (!(a->def->flags & HR_OP_RANDOM))
        return true;
    return a->seed == b->seed && (a->seed >= 0 || a->draws == b->draws);
}

static bool is_output(const hr_graph *graph, int32_t node)
{
    for (int32_t i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i].node == node)
            return true;
    }
    return false;
}

static bool per_sample(const hr_node *node, int32_t arg)
{
    for (int32_t i = 0; i < node->arg_input_count; i++) {
        if (node->arg_inputs[i].arg == arg)
            return true;
    }
    return false;
}

static bool edges_equal(const hr_plan *plan, const hr_node *a, const hr_node *b)
{
    int32_t n = hr__plan_edge_count(a);
    if (a->input_count != b->input_count || n != hr__plan_edge_count(b) ||
        a->guarded != b->guarded || (a->guarded && a->guard.when != b->guard.when))
        return false;
    for (int32_t i = 0; i < n; i++) {
        hr_edge x = hr__plan_edge(plan, a, i), y = hr__plan_edge(plan, b, i);
        if (x.node != y.node || x.output != y.output)
            return false;
    }
    /* Argument inputs are compared in the order given: another order only misses a merge. */
    for (int32_t i = 0; i < a->arg_input_count; i++) {
        if (a->arg_inputs[i].arg != b->arg_inputs[i].arg)
            return false;
    }
    return true;
}

static bool args_equal(const hr_node *a, const hr_node *b)
{
    const hr_arg_def *args = a->def->args;
    for (int32_t i = 0; args && args[i].type != HR_ARG_TYPE_END; i++) {
        if ((args[i].flags & HR_ARG_IGNORED) || args[i].use || per_sample(a, i))
            continue;
        if (!hr__field_equal(&args[i], (const char *)a->args + args[i].offset,
                             (const char *)b->args + args[i].offset))
            return false;
    }
    return true;
}

static uint32_t bucket(const hr_plan *plan, const hr_node *node)
{
    uint64_t h = hr_mix((uint64_t)(uintptr_t)node->def, (uint64_t)node->seed);
    int32_t n = hr__plan_edge_count(node);
    for (int32_t i = 0; i < n; i++) {
        hr_edge edge = hr__plan_edge(plan, node, i);
        h = hr_mix(h, (uint64_t)edge.node << 8 | (uint32_t)edge.output);
    }
    return (uint32_t)(h % BUCKETS);
}

hr_status hr__plan_merge(hr__planning *p, hr_error *error)
{
    hr_plan *plan = p->plan;
    const hr_graph *graph = plan->graph;
    int32_t last[BUCKETS];
    int32_t *before = hr_calloc((size_t)graph->count + 1, sizeof(*before), error);
    HR_TRY_ALLOC(before);
    for (int32_t i = 0; i < BUCKETS; i++)
        last[i] = -1;
    for (int32_t i = 0; i < graph->count; i++) {
        const hr_node *node = graph->nodes[i];
        if (plan->replaced[i] < 0 || !mergeable(node))
            continue;
        uint32_t b = bucket(plan, node);
        int32_t k = last[b];
        while (k >= 0) {
            const hr_node *other = graph->nodes[k];
            if (other->def == node->def && draws_equal(other, node) &&
                edges_equal(plan, other, node) && args_equal(other, node))
                break;
            k = before[k];
        }
        if (k >= 0 && !(is_output(graph, k) && is_output(graph, i))) {
            plan->replaced[i] = k;
        } else {
            before[i] = last[b];
            last[b] = i;
        }
    }
    hr_free(before);
    return HR_STATUS_OK;
}
