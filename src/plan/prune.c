/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Drops nodes that no output or preserved node needs. */
#include "plan/pass.h"

static void want(hr_plan *plan, int32_t node)
{
    plan->replaced[node] = node;
}

void hr__plan_prune(hr__planning *p)
{
    hr_plan *plan = p->plan;
    const hr_graph *graph = plan->graph;
    for (int32_t i = 0; i < graph->count; i++)
        plan->replaced[i] = graph->nodes[i]->preserve ? i : -1;
    for (int32_t i = 0; i < graph->output_count; i++)
        want(plan, graph->outputs[i].node);
    /* Inputs come before their consumers, so one backward pass is enough. */
    for (int32_t i = graph->count - 1; i >= 0; i--) {
        const hr_node *node = graph->nodes[i];
        if (plan->replaced[i] < 0)
            continue;
        for (int32_t k = 0; k < node->input_count; k++)
            want(plan, node->inputs[k].node);
        for (int32_t k = 0; k < node->arg_input_count; k++)
            want(plan, node->arg_inputs[k].edge.node);
        if (node->guarded)
            want(plan, node->guard.predicate.node);
    }
}
