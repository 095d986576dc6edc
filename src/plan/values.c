/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Lists the values that pass between nodes: who makes and uses them, and in which memory. */
#include "plan/edge.h"
#include "plan/pass.h"

static int32_t stage_of_step(const hr_plan *plan, int32_t step)
{
    int32_t i = 0;
    while (step >= plan->stages[i].first + plan->stages[i].count)
        i++;
    return i;
}

static hr_status values_reserve(hr_plan *plan, hr_error *error)
{
    size_t count = 0, nodes = (size_t)plan->graph->count;
    plan->value_of = hr_calloc(nodes + 1, sizeof(*plan->value_of), error);
    HR_TRY_ALLOC(plan->value_of);
    for (size_t i = 0; i < nodes; i++)
        plan->value_of[i] = -1;
    for (int32_t i = 0; i < plan->order_count; i++)
        count += (size_t)plan->graph->nodes[plan->order[i]]->output_count;
    plan->values = hr_calloc(count + 1, sizeof(*plan->values), error);
    plan->outputs = plan->values
                        ? hr_calloc((size_t)plan->graph->output_count + 1, sizeof(int32_t), error)
                        : NULL;
    return plan->outputs ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

/* Whether the outputs of a node may share memory although it is not documented as a view: because
 * it borrows or keeps what it has read, or because it is a view of a value that does. Inputs come
 * first, so their values are known. */
static bool node_borrows(const hr_plan *plan, const hr_node *node)
{
    if (node->def->flags & HR_OP_BORROWS)
        return true;
    if (hr_op_is_reader(node->def)) /* later epochs use what it keeps */
        return ((const hr_sampler_args *)node->args)->cache_size > 0;
    if (!(node->def->flags & HR_OP_VIEW))
        return false;
    hr_edge edge = hr__plan_edge(plan, node, 0);
    return plan->values[plan->value_of[edge.node] + edge.output].borrows;
}

static void values_make(hr__planning *p)
{
    hr_plan *plan = p->plan;
    for (int32_t i = 0; i < plan->order_count; i++) {
        int32_t node = plan->order[i];
        int32_t stage = stage_of_step(plan, p->step_of[node]);
        bool internal = p->next[node] >= 0;
        /* A device's outputs do not exist before the launch, after the preparing tasks have ended.
         */
        bool outlives = plan->stages[stage].kind == HR_STAGE_KIND_DEVICE && !internal;
        bool borrows = node_borrows(plan, plan->graph->nodes[node]);
        plan->value_of[node] = plan->value_count;
        for (int32_t k = 0; k < plan->graph->nodes[node]->output_count; k++) {
            plan->values[plan->value_count++] = (hr_plan_value){.edge = {node, k},
                                                                .output = -1,
                                                                .made_in = -1,
                                                                .stage = stage,
                                                                .crosses = outlives,
                                                                .borrows = borrows,
                                                                .internal = internal};
        }
    }
}

static void values_use(hr__planning *p)
{
    hr_plan *plan = p->plan;
    for (int32_t i = 0; i < plan->order_count; i++) {
        const hr_node *node = plan->graph->nodes[plan->order[i]];
        int32_t stage = stage_of_step(plan, p->step_of[plan->order[i]]);
        int32_t n = hr__plan_edge_count(node);
        for (int32_t k = 0; k < n; k++) {
            hr_edge edge = hr__plan_edge(plan, node, k);
            hr_plan_value *value = &plan->values[plan->value_of[edge.node] + edge.output];
            value->uses++;
            value->crosses = value->crosses || stage > value->stage;
        }
    }
    for (int32_t i = 0; i < plan->graph->output_count; i++) {
        int32_t v = hr_plan_value_find(plan, plan->graph->outputs[i]);
        plan->outputs[plan->output_count++] = v;
        plan->values[v].uses++;
        if (plan->values[v].output < 0)
            plan->values[v].output = plan->values[v].made_in = i;
    }
}

/* A value made in a branch only for a merge is made in the output slots of the merge's pipeline
 * output: only one branch of a merge runs for a sample. */
static void values_memory(hr_plan *plan)
{
    for (int32_t i = plan->order_count - 1; i >= 0; i--) {
        const hr_node *node = plan->graph->nodes[plan->order[i]];
        if (!(node->def->flags & HR_OP_MERGE))
            continue;
        int32_t predicate = hr_plan_value_find(plan, hr_node_predicate(node));
        for (int32_t k = 0; k < node->input_count; k++) {
            hr_edge edge = hr__plan_edge(plan, node, k);
            const hr_node *from = plan->graph->nodes[edge.node];
            hr_plan_value *value = &plan->values[plan->value_of[edge.node] + edge.output];
            bool branch = from->guarded && from->guard.when == (k == 0) &&
                          hr_plan_value_find(plan, from->guard.predicate) == predicate;
            if (branch && value->uses == 1)
                value->made_in = plan->values[plan->value_of[node->index]].made_in;
        }
    }
}

hr_status hr__plan_values(hr__planning *p, hr_error *error)
{
    HR_TRY(values_reserve(p->plan, error));
    values_make(p);
    values_use(p);
    values_memory(p->plan);
    return HR_STATUS_OK;
}
