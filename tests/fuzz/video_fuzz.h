/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzzes one demuxer: the table of packets is checked and written as bytes, packets are unpacked
 * into memory of exactly the size that they ask for and looked into, and plans are made. */
#pragma once

#include "codecs/video/demux/demuxer.h"
#include "codecs/video/flat.h"
#include "codecs/video/packets.h"
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

typedef struct fuzz_file {
    const uint8_t *data;
    int64_t size;
} fuzz_file;

static inline hr_status fuzz_read(void *user, int64_t offset, size_t size, void *dst,
                                  hr_error *error)
{
    const fuzz_file *f = user;
    (void)error;
    if (offset < 0 || offset > f->size || (int64_t)size > f->size - offset)
        abort();
    memcpy(dst, f->data + offset, size);
    return HR_STATUS_OK;
}

static inline void fuzz_table(const hr_video *v, int64_t size)
{
    if (v->count < 1 || v->frames < 1 || v->frames > v->count || v->key_count < 1 ||
        v->time_num < 1 || v->time_den < 1 || v->rate_num < 1 || v->rate_den < 1)
        abort();
    for (int32_t i = 0; i < v->count; i++)
        if (v->packets[i].offset < 0 || v->packets[i].size < 1 ||
            v->packets[i].offset > size - v->packets[i].size)
            abort();
    for (int32_t i = 0; i < v->frames; i++)
        if (v->order[i] < 0 || v->order[i] >= v->count || v->packets[v->order[i]].pts < 0 ||
            v->packets[v->order[i]].flags & HR_VIDEO_PACKET_HIDDEN ||
            (i > 0 && v->packets[v->order[i]].pts < v->packets[v->order[i - 1]].pts))
            abort();
}

static inline void fuzz_packets(const hr_video *v, const fuzz_file *f)
{
    for (int32_t i = 0; i < v->count && i < 64; i++) {
        const hr_video_packet *p = &v->packets[i];
        size_t room = hr_video_room(v, p), size = 0;
        uint8_t *stored = malloc((size_t)p->size), *out = malloc(room);
        memcpy(stored, f->data + p->offset, (size_t)p->size);
        hr_error error;
        if (hr_video_unpack(v, p, stored, out, &size, &error) == HR_STATUS_OK) {
            for (size_t k = 0; k < HR_VIDEO_PAD; k++)
                if (size > room - HR_VIDEO_PAD || out[size + k] != 0)
                    abort();
            uint8_t *exact = malloc(size + 1); /* reading beyond the packet is noticed */
            memcpy(exact + 1, out, size);
            if (hr_video_content_of(v, exact + 1, size) & ~3)
                abort();
            free(exact);
        }
        free(stored);
        free(out);
    }
}

/* What is scanned can be kept: its bytes are a valid table with the same contents. */
static inline void fuzz_flat(const hr_video *v, int64_t file_size)
{
    const size_t size = hr_video_flat_size(v);
    void *flat = calloc(1, size);
    hr_video again;
    hr_video_flat_write(v, file_size, flat);
    if (!hr_video_flat_valid(flat, size, file_size) ||
        hr_video_flat_open(flat, &again) != file_size || again.count != v->count ||
        again.frames != v->frames || again.extra_size != v->extra_size ||
        again.layers != v->layers || strcmp(again.format, v->format) != 0 ||
        memcmp(again.packets, v->packets, (size_t)v->count * sizeof(*v->packets)) != 0)
        abort();
    free(flat);
}

static inline void fuzz_plan(const hr_video *v)
{
    const int32_t frames[] = {v->frames - 1, 0, -1, v->frames / 2, v->frames / 3, v->frames / 2};
    static hr_arena *arena; /* kept: making one takes longer than most scans */
    hr_video_plan plan;
    if (!arena && hr_arena_create(&arena, NULL) != HR_STATUS_OK)
        return;
    if (hr_video_plan_make(v, frames, HR_COUNT_OF(frames), arena, &plan, NULL) != HR_STATUS_OK)
        abort();
    for (int32_t r = 0; r < plan.run_count; r++)
        for (int32_t k = plan.runs[r].from; k < plan.runs[r].to; k++)
            if (plan.wanted[k] < plan.runs[r].first || plan.wanted[k] >= plan.runs[r].end)
                abort();
    hr_arena_reset(arena);
}

static inline int fuzz_demuxer(const char *name, const uint8_t *data, size_t size)
{
    fuzz_file f = {data, (int64_t)size};
    const hr_video_file file = {fuzz_read, &f, (int64_t)size};
    hr_video v;
    hr_error error = {0};
    if (hr_video_scan(&file, &v, &error) != HR_STATUS_OK) {
        if (error.status == HR_STATUS_OK || error.message[0] == 0 || v.packets || v.extra)
            abort();
        return 0;
    }
    if (strcmp(v.format, name) == 0) {
        fuzz_table(&v, (int64_t)size);
        fuzz_flat(&v, (int64_t)size);
        fuzz_packets(&v, &f);
        fuzz_plan(&v);
    }
    hr_video_fini(&v);
    return 0;
}
