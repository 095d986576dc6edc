/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs the passes in order. */
#include "plan/pass.h"

static hr_status plan_fill(hr__planning *p, hr_error *error)
{
    size_t n = (size_t)p->plan->graph->count + 1;
    p->plan->replaced = hr_calloc(n, sizeof(int32_t), error);
    p->uses = p->plan->replaced ? hr_calloc(n, sizeof(int32_t), error) : NULL;
    p->next = p->uses ? hr_calloc(n, sizeof(int32_t), error) : NULL;
    p->prev = p->next ? hr_calloc(n, sizeof(int32_t), error) : NULL;
    p->step_of = p->prev ? hr_calloc(n, sizeof(int32_t), error) : NULL;
    HR_TRY_ALLOC(p->step_of);
    hr__plan_prune(p);
    HR_TRY(hr__plan_merge(p, error));
    hr__plan_fuse(p);
    HR_TRY(hr__plan_group(p, error));
    return hr__plan_values(p, error);
}

hr_status hr_plan_make(hr_plan **out, const hr_graph *graph, bool fuse, hr_error *error)
{
    if (graph->output_count == 0)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the pipeline has no outputs");
    hr_plan *plan = hr_calloc(1, sizeof(*plan), error);
    HR_TRY_ALLOC(plan);
    plan->graph = graph;
    hr__planning p = {.plan = plan, .fuse = fuse};
    hr_status status = plan_fill(&p, error);
    hr_free(p.uses);
    hr_free(p.next);
    hr_free(p.prev);
    hr_free(p.step_of);
    if (status != HR_STATUS_OK) {
        hr_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return HR_STATUS_OK;
}

void hr_plan_destroy(hr_plan *plan)
{
    if (!plan)
        return;
    hr_free(plan->order);
    hr_free(plan->replaced);
    hr_free(plan->steps);
    hr_free(plan->stages);
    hr_free(plan->values);
    hr_free(plan->value_of);
    hr_free(plan->outputs);
    hr_free(plan->sources);
    hr_free(plan->inferred);
    hr_free(plan);
}
