/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/video/sequences.h"

#include <math.h>

int32_t hr_video_frame_at(const hr_video *v, double seconds, bool down)
{
    int64_t first = v->packets[v->order[0]].pts;
    /* as DALI: a time is a float, and becomes a whole number of units */
    double units = (double)(float)seconds * (double)v->time_den / (double)v->time_num;
    int64_t wanted = units >= (double)INT64_MAX / 4    ? INT64_MAX / 4
                     : units <= -(double)INT64_MAX / 4 ? -(INT64_MAX / 4)
                                                       : (int64_t)units;
    int32_t low = 0, high = v->frames; /* of the first frame at or behind it */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (v->packets[v->order[middle]].pts - first < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (down && low > 0 && (low == v->frames || v->packets[v->order[low]].pts - first > wanted))
        low--;
    return low;
}

/* A number of a frame; negative ones count from the end. */
static hr_status frame_number(const hr_video *v, double value, int32_t *out, hr_error *error)
{
    double whole = trunc(value), number = whole < 0 ? whole + (double)v->frames : whole;
    if (number < 0)
        return hr_fail(error, HR_STATUS_ERROR, "frame %.0f does not exist: the video has %d frames",
                       whole, v->frames);
    *out = (int32_t)HR_MIN(number, (double)v->frames);
    return HR_STATUS_OK;
}

/* A time as a number of a frame of a video with a constant rate. */
static int32_t frame_by_rate(const hr_video *v, double seconds, bool up)
{
    double at = seconds * (double)v->rate_num / (double)v->rate_den;
    at = up ? ceil(at) : floor(at);
    return (int32_t)HR_MIN(HR_MAX(at, 0), (double)v->frames);
}

/* Whether the last frame is over at this time. */
static bool is_behind(const hr_video *v, double seconds)
{
    int64_t units = v->packets[v->order[v->frames - 1]].pts - v->packets[v->order[0]].pts;
    double last = (double)units * (double)v->time_num / (double)v->time_den;
    return seconds >= last + (double)v->rate_den / (double)v->rate_num;
}

hr_status hr_video_range(const hr_video *v, const hr_video_part *part,
                         const hr_video_rounding *rounding, int32_t *start, int32_t *end,
                         hr_error *error)
{
    *start = 0;
    *end = v->frames;
    if (!part || part->given == 0)
        return HR_STATUS_OK;
    if (part->given == 1) { /* as DALI: a start alone selects nothing, unless it is 0 */
        *end = part->start == 0 ? v->frames : 0;
        return HR_STATUS_OK;
    }
    if (rounding->frames) {
        HR_TRY(frame_number(v, part->start, start, error));
        return frame_number(v, part->end, end, error);
    }
    if (rounding->rate) {
        *start = frame_by_rate(v, part->start, rounding->start_up);
        *end = frame_by_rate(v, part->end, !rounding->end_down);
    } else {
        *start = hr_video_frame_at(v, part->start, !rounding->start_up);
        *end = hr_video_frame_at(v, part->end, rounding->end_down);
        if (is_behind(v, part->start))
            *end = 0;
    }
    return HR_STATUS_OK;
}

int64_t hr_video_sequence_count(const hr_video_step *s, int32_t frames)
{
    if (frames <= 0)
        return 0;
    if (s->uniform)
        return 1;
    int64_t whole = frames >= s->span ? ((int64_t)frames - s->span) / s->step + 1 : 0;
    if (!s->tails)
        return whole;
    int64_t next = whole * s->step; /* the start of the first one that lacks frames */
    if (next >= frames)
        return whole;
    return s->many ? (frames - 1) / s->step + 1 : whole + 1;
}

int64_t hr_video_sequence_frame(const hr_video_step *s, int32_t frames, int64_t i, int32_t k)
{
    if (!s->uniform)
        return i * s->step + (int64_t)k * s->stride;
    if (s->length == 1)
        return 0;
    double at = (double)k * (double)(frames - 1) / (double)(s->length - 1);
    return (int64_t)floor(at + 0.5);
}
