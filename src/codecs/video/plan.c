/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which packets have to be decoded for given frames. */
#include <stdlib.h>
#include <string.h>

#include "codecs/video/video.h"

static int compare_numbers(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The numbers of the frames, sorted, each once. */
static hr_status sort_wanted(const hr_video *v, const int32_t *frames, int32_t count,
                             hr_video_plan *plan, hr_error *error)
{
    int32_t n = 0, kept = 0;
    for (int32_t i = 0; i < count; i++) {
        if (frames[i] >= v->frames)
            return hr_fail(error, HR_STATUS_ERROR, "frame %d does not exist: the video has %d",
                           frames[i], v->frames);
        if (frames[i] >= 0)
            plan->wanted[n++] = frames[i];
    }
    qsort(plan->wanted, (size_t)n, sizeof(*plan->wanted), compare_numbers);
    for (int32_t i = 0; i < n; i++)
        if (kept == 0 || plan->wanted[i] != plan->wanted[kept - 1])
            plan->wanted[kept++] = plan->wanted[i];
    plan->wanted_count = kept;
    return HR_STATUS_OK;
}

/* The last key packet from which packet `i` can be decoded; the first one if there is none. */
static int32_t key_of(const hr_video *v, int32_t i)
{
    int32_t low = 0, high = v->key_count; /* keys[low] <= i < keys[high], but for the ends */
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (v->keys[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    if ((v->packets[i].flags & HR_VIDEO_PACKET_LEADING) && low > 0)
        low--;
    return v->keys[low];
}

/* A frame is added to the run before it if nothing is decoded in vain for that. */
static void add_wanted(const hr_video *v, hr_video_plan *plan, int32_t k)
{
    int32_t packet = plan->wanted[k];
    hr_video_run *run = plan->run_count > 0 ? &plan->runs[plan->run_count - 1] : NULL;
    int32_t key = key_of(v, packet);
    if (!run || key < run->first || key > run->end) {
        run = &plan->runs[plan->run_count++];
        *run = (hr_video_run){.first = key, .end = key, .from = k};
    }
    const bool fields =
        packet + 1 < v->count && (v->packets[packet + 1].flags & HR_VIDEO_PACKET_FIELD) != 0;
    run->end = HR_MAX(run->end, packet + 1 + fields);
    run->to = k + 1;
}

hr_status hr_video_plan_make(const hr_video *video, const int32_t *frames, int32_t count,
                             hr_arena *arena, hr_video_plan *plan, hr_error *error)
{
    size_t n = (size_t)HR_MAX(count, 1);
    *plan = (hr_video_plan){0};
    if (!(plan->wanted = hr_arena_alloc(arena, n * sizeof(*plan->wanted), error)) ||
        !(plan->runs = hr_arena_alloc(arena, n * sizeof(*plan->runs), error)))
        return HR_STATUS_NO_MEMORY;
    HR_TRY(sort_wanted(video, frames, count, plan, error));
    for (int32_t k = 0; k < plan->wanted_count; k++) {
        plan->wanted[k] = video->order[plan->wanted[k]];
        add_wanted(video, plan, k);
    }
    return HR_STATUS_OK;
}
