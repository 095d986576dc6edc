/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Orders steps and groups them into stages. Per-sample work shares a stage where possible; only
 * nodes that need the whole batch, or iterations in order, end one. */
#include "plan/edge.h"
#include "plan/pass.h"

/* Whether the node has a stage of its own. */
static bool cuts(const hr_node *node)
{
    if (node->def->source)
        return false;
    return (node->def->run_batch && hr_node_whole_batch(node)) ||
           (node->def->flags & HR_OP_ORDERED);
}

static bool in_chain(const hr__planning *p, int32_t head, int32_t node)
{
    while (head >= 0 && head != node)
        head = p->next[head];
    return head >= 0;
}

/* `stage`: the first step of the stage being made. Data that a device copies to the host is
 * available only after its stage. */
static bool ready(const hr__planning *p, int32_t head, int32_t stage)
{
    for (int32_t i = head; i >= 0; i = p->next[i]) {
        const hr_node *node = p->plan->graph->nodes[i];
        int32_t n = hr__plan_edge_count(node);
        for (int32_t k = 0; k < n; k++) {
            int32_t input = hr__plan_edge(p->plan, node, k).node;
            if (p->step_of[input] < 0 && !in_chain(p, head, input))
                return false;
            if ((p->plan->graph->nodes[input]->def->flags & HR_OP_TO_HOST) &&
                p->step_of[input] >= stage)
                return false;
        }
    }
    return true;
}

static void step_add(hr__planning *p, int32_t head)
{
    hr_plan *plan = p->plan;
    hr_plan_step *step = &plan->steps[plan->step_count];
    step->first = plan->order_count;
    for (int32_t i = head; i >= 0; i = p->next[i]) {
        plan->order[plan->order_count++] = i;
        p->step_of[i] = plan->step_count;
        step->count++;
    }
    plan->step_count++;
}

static bool stage_cheap(const hr_plan *plan, const hr_plan_stage *stage)
{
    for (int32_t s = stage->first; s < stage->first + stage->count; s++) {
        for (int32_t i = 0; i < plan->steps[s].count; i++) {
            const hr_op_def *def = plan->graph->nodes[plan->order[plan->steps[s].first + i]]->def;
            if (!(def->flags & HR_OP_CHEAP) && !hr_op_is_fed(def))
                return false;
        }
    }
    return true;
}

/* Makes a stage of the steps from `first` on. */
static void stage_add(hr_plan *plan, int32_t first, hr_stage_kind kind, const hr_node *alone)
{
    if (plan->step_count == first)
        return;
    hr_plan_stage *stage = &plan->stages[plan->stage_count++];
    *stage = (hr_plan_stage){.kind = kind,
                             .ordered = alone && (alone->def->flags & HR_OP_ORDERED),
                             .first = first,
                             .count = plan->step_count - first};
    bool whole = kind == HR_STAGE_KIND_BATCH || stage->ordered || stage_cheap(plan, stage);
    stage->group = stage->ordered || (whole && kind != HR_STAGE_KIND_DEVICE) ? 0 : 1;
}

/* The first node of the chain that ends in `last`. */
static int32_t chain_head(const hr__planning *p, int32_t last)
{
    while (p->prev[last] >= 0)
        last = p->prev[last];
    return last;
}

typedef enum step_kind {
    STEP_SOURCE,
    STEP_SAMPLE,
    STEP_DEVICE,
    STEP_DEVICE_CUT, /* on a device, in a stage of its own */
    STEP_CUT,
    STEP_INFER
} step_kind;

static step_kind device_kind(const hr_node *node)
{
    return node->def->flags & HR_OP_ORDERED ? STEP_DEVICE_CUT : STEP_DEVICE;
}

/* A node with infer_batch first gets an INFER stage, then a step like any other node, unless
 * run_batch describes its outputs. */
static step_kind kind_of(const hr_plan *plan, const hr_node *node)
{
    bool infers = node->def->infer_batch && plan->inferred[node->index] < 0 &&
                  (hr_node_on_device(node) || !node->def->run_batch);
    /* A permutation copies no elements, so it runs on the host for any device. */
    bool permutes = (node->def->flags & HR_OP_VIEW) && cuts(node);
    /* Sources run first, except for a reader with arguments per sample, which are made before it.
     */
    return node->def->source && node->arg_input_count == 0 ? STEP_SOURCE
           : node->def->source                             ? STEP_SAMPLE
           : infers && hr_node_whole_batch(node)           ? STEP_INFER
           : permutes                                      ? STEP_CUT
           : hr_node_on_device(node)                       ? device_kind(node)
           : cuts(node)                                    ? STEP_CUT
                                                           : STEP_SAMPLE;
}

