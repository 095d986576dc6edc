/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A plan in words. The text is stable: golden files are compared with it. */
#include "plan/plan.h"

#include "graph/value.h"

static void put_node(const hr_plan *plan, int32_t index, hr_text *text)
{
    char name[HR_NODE_TEXT_SIZE];
    hr_text_append(text, "%s #%d", hr_node_text(plan->graph->nodes[index], name, sizeof(name)),
                   index);
}

static void put_edge(const hr_plan *plan, hr_edge edge, hr_text *text)
{
    int32_t node = plan->replaced[edge.node];
    hr_text_append(text, "#%d", node);
    if (plan->graph->nodes[node]->output_count > 1)
        hr_text_append(text, ".%d", edge.output);
}

/* "resize #2 (#1, size=#5)" */
static void put_call(const hr_plan *plan, int32_t index, hr_text *text)
{
    const hr_node *node = plan->graph->nodes[index];
    put_node(plan, index, text);
    if (node->guarded) {
        hr_text_append(text, node->guard.when ? " if " : " unless ");
        put_edge(plan, node->guard.predicate, text);
    }
    if (node->input_count + node->arg_input_count == 0)
        return;
    hr_text_append(text, " (");
    for (int32_t i = 0; i < node->input_count; i++) {
        hr_text_append(text, "%s", i ? ", " : "");
        put_edge(plan, node->inputs[i], text);
    }
    for (int32_t i = 0; i < node->arg_input_count; i++) {
        hr_text_append(text, "%s%s=", i || node->input_count ? ", " : "",
                       node->def->args[node->arg_inputs[i].arg].name);
        put_edge(plan, node->arg_inputs[i].edge, text);
    }
    hr_text_append(text, ")");
}

static void put_step(const hr_plan *plan, const hr_plan_step *step, hr_text *text)
{
    hr_text_append(text, step->count > 1 ? "  fused:\n" : "");
    for (int32_t i = 0; i < step->count; i++) {
        hr_text_append(text, step->count > 1 ? "    " : "  ");
        put_call(plan, plan->order[step->first + i], text);
        hr_text_append(text, "\n");
    }
}

static void put_stage(const hr_plan *plan, int32_t index, hr_text *text)
{
    const hr_plan_stage *stage = &plan->stages[index];
    hr_text_append(text, "stage %d: %s%s\n", index,
                   stage->kind == HR_STAGE_KIND_BATCH    ? "the batch as a whole"
                   : stage->kind == HR_STAGE_KIND_INFER  ? "shapes over the batch"
                   : stage->kind == HR_STAGE_KIND_DEVICE ? "on the device"
                   : stage->group <= 0                   ? "samples together"
                                                         : "sample by sample",
                   stage->ordered ? ", iterations in order" : "");
    if (stage->kind == HR_STAGE_KIND_INFER) {
        hr_text_append(text, "  ");
        put_call(plan, stage->infers, text);
        hr_text_append(text, "\n");
    }
    for (int32_t i = 0; i < stage->count; i++)
        put_step(plan, &plan->steps[stage->first + i], text);
}

static void put_kept(const hr_plan *plan, hr_text *text)
{
    int32_t n = 0;
    for (int32_t i = 0; i < plan->value_count; i++) {
        if (!plan->values[i].crosses)
            continue;
        hr_text_append(text, n++ ? ", " : "kept between stages: ");
        put_edge(plan, plan->values[i].edge, text);
    }
    hr_text_append(text, n ? "\n" : "");
}

void hr_plan_describe(const hr_plan *plan, hr_text *text)
{
    for (int32_t i = 0; i < plan->source_count; i++) {
        hr_text_append(text, i ? "source: " : "primary source: ");
        put_node(plan, plan->sources[i], text);
        hr_text_append(text, "\n");
    }
    for (int32_t i = 0; i < plan->stage_count; i++)
        put_stage(plan, i, text);
    put_kept(plan, text);
    hr_text_append(text, "outputs: ");
    for (int32_t i = 0; i < plan->output_count; i++) {
        hr_text_append(text, i ? ", " : "");
        put_edge(plan, plan->values[plan->outputs[i]].edge, text);
    }
    hr_text_append(text, "\n");
    for (int32_t i = 0; i < plan->graph->count; i++) {
        if (plan->replaced[i] == i)
            continue;
        hr_text_append(text, plan->replaced[i] < 0 ? "unused: " : "merged: ");
        put_node(plan, i, text);
        if (plan->replaced[i] >= 0)
            hr_text_append(text, " is #%d", plan->replaced[i]);
        hr_text_append(text, "\n");
    }
}
