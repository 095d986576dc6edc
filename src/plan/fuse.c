/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Links nodes that may become one image program: each the only consumer of the one before, ranks
 * going forward. Whether a sample's arguments allow it is asked of the operators' lower at run
 * time. */
#include "plan/pass.h"

static void uses_count(hr__planning *p)
{
    const hr_graph *graph = p->plan->graph;
    for (int32_t i = 0; i < graph->count; i++) {
        const hr_node *node = graph->nodes[i];
        if (p->plan->replaced[i] != i)
            continue;
        int32_t n = hr__plan_edge_count(node);
        for (int32_t k = 0; k < n; k++)
            p->uses[hr__plan_edge(p->plan, node, k).node]++;
    }
    for (int32_t i = 0; i < graph->output_count; i++)
        p->uses[p->plan->replaced[graph->outputs[i].node]]++;
}

static bool lowers(const hr_node *node)
{
    const hr_op_def *def = node->def;
    return def->lower && !hr_node_whole_batch(node) &&
           !(def->flags & (HR_OP_SOURCE | HR_OP_ORDERED)) && node->output_count == 1 &&
           node->input_count >= 1;
}

/* Rank that the chain ending in `last` has reached; windows do not count. */
static hr_lower_rank chain_rank(const hr__planning *p, int32_t last)
{
    for (int32_t i = last; i >= 0; i = p->prev[i]) {
        hr_lower_rank rank = p->plan->graph->nodes[i]->def->lower_rank;
        if (rank != HR_LOWER_RANK_WINDOW)
            return rank;
    }
    return HR_LOWER_RANK_WINDOW;
}

static bool follows(hr_lower_rank reached, hr_lower_rank rank)
{
    switch (rank) {
    case HR_LOWER_RANK_WINDOW:
        return true;
    case HR_LOWER_RANK_RESAMPLE:
    case HR_LOWER_RANK_NORMALIZE:
        return rank > reached;
    case HR_LOWER_RANK_POINT:
        return rank >= reached;
    default: /* a source starts its chain */
        return false;
    }
}

/* A chain runs for a sample or does not: all of it stands in one branch. */
static bool same_branch(const hr__planning *p, const hr_node *a, const hr_node *b)
{
    if (!a->guarded || !b->guarded)
        return a->guarded == b->guarded;
    hr_edge x = hr__plan_edge(p->plan, a, hr__plan_edge_count(a) - 1);
    hr_edge y = hr__plan_edge(p->plan, b, hr__plan_edge_count(b) - 1);
    return x.node == y.node && x.output == y.output && a->guard.when == b->guard.when;
}

void hr__plan_fuse(hr__planning *p)
{
    const hr_graph *graph = p->plan->graph;
    for (int32_t i = 0; i < graph->count; i++)
        p->next[i] = p->prev[i] = -1;
    uses_count(p);
    for (int32_t i = 0; i < graph->count && p->fuse; i++) {
        const hr_node *node = graph->nodes[i];
        if (p->plan->replaced[i] != i || !lowers(node))
            continue;
        int32_t before = hr__plan_edge(p->plan, node, 0).node;
        /* With one consumer nothing else can depend on `before`: no argument of the chain does. */
        if (p->uses[before] == 1 && lowers(graph->nodes[before]) &&
            hr_node_on_device(graph->nodes[before]) == hr_node_on_device(node) &&
            same_branch(p, graph->nodes[before], node) &&
            follows(chain_rank(p, before), node->def->lower_rank)) {
            p->next[before] = i;
            p->prev[i] = before;
        }
    }
}
