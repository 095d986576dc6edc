/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Moving a pipeline to any of its iterations, and leaving some out: what a sample is, is a function
 * of its position. */
#include "exec/left_out.h"
#include "exec/source.h"
#include "exec/take.h"

/* Whether all sources are readers. */
static hr_status seekable(const hr_pipeline *p, hr_error *error)
{
    char text[512];
    for (int32_t k = 0; k < p->source_count; k++)
        if (!hr__source_indexed(&p->sources[k]))
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "%s: this source only goes forward, and cannot be moved to an iteration",
                           hr_node_text(p->sources[k].node, text, sizeof(text)));
    return HR_STATUS_OK;
}

/* The position of a reader before iteration `step`, which has as many samples as any other. */
static hr_status position_at(const hr_pipeline *p, int64_t step, int64_t *out, hr_error *error)
{
    int64_t batch = p->options.batch_size, moved;
    if (step < 0 || step > INT64_MAX / 4 / batch)
        return hr_fail(error, HR_STATUS_VALUE, "%lld is not the number of an iteration",
                       (long long)step);
    moved = *out + (step - p->taken.iteration) * batch;
    if (moved < 0)
        return hr_fail(error, HR_STATUS_VALUE,
                       "iteration %lld was run before the number of shards changed, %lld positions "
                       "earlier; restore a checkpoint of that time",
                       (long long)step, (long long)-moved);
    *out = moved;
    return HR_STATUS_OK;
}

/* Lock held. */
static hr_status seek(hr_pipeline *p, int64_t step, hr_error *error)
{
    hr_taken *at = &p->taken;
    HR_TRY(seekable(p, error));
    for (int32_t k = 0; k < p->source_count; k++) {
        int64_t position = at->position[k];
        HR_TRY(position_at(p, step, &position, error));
    }
    for (int32_t k = 0; k < p->source_count; k++)
        at->position[k] += (step - at->iteration) * p->options.batch_size;
    at->sample += (step - at->iteration) * p->options.batch_size;
    at->iteration = step;
    p->undelivered.any = false;
    p->undelivered.positions = p->undelivered.bad = 0;
    p->flight.ordered_end = step;
    hr__rewind(p);
    return HR_STATUS_OK;
}

hr_status hr_pipeline_seek(hr_pipeline *p, int64_t step, hr_error *error)
{
    HR_TRY(hr__check_owner(p, error));
    pthread_mutex_lock(&p->lock);
    hr_status status = seek(p, step, error);
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* ---- leaving out ---- */

hr_status hr_pipeline_leave_out(hr_pipeline *p, int64_t first, int64_t end, hr_error *error)
{
    HR_TRY(hr__check_owner(p, error));
    if (first < 0 || end <= first || end > INT64_MAX / 4 / p->options.batch_size)
        return hr_fail(error, HR_STATUS_VALUE, "%lld to before %lld is not a range of iterations",
                       (long long)first, (long long)end);
    pthread_mutex_lock(&p->lock);
    first = HR_MAX(first, p->taken.iteration);
    hr_status status = seekable(p, error);
    if (status == HR_STATUS_OK && first < end)
        status = hr__left_out_add(p, (hr_left_out){first, end}, error);
    if (status == HR_STATUS_OK)
        hr__rewind(p); /* some of them may be in flight */
    pthread_mutex_unlock(&p->lock);
    return status;
}

int32_t hr_pipeline_batch_size(const hr_pipeline *p)
{
    return p->options.batch_size;
}
