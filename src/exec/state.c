/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Small functions that all parts use. */
#include "exec/state.h"

#include <unistd.h>

/* Threads do not survive a fork: a child must not use the pipeline, not even its lock. */
hr_status hr__check_owner(const hr_pipeline *p, hr_error *error)
{
    if (p->pid == getpid())
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_STATE,
                   "this pipeline was built in process %ld and cannot be used in its child %ld; "
                   "build one there",
                   (long)p->pid, (long)getpid());
}

hr_status hr__local_get(const hr_worker *w, const hr_node *node, void **local, hr_error *error)
{
    void **kept = &w->locals[node->index];
    if (!*kept && node->def->local_create)
        HR_TRY(node->def->local_create(node->args, w->pipeline->states[node->index], kept, error));
    *local = *kept;
    return HR_STATUS_OK;
}

hr_status hr__taken_init(hr_taken *taken, int32_t sources, hr_error *error)
{
    taken->position = hr_calloc((size_t)sources + 1, sizeof(*taken->position), error);
    taken->cursor = hr_calloc((size_t)sources + 1, sizeof(*taken->cursor), error);
    return taken->position && taken->cursor ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr__taken_fini(hr_taken *taken, int32_t sources)
{
    for (int32_t k = 0; taken->cursor && k < sources; k++)
        hr_free(taken->cursor[k]);
    hr_free(taken->cursor);
    hr_free(taken->position);
}
