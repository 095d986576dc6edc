/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to plan/: the passes in the order in which hr_plan_make runs them. Arrays have one
 * element per graph node. */
#pragma once

#include "plan/plan.h"

typedef struct hr__planning {
    hr_plan *plan; /* graph and replaced are set; the passes add the rest */
    bool fuse;
    int32_t *uses; /* consumers of all outputs of the node, pipeline outputs included */
    int32_t *next; /* the next node of its chain, or -1 */
    int32_t *prev;
    int32_t *step_of; /* -1: not in plan->steps yet */
} hr__planning;

/* Sets plan->replaced to the node itself if an output or a preserved node needs it, else to -1. */
void hr__plan_prune(hr__planning *p);
/* Lets the first of equal nodes run for all of them. */
hr_status hr__plan_merge(hr__planning *p, hr_error *error);
/* Fills uses; links nodes into chains. */
void hr__plan_fuse(hr__planning *p);
/* Fills order, steps, stages, sources. */
hr_status hr__plan_group(hr__planning *p, hr_error *error);
/* Fills values, value_of, outputs. */
hr_status hr__plan_values(hr__planning *p, hr_error *error);
