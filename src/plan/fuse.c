/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Links nodes that may become one image program. In a chain, each node is the only consumer of the
 * one before, and ranks do not fall. Branches that begin with the same image and are merged join
 * one chain; a sample goes through one of them. Whether a sample's arguments allow fusion is
 * decided at run time by the operators' lower. */
#include "plan/edge.h"
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
    return def->lower && !hr_node_whole_batch(node) && !def->source &&
           !(def->flags & HR_OP_ORDERED) && node->output_count == 1 && node->input_count >= 1;
}

/* The rank that the chain ending in `last` has reached, ignoring windows. */
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
    default: /* a source begins its chain */
        return false;
    }
}

/* A chain runs completely or not at all for a sample, so all of it is in one branch. */
static bool same_branch(const hr__planning *p, const hr_node *a, const hr_node *b)
{
    if (!a->guarded || !b->guarded)
        return a->guarded == b->guarded;
    hr_edge x = hr__plan_edge(p->plan, a, hr__plan_edge_count(a) - 1);
    hr_edge y = hr__plan_edge(p->plan, b, hr__plan_edge_count(b) - 1);
    return x.node == y.node && x.output == y.output && a->guard.when == b->guard.when;
}

static void link(hr__planning *p, int32_t before, int32_t node)
{
    p->next[before] = node;
    p->prev[node] = before;
}

/* ---- branches ---- */

typedef struct side { /* a branch that is a chain by itself, or has no node at all */
    int32_t first, last;
    int32_t from; /* the node whose output it begins with */
} side;

/* Whether the node is in the branch that gives input `k` of the merge. */
static bool stands_in(const hr__planning *p, const hr_node *node, const hr_node *merge, int32_t k)
{
    hr_edge asked = hr_node_predicate(merge);
    if (!node->guarded || node->guard.when != (k == 0))
        return false;
    hr_edge edge = hr__plan_edge(p->plan, node, hr__plan_edge_count(node) - 1);
    return edge.node == p->plan->replaced[asked.node] && edge.output == asked.output;
}

/* Walks back through input 0 to the start of the branch; false if a node cannot be in a chain. */
static bool side_walk(const hr__planning *p, const hr_node *merge, int32_t k, side *out)
{
    const hr_graph *graph = p->plan->graph;
    int32_t at = hr__plan_edge(p->plan, merge, k).node;
    *out = (side){.first = -1, .last = -1};
    while (stands_in(p, graph->nodes[at], merge, k)) {
        const hr_node *node = graph->nodes[at];
        if (p->uses[at] != 1 || node->output_count != 1 || node->input_count < 1 ||
            (node->def->flags & (HR_OP_ORDERED | HR_OP_MERGE)) || hr_node_whole_batch(node) ||
            hr_node_on_device(node))
            return false;
        out->first = at;
        out->last = out->last < 0 ? at : out->last;
        at = hr__plan_edge(p->plan, node, 0).node;
    }
    out->from = at;
    return true;
}

/* Links the nodes of a branch after `before`; returns the last node of the chain. */
static int32_t side_link(hr__planning *p, const side *s, int32_t before)
{
    if (s->first < 0)
        return before;
    for (int32_t at = s->last; at != s->first; at = p->prev[at])
        link(p, hr__plan_edge(p->plan, p->plan->graph->nodes[at], 0).node, at);
    link(p, before, s->first);
    return s->last;
}

/* Makes one chain of the common input, both branches and the merge. The chain may go on after the
 * merge. For a sample, the nodes of the other branch are skipped. */
static void branches_link(hr__planning *p, int32_t index)
{
    const hr_node *merge = p->plan->graph->nodes[index];
    side yes, no;
    if (hr_node_on_device(merge) || !side_walk(p, merge, 0, &yes) || !side_walk(p, merge, 1, &no) ||
        yes.from != no.from || (yes.first < 0 && no.first < 0))
        return;
    const hr_node *from = p->plan->graph->nodes[yes.from];
    if (lowers(from) && p->uses[yes.from] == 2 && !hr_node_on_device(from) &&
        same_branch(p, from, merge))
        link(p, side_link(p, &no, side_link(p, &yes, yes.from)), index);
}

/* Whether a chain may continue after the node. After a merge, the rank depends on the branch, so it
 * is checked at run time. */
static bool leads_on(const hr__planning *p, int32_t node)
{
    const hr_node *at = p->plan->graph->nodes[node];
    return lowers(at) || ((at->def->flags & HR_OP_MERGE) && p->prev[node] >= 0);
}

void hr__plan_fuse(hr__planning *p)
{
    const hr_graph *graph = p->plan->graph;
    for (int32_t i = 0; i < graph->count; i++)
        p->next[i] = p->prev[i] = -1;
    uses_count(p);
    for (int32_t i = 0; i < graph->count && p->fuse; i++) {
        const hr_node *node = graph->nodes[i];
        if (p->plan->replaced[i] == i && (node->def->flags & HR_OP_MERGE))
            branches_link(p, i);
        if (p->plan->replaced[i] != i || !lowers(node))
            continue;
        int32_t before = hr__plan_edge(p->plan, node, 0).node;
        /* `before` has one consumer, so nothing else, arguments included, depends on it. */
        if (p->uses[before] == 1 && leads_on(p, before) &&
            hr_node_on_device(graph->nodes[before]) == hr_node_on_device(node) &&
            same_branch(p, graph->nodes[before], node) &&
            follows(chain_rank(p, before), node->def->lower_rank))
            link(p, before, i);
    }
}
