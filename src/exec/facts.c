/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What a pipeline consists of. */
#include "exec/job.h"
#include "exec/source.h"

hr_status hr_pipeline_reader_meta(hr_pipeline *p, int32_t node, hr_reader_meta *out,
                                  hr_error *error)
{
    HR_TRY(hr__check_owner(p, error));
    const hr_source *s = hr__source_find(p, node);
    if (!s || !hr__source_indexed(s))
        return hr_fail(error, HR_STATUS_KEY, "node %d is not a reader", node);
    hr_sampler_meta(&s->sampler, out);
    out->resplit = s->resplit;
    pthread_mutex_lock(&p->lock);
    out->position = hr__job_positions(p, hr__delivered(p)->position[s - p->sources]);
    pthread_mutex_unlock(&p->lock);
    return HR_STATUS_OK;
}

hr_status hr_pipeline_describe(hr_pipeline *p, char **text, hr_error *error)
{
    hr_text t = {0};
    HR_TRY(hr__check_owner(p, error));
    hr_plan_describe(p->plan, &t);
    return hr_text_take(&t, text, NULL, error);
}
