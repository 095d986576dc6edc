/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to plan/: the edges between nodes, after equal nodes were merged. */
#pragma once

#include "plan/plan.h"

/* Number of edges into a node (inputs, then arguments, then the predicate of its guard), and the
 * i-th edge after merging. */
int32_t hr__plan_edge_count(const hr_node *node);
hr_edge hr__plan_edge(const hr_plan *plan, const hr_node *node, int32_t i);
