/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A sorted list of parts that do not touch. */
#include "exec/left_out.h"

#include <string.h>

#define LEFT_OUT_MOST 1024             /* parts of the list */
#define POSITIONS_MOST (INT32_MAX / 4) /* left out in a row */

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

hr_status hr__left_out_add(hr_pipeline *p, hr_left_out more, hr_error *error)
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
    HR_TRY_ALLOC(list);
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
            HR_TRY(hr__left_out_add(p, (hr_left_out){v->items[0].i, v->items[1].i}, error));
    }
    return fits ? HR_STATUS_OK
                : hr_fail(error, HR_STATUS_VALUE,
                          "checkpoint: 'left_out' must contain pairs of iterations");
}
