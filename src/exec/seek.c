/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Moving a pipeline to any of its iterations, and leaving some out: what a sample is, is a function
 * of its position. */
#include "exec/seek.h"

#include <string.h>

#include "exec/job.h"
#include "exec/source.h"
#include "exec/take.h"

#define LEFT_OUT_MOST 1024             /* parts of the list */
#define POSITIONS_MOST (INT32_MAX / 4) /* left out in a row */

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
        return hr_fail(error, HR_STATUS_VALUE, "there is no iteration %lld", (long long)step);
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
    p->undelivered.positions = 0;
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

int64_t hr__left_out_from(const hr_pipeline *p, int64_t iteration)
{
    for (int32_t i = 0; i < p->left_out_count; i++)
        if (iteration >= p->left_out[i].first && iteration < p->left_out[i].end)
            return p->left_out[i].end - iteration;
    return 0;
}

void hr__left_out_append(const hr_pipeline *p, hr_text *t)
{
    for (int32_t i = 0; i < p->left_out_count; i++)
        hr_text_append(t, "%s[%lld, %lld]", i ? ", " : ", \"left_out\": [",
                       (long long)p->left_out[i].first, (long long)p->left_out[i].end);
    hr_text_append(t, p->left_out_count > 0 ? "]" : "");
}

/* Adds to the list, in which parts that touch become one. */
static hr_status add(hr_pipeline *p, hr_left_out more, hr_error *error)
{
    int32_t from = 0, to, n = p->left_out_count;
    while (from < n && p->left_out[from].end < more.first)
        from++;
    for (to = from; to < n && p->left_out[to].first <= more.end; to++) {
        more.first = HR_MIN(more.first, p->left_out[to].first);
        more.end = HR_MAX(more.end, p->left_out[to].end);
    }
    if (from == to && n >= LEFT_OUT_MOST)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "iterations are left out in %d places; the limit is %d", n, LEFT_OUT_MOST);
    if (more.end - more.first > POSITIONS_MOST / p->options.batch_size)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "%lld iterations in a row are too many to be left out; seek goes to an "
                       "iteration",
                       (long long)(more.end - more.first));
    hr_left_out *list = hr_realloc(p->left_out, (size_t)n + 1, sizeof(*list), error);
    if (!list)
        return HR_STATUS_NO_MEMORY;
    p->left_out = list;
    memmove(list + from + 1, list + to, (size_t)(n - to) * sizeof(*list));
    list[from] = more;
    p->left_out_count += 1 - (to - from);
    return HR_STATUS_OK;
}

hr_status hr__left_out_read(hr_pipeline *p, const hr_json *list, hr_error *error)
{
    int32_t count = list && list->kind == HR_JSON_KIND_LIST ? list->count : 0;
    bool fits = !list || list->kind == HR_JSON_KIND_LIST;
    for (int32_t i = 0; i < count && fits; i++) {
        const hr_json *v = &list->items[i];
        fits = v->kind == HR_JSON_KIND_LIST && v->count == 2 && v->items[0].is_integer &&
               v->items[1].is_integer && v->items[0].i >= 0 && v->items[0].i < v->items[1].i &&
               v->items[1].i < INT64_MAX / 4;
        if (fits)
            HR_TRY(add(p, (hr_left_out){v->items[0].i, v->items[1].i}, error));
    }
    return fits ? HR_STATUS_OK
                : hr_fail(error, HR_STATUS_VALUE,
                          "checkpoint: 'left_out' must contain pairs of iterations");
}

hr_status hr_pipeline_leave_out(hr_pipeline *p, int64_t first, int64_t end, hr_error *error)
{
    HR_TRY(hr__check_owner(p, error));
    if (first < 0 || end <= first || end > INT64_MAX / 4 / p->options.batch_size)
        return hr_fail(error, HR_STATUS_VALUE, "there are no iterations from %lld to before %lld",
                       (long long)first, (long long)end);
    pthread_mutex_lock(&p->lock);
    first = HR_MAX(first, p->taken.iteration);
    hr_status status = seekable(p, error);
    if (status == HR_STATUS_OK && first < end)
        status = add(p, (hr_left_out){first, end}, error);
    if (status == HR_STATUS_OK)
        hr__rewind(p); /* some of them may be in flight */
    pthread_mutex_unlock(&p->lock);
    return status;
}

int32_t hr_pipeline_batch_size(const hr_pipeline *p)
{
    return p->options.batch_size;
}
