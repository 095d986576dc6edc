/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to plan/: the passes, in the order in which hr_plan_make runs them. Arrays have an
 * element a graph node. */
#ifndef HR_PLAN_PASS_H
#define HR_PLAN_PASS_H

#include "plan/plan.h"

typedef struct hr__planning {
    hr_plan *plan; /* graph and replaced are set, the rest grows */
    bool fuse;
    int32_t *uses; /* consumers of all outputs of the node, pipeline outputs counted */
    int32_t *next; /* the node behind it in its chain, or -1 */
    int32_t *prev;
    int32_t *step_of; /* -1: not in plan->steps yet */
} hr__planning;

/* Number of edges into a node: inputs first, then arguments, then its guard's predicate; the i-th
 * of them as it is planned. */
int32_t hr__plan_edge_count(const hr_node *node);
hr_edge hr__plan_edge(const hr_plan *plan, const hr_node *node, int32_t i);

/* plan->replaced becomes the node itself where an output or a preserved node needs it, -1
 * elsewhere. */
void hr__plan_prune(hr__planning *p);
/* Of equal nodes the first runs for all. */
hr_status hr__plan_merge(hr__planning *p, hr_error *error);
/* Fills uses; links nodes to chains. */
void hr__plan_fuse(hr__planning *p);
/* Fills order, steps, stages, sources. */
hr_status hr__plan_group(hr__planning *p, hr_error *error);

#endif
