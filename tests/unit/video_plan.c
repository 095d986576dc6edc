/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Plans of frames for random tables of packets, against what a decoder could do with the runs. */
#include "codecs/video/video.h"

#include <stdlib.h>

#include "core/core.h"
#include "test.h"

enum { PACKETS = 64, WANTED = 12, ROUNDS = 3000 };

static uint32_t state = 1;

static int32_t below(int32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (int32_t)((state >> 8) % (uint32_t)n);
}

/* Groups of a key packet, up to 3 packets that lead it, and others; packets are in decoding order.
 */
static void make_table(hr_video *v, hr_video_packet *packets, int32_t *keys, int32_t *order)
{
    int32_t n = 0, shown = 0;
    *v = (hr_video){.packets = packets, .keys = keys, .order = order};
    while (n < PACKETS) {
        int32_t leading = n == 0 ? 0 : below(4), others = below(9), first = n;
        keys[v->key_count++] = n;
        packets[n++] = (hr_video_packet){.flags = HR_VIDEO_PACKET_KEY, .pts = shown + leading};
        for (int32_t k = 0; k < leading && n < PACKETS; k++)
            packets[n++] = (hr_video_packet){.flags = HR_VIDEO_PACKET_LEADING, .pts = shown + k};
        for (int32_t k = 1; k <= others && n < PACKETS; k++)
            packets[n++] = (hr_video_packet){.pts = shown + leading + k};
        shown += n - first;
    }
    v->count = v->frames = n;
    for (int32_t t = 0, k = 0; k < n; t++)
        for (int32_t i = 0; i < n; i++)
            if (packets[i].pts == t)
                order[k++] = i;
}

/* Whether a decoder that begins with packet `first`, a key, can decode packet `i`. */
static bool can_decode(const hr_video *v, int32_t first, int32_t i)
{
    if (!(v->packets[first].flags & HR_VIDEO_PACKET_KEY) || i < first)
        return false;
    if (!(v->packets[i].flags & HR_VIDEO_PACKET_LEADING))
        return true;
    for (int32_t k = i; k > first; k--)
        if (v->packets[k].flags & HR_VIDEO_PACKET_KEY)
            return true; /* the group before it was decoded, too */
    return false;
}

/* The least number of packets that decode packet `i` alone. */
static int32_t least_cost(const hr_video *v, int32_t i)
{
    int32_t first = i;
    while (!can_decode(v, first, i))
        first--;
    return i - first + 1;
}

TEST(runs_decode_what_is_wanted)
{
    hr_video_packet packets[PACKETS];
    int32_t keys[PACKETS], order[PACKETS], frames[WANTED];
    hr_arena *arena;
    CHECK(hr_arena_create(&arena, NULL) == HR_STATUS_OK);
    for (int32_t round = 0; round < ROUNDS; round++) {
        hr_video v;
        hr_video_plan p;
        make_table(&v, packets, keys, order);
        int32_t n = 1 + below(WANTED), cost = 0, apart = 0;
        for (int32_t i = 0; i < n; i++)
            frames[i] = below(v.frames + 1) - 1;
        CHECK(hr_video_plan_make(&v, frames, n, arena, &p, NULL) == HR_STATUS_OK);
        bool seen[PACKETS] = {false}, asked[PACKETS] = {false};
        for (int32_t r = 0, next = 0; r < p.run_count; r++, next = p.runs[r - 1].to) {
            const hr_video_run *run = &p.runs[r];
            CHECK(run->from == next && run->to > run->from && run->end <= v.count);
            CHECK(run->to == p.wanted_count || r + 1 < p.run_count);
            for (int32_t k = run->from; k < run->to; k++) {
                CHECK(p.wanted[k] < run->end && can_decode(&v, run->first, p.wanted[k]));
                seen[p.wanted[k]] = true;
            }
            cost += run->end - run->first;
        }
        for (int32_t i = 0; i < n; i++)
            if (frames[i] >= 0)
                asked[order[frames[i]]] = true;
        for (int32_t i = 0; i < PACKETS; i++) {
            CHECK(seen[i] == asked[i]);
            apart += asked[i] ? least_cost(&v, i) : 0;
        }
        CHECK(cost <= apart); /* never more than one frame at a time would take */
        for (int32_t k = 1; k < p.wanted_count; k++)
            CHECK(v.packets[p.wanted[k - 1]].pts < v.packets[p.wanted[k]].pts);
        hr_arena_reset(arena);
    }
    hr_arena_destroy(arena);
}

TEST(all_frames_are_one_run)
{
    hr_video_packet packets[PACKETS];
    int32_t keys[PACKETS], order[PACKETS], frames[PACKETS];
    hr_arena *arena;
    hr_video v;
    hr_video_plan p;
    CHECK(hr_arena_create(&arena, NULL) == HR_STATUS_OK);
    make_table(&v, packets, keys, order);
    for (int32_t i = 0; i < v.frames; i++)
        frames[i] = v.frames - 1 - i;
    CHECK(hr_video_plan_make(&v, frames, v.frames, arena, &p, NULL) == HR_STATUS_OK);
    CHECK(p.run_count == 1 && p.runs[0].first == 0 && p.runs[0].end == v.count);
    hr_arena_destroy(arena);
}

TEST_MAIN
