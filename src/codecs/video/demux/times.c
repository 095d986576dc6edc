/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/times.h"

#include <stdlib.h>

static hr_slot slot_of(hr_slots *s, const hr_video *v, const hr_unit_picture *picture)
{
    hr_slot slot = {.order = 2 * (int64_t)s->count + 1, .packet = v->count - 1};
    if (picture && v->codec != HR_VIDEO_CODEC_MPEG4) {
        slot.order = picture->order;
        slot.reset = picture->reset;
    } else if (picture && picture->between) {
        slot.order--;
        if (s->reference > 0)
            s->v[s->reference - 1].order = slot.order + 1;
    } else if (picture) {
        s->reference = s->count + 1;
    }
    return slot;
}

hr_status hr__slots_add(hr_slots *s, hr_demux *d, hr_video_packet packet,
                        const hr_unit_picture *picture, hr_error *error)
{
    const int32_t count = d->video->count;
    packet.flags |= picture ? picture->flags : 0;
    HR_TRY(hr__demux_add(d, packet, error));
    if (d->video->count == count)
        return HR_STATUS_OK;
    if (s->count == s->capacity) {
        int32_t capacity = HR_MAX(2 * s->capacity, 256);
        hr_slot *more = hr_realloc(s->v, (size_t)capacity, sizeof(*s->v), error);
        if (!more)
            return HR_STATUS_NO_MEMORY;
        s->v = more;
        s->capacity = capacity;
    }
    hr_slot slot = slot_of(s, d->video, picture);
    s->v[s->count++] = slot;
    return HR_STATUS_OK;
}

void hr__slots_fini(hr_slots *s)
{
    hr_free(s->v);
    *s = (hr_slots){0};
}

static int compare_slots(const void *a, const void *b)
{
    const hr_slot *x = a, *y = b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1)
                                : (x->packet > y->packet) - (x->packet < y->packet);
}

/* Sorts the slots up to the next reset by order of presentation and returns their end. */
static int32_t sort_part(hr_slots *s, int32_t first)
{
    int32_t end = first + 1;
    while (end < s->count && !s->v[end].reset)
        end++;
    qsort(s->v + first, (size_t)(end - first), sizeof(*s->v), compare_slots);
    return end;
}

/* Leaves out the slots of packets that are not shown. */
static void drop_hidden(hr_slots *s, const hr_video *v)
{
    int32_t kept = 0;
    bool reset = false;
    for (int32_t i = 0; i < s->count; i++) {
        hr_slot slot = s->v[i];
        reset = reset || slot.reset;
        if (v->packets[slot.packet].flags & HR_VIDEO_PACKET_HIDDEN)
            continue;
        slot.reset = reset;
        reset = false;
        s->v[kept++] = slot;
    }
    s->count = kept;
}

hr_status hr__slots_assign(hr_slots *s, hr_video *v, hr_error *error)
{
    int64_t *times = hr_calloc((size_t)s->count + 1, sizeof(*times), error);
    if (!times)
        return HR_STATUS_NO_MEMORY;
    drop_hidden(s, v);
    for (int32_t i = 0; i < s->count; i++)
        times[i] = v->packets[s->v[i].packet].pts;
    for (int32_t i = 0; i < s->count;)
        for (int32_t end = sort_part(s, i); i < end; i++)
            v->packets[s->v[i].packet].pts = times[i];
    hr_free(times);
    return HR_STATUS_OK;
}

/* Fills in the times between two slots that are known: `a` and `b`, or the step where one is not
 * there (-1, end). */
static void fill_between(const hr_slots *s, hr_video *v, int32_t a, int32_t b, int32_t first,
                         int32_t end, int64_t step)
{
    for (int32_t i = HR_MAX(a + 1, first); i < HR_MIN(b, end); i++) {
        int64_t *pts = &v->packets[s->v[i].packet].pts;
        if (a >= first && b < end) {
            int64_t from = v->packets[s->v[a].packet].pts, to = v->packets[s->v[b].packet].pts;
            *pts =
                from + (to - from) / (b - a) * (i - a) + (to - from) % (b - a) * (i - a) / (b - a);
        } else if (a >= first) {
            *pts = v->packets[s->v[a].packet].pts + step * (i - a);
        } else if (b < end) {
            *pts = v->packets[s->v[b].packet].pts - step * (b - i);
        } else {
            *pts = step * (i - first);
        }
    }
}

void hr__slots_fill(hr_slots *s, hr_video *v, int64_t step)
{
    for (int32_t first = 0, end; first < s->count; first = end) {
        int32_t known = first - 1;
        end = sort_part(s, first);
        for (int32_t i = first; i <= end; i++) {
            if (i < end && v->packets[s->v[i].packet].pts == HR_VIDEO_NO_PTS)
                continue;
            fill_between(s, v, known, i, first, end, step);
            known = i;
        }
    }
}