static void infer_add(hr_plan *plan, const hr_node *node)
{
    plan->stages[plan->stage_count++] = (hr_plan_stage){
        .kind = HR_STAGE_KIND_INFER, .first = plan->step_count, .infers = node->index};
    plan->inferred[node->index] = plan->inferred_count;
    plan->inferred_count += node->output_count;
}

/* Adds every step of the kind that is ready. All inputs of a chain are defined before its last
 * node, so the order of last nodes is topological and one pass is enough. */
static void steps_add(hr__planning *p, step_kind kind)
{
    hr_plan *plan = p->plan;
    int32_t stage = plan->step_count;
    for (int32_t last = 0; last < plan->graph->count; last++) {
        const hr_node *node = plan->graph->nodes[last];
        if (plan->replaced[last] != last || p->next[last] >= 0 || p->step_of[last] >= 0 ||
            kind_of(plan, node) != kind)
            continue;
        int32_t head = chain_head(p, last), first = plan->step_count;
        if (!ready(p, head, stage))
            continue;
        if (kind == STEP_INFER) {
            infer_add(plan, node);
            continue;
        }
        step_add(p, head);
        if (kind == STEP_DEVICE_CUT)
            stage_add(plan, first, HR_STAGE_KIND_DEVICE, node);
        if (kind == STEP_CUT)
            stage_add(plan, first,
                      hr_node_whole_batch(node) ? HR_STAGE_KIND_BATCH : HR_STAGE_KIND_SAMPLE, node);
    }
}

/* Lists the sources; the primary one (the first that is not fed, if there is one) comes first. */
static void sources_list(hr_plan *plan)
{
    for (int32_t i = 0; i < plan->graph->count; i++) {
        const hr_op_def *def = plan->graph->nodes[i]->def;
        if (plan->replaced[i] != i || !def->source)
            continue;
        int32_t k = plan->source_count++;
        bool primary = !hr_op_is_fed(def);
        for (int32_t j = 0; j < k; j++)
            primary = primary && hr_op_is_fed(plan->graph->nodes[plan->sources[j]]->def);
        for (; primary && k > 0; k--)
            plan->sources[k] = plan->sources[k - 1];
        plan->sources[k] = i;
    }
}

hr_status hr__plan_group(hr__planning *p, hr_error *error)
{
    hr_plan *plan = p->plan;
    size_t n = (size_t)plan->graph->count + 1;
    int32_t planned = 0;
    plan->order = hr_calloc(n, sizeof(*plan->order), error);
    plan->steps = plan->order ? hr_calloc(n, sizeof(*plan->steps), error) : NULL;
    plan->stages = plan->steps ? hr_calloc(2 * n, sizeof(*plan->stages), error) : NULL;
    plan->sources = plan->stages ? hr_calloc(n, sizeof(*plan->sources), error) : NULL;
    plan->inferred = plan->sources ? hr_calloc(n, sizeof(*plan->inferred), error) : NULL;
    HR_TRY_ALLOC(plan->inferred);
    for (int32_t i = 0; i < plan->graph->count; i++) {
        p->step_of[i] = plan->inferred[i] = -1;
        planned += plan->replaced[i] == i;
    }
    sources_list(plan);
    int32_t first = 0;
    steps_add(p, STEP_SOURCE);
    /* Every round adds at least the earliest missing step, by its last node, or its INFER stage. */
    while (plan->order_count < planned || first < plan->step_count) {
        steps_add(p, STEP_SAMPLE);
        stage_add(plan, first, HR_STAGE_KIND_SAMPLE, NULL);
        first = plan->step_count;
        steps_add(p, STEP_DEVICE);
        stage_add(plan, first, HR_STAGE_KIND_DEVICE, NULL);
        steps_add(p, STEP_DEVICE_CUT);
        steps_add(p, STEP_CUT);
        steps_add(p, STEP_INFER);
        first = plan->step_count;
    }
    return HR_STATUS_OK;
}
