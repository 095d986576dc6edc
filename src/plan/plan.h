/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The compiled graph: which nodes run, in which stages, and which of them form chains of image
 * programs. Pure functions on data: prune, merge (equal nodes), fuse, group, values. This folder
 * runs nothing, has no threads and reads no files; a graph is only read, and a plan that is made
 * never changes. What a pass may write is in pass.h. */
#pragma once

#include "graph/graph.h"

/* A step: one node, or a chain of nodes that are lowered into one image program. */
typedef struct hr_plan_step {
    int32_t first,
        count; /* nodes plan->order[first .. first + count - 1]; count > 1 is a fused chain */
} hr_plan_step;

typedef enum hr_stage_kind {
    HR_STAGE_KIND_SAMPLE, /* tasks of `group` samples through all steps */
    HR_STAGE_KIND_BATCH,  /* one task: a whole-batch node */
    HR_STAGE_KIND_INFER,  /* one task: describes the outputs of a node that needs the whole batch;
                             its work is done in a later stage */
    HR_STAGE_KIND_DEVICE  /* tasks of some samples prepare them; the last one launches them all */
} hr_stage_kind;

typedef struct hr_plan_stage {
    hr_stage_kind kind;
    bool ordered;         /* iterations one at a time, in order */
    int32_t first, count; /* steps */
    int32_t group;  /* samples per task; <= 0: the whole batch (all nodes CHEAP, or ordered) */
    int32_t infers; /* INFER: index of the graph node */
} hr_plan_stage;

/* A value is one output of one planned node. */
typedef struct hr_plan_value {
    hr_edge edge;    /* graph node and output */
    int32_t output;  /* the first pipeline output that returns it, or -1 */
    int32_t made_in; /* the pipeline output in whose output slots it is made: its own, or that of
                        the merge that consumes it; or -1 */
    int32_t uses;    /* consumers in the plan, pipeline outputs included */
    int32_t stage;   /* the stage that makes it */
    bool crosses;    /* also used in a later stage: must outlive its task */
    bool borrows;  /* may share the memory of another value; copied when it is a pipeline output */
    bool internal; /* inside a fused chain: exists only if the chain is cut there */
} hr_plan_value;

typedef struct hr_plan {
    const hr_graph *graph; /* borrowed */
    int32_t *order;        /* planned nodes (graph indices), in running order: sources first */
    int32_t order_count;
    int32_t
        *replaced; /* graph node -> the equal node that runs for it (usually itself); -1: pruned */
    hr_plan_step *steps;
    int32_t step_count;
    hr_plan_stage *stages;
    int32_t stage_count;
    hr_plan_value *values;
    int32_t value_count;
    int32_t *value_of; /* graph node -> its first value index, -1 when not planned; outputs are
                          consecutive */
    int32_t *outputs;  /* pipeline output -> value */
    int32_t output_count;
    int32_t *sources; /* source nodes (graph indices); [0] is the primary one, the first that is not
                         fed, if there is one; the others are in definition order */
    int32_t source_count;
    int32_t
        *inferred; /* graph node -> first row of the outputs described by its INFER stage, or -1 */
    int32_t inferred_count;
} hr_plan;

hr_status hr_plan_make(hr_plan **out, const hr_graph *graph, bool fuse, hr_error *error);
void hr_plan_destroy(hr_plan *plan);
/* Value of an edge after merging; -1 when it is not planned. */
int32_t hr_plan_value_find(const hr_plan *plan, hr_edge edge);
void hr_plan_describe(const hr_plan *plan, hr_text *text);
