/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "plan/edge.h"

int32_t hr__plan_edge_count(const hr_node *node)
{
    return node->input_count + node->arg_input_count + node->guarded;
}

hr_edge hr__plan_edge(const hr_plan *plan, const hr_node *node, int32_t i)
{
    int32_t arg = i - node->input_count;
    hr_edge edge = arg < 0                       ? node->inputs[i]
                   : arg < node->arg_input_count ? node->arg_inputs[arg].edge
                                                 : node->guard.predicate;
    return (hr_edge){plan->replaced[edge.node], edge.output};
}

int32_t hr_plan_value_find(const hr_plan *plan, hr_edge edge)
{
    int32_t outputs = hr_graph_node_outputs(plan->graph, edge.node);
    if (edge.output < 0 || edge.output >= outputs || plan->replaced[edge.node] < 0)
        return -1;
    return plan->value_of[plan->replaced[edge.node]] + edge.output;
}
