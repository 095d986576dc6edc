/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The packets of an MP4 file: from the tables of the movie, and their times by the edit list. */
#include <string.h>

#include "codecs/video/demux/mp4.h"

/* Steps that applying an edit list may take: real lists have a few entries. */
#define MOST_EDIT_STEPS ((int64_t)1 << 28)

/* ---- tables ---- */

/* The entries of a table: behind a version, flags and a count. */
static hr_mp4_span entries_of(hr_mp4_span box, size_t head, size_t entry)
{
    if (box.size < head)
        return (hr_mp4_span){0};
    uint64_t said = hr_get_be32(box.p + head - 4);
    size_t have = (box.size - head) / entry;
    return (hr_mp4_span){box.p + head, (size_t)HR_MIN(said, (uint64_t)have)};
}

/* A table of pairs (count, value), read one sample after the other. */
typedef struct run_table {
    hr_mp4_span entries; /* size: entries that are left */
    uint32_t left;
    int64_t value;
} run_table;

static run_table run_table_of(hr_mp4_span box)
{
    return (run_table){.entries = entries_of(box, 8, 8)};
}

/* The value for the next sample; behind the end, the last one. */
static uint32_t next_value(run_table *t)
{
    while (t->left == 0 && t->entries.size > 0) {
        t->left = hr_get_be32(t->entries.p);
        t->value = hr_get_be32(t->entries.p + 4);
        t->entries.p += 8;
        t->entries.size--;
    }
    if (t->left > 0)
        t->left--;
    return (uint32_t)t->value;
}

/* The sizes of samples: one for all, or a table with entries of 4, 8, 16 or 32 bits. */
typedef struct size_table {
    uint32_t same, bits;
    int64_t count;
    const uint8_t *p;
} size_table;

static size_table size_table_of(const hr_mp4_track *t)
{
    size_table s = {0};
    hr_mp4_span box = t->stsz.size >= 12 ? t->stsz : t->stz2;
    if (box.size < 12)
        return s;
    s.bits = 32;
    if (t->stsz.size >= 12)
        s.same = hr_get_be32(box.p + 4);
    else
        s.bits = box.p[7];
    if (s.bits != 4 && s.bits != 8 && s.bits != 16 && s.bits != 32)
        return (size_table){0};
    s.count = hr_get_be32(box.p + 8);
    s.p = box.p + 12;
    if (s.same == 0)
        s.count = HR_MIN(s.count, (int64_t)((box.size - 12) * 8 / s.bits));
    return s;
}

static uint32_t size_at(const size_table *s, int64_t i)
{
    if (s->same > 0)
        return s->same;
    if (s->bits == 32)
        return hr_get_be32(s->p + 4 * i);
    if (s->bits == 16)
        return hr_get_be16(s->p + 2 * i);
    if (s->bits == 8)
        return s->p[i];
    return i & 1 ? s->p[i / 2] & 15u : s->p[i / 2] >> 4;
}

typedef struct sample_tables {
    run_table times, shifts;
    size_table sizes;
    hr_mp4_span keys; /* size: entries that are left */
    bool all_keys;
    int64_t number; /* of the next sample, from 0 */
    int64_t time;
} sample_tables;

static bool is_key(sample_tables *s)
{
    while (s->keys.size > 0 && (int64_t)hr_get_be32(s->keys.p) - 1 < s->number) {
        s->keys.p += 4;
        s->keys.size--;
    }
    return s->all_keys || (s->keys.size > 0 && (int64_t)hr_get_be32(s->keys.p) - 1 == s->number);
}

/* Adds the samples of a chunk, which follow one another in the file. */
static hr_status add_chunk(hr_demux *d, sample_tables *s, int64_t offset, uint32_t count,
                           hr_error *error)
{
    for (uint32_t k = 0; k < count && s->number < s->sizes.count && !d->full; k++, s->number++) {
        uint32_t size = size_at(&s->sizes, s->number);
        if (size > INT32_MAX)
            return hr_fail(error, HR_STATUS_LIMIT, "packet %lld has %lu bytes, which is too large",
                           (long long)s->number, (unsigned long)size);
        /* shifts are signed, whatever the version says */
        int64_t pts = s->time + (int32_t)next_value(&s->shifts);
        hr_video_packet packet = {offset, (int32_t)size, is_key(s) ? HR_VIDEO_PACKET_KEY : 0, pts};
        HR_TRY(hr__demux_add(d, packet, error));
        s->time += next_value(&s->times);
        offset += size;
    }
    return HR_STATUS_OK;
}

hr_status hr_mp4_add_samples(hr_demux *d, hr_mp4_track *t, int64_t *time, hr_error *error)
{
    sample_tables s = {.times = run_table_of(t->stts),
                       .shifts = run_table_of(t->ctts),
                       .sizes = size_table_of(t),
                       .keys = entries_of(t->stss, 8, 4),
                       .all_keys = t->stss.size == 0};
    hr_mp4_span groups = entries_of(t->stsc, 8, 12);
    bool wide = t->co64.size > 0;
    hr_mp4_span chunks = entries_of(wide ? t->co64 : t->stco, 8, wide ? 8 : 4);
    uint32_t per_chunk = 0, description = t->description;
    for (size_t c = 0; c < chunks.size && s.number < s.sizes.count && !d->full; c++) {
        while (groups.size > 0 && hr_get_be32(groups.p) <= c + 1) {
            per_chunk = hr_get_be32(groups.p + 4);
            description = hr_get_be32(groups.p + 8);
            groups.p += 12;
            groups.size--;
        }
        HR_TRY(hr_mp4_use_description(d, t, description, error));
        uint64_t offset =
            wide ? hr_mp4_be64(chunks.p + 8 * c) : (uint64_t)hr_get_be32(chunks.p + 4 * c);
        HR_TRY(
            add_chunk(d, &s, (int64_t)HR_MIN(offset, (uint64_t)INT64_MAX / 2), per_chunk, error));
    }
    *time = s.time;
    return HR_STATUS_OK;
}

/* ---- edit lists ---- */

/* a * b / c, rounded; saturated. b and c are positive and have 32 bits. */
static int64_t rescale(uint64_t a, int64_t b, int64_t c)
{
    uint64_t whole, part = (a % (uint64_t)c * (uint64_t)b + (uint64_t)c / 2) / (uint64_t)c;
    if (__builtin_mul_overflow(a / (uint64_t)c, (uint64_t)b, &whole) ||
        whole > (uint64_t)HR_VIDEO_MOST_PTS - part)
        return HR_VIDEO_MOST_PTS;
    return (int64_t)(whole + part);
}

/* The i-th entry; false for an empty edit, which only moves *start. */
static bool read_edit(const hr_mp4_track *t, hr_mp4_span entries, bool wide, size_t i,
                      int64_t *start, hr_mp4_edit *edit)
{
    const uint8_t *p = entries.p + i * (wide ? 20 : 12);
    uint64_t duration = wide ? hr_mp4_be64(p) : hr_get_be32(p);
    *edit = (hr_mp4_edit){.start = *start,
                          .media = wide ? (int64_t)hr_mp4_be64(p + 8) : (int32_t)hr_get_be32(p + 4),
                          .duration = rescale(duration, t->time_scale, t->movie_scale)};
    *start = HR_MIN(*start + edit->duration, HR_VIDEO_MOST_PTS);
    /* an entry that ends the list of a file whose length was not known yet has no end */
    if (i + 1 == entries.size && (duration == 0 || t->fragmented))
        edit->duration = INT64_MAX;
    return edit->media >= 0 && edit->media <= HR_VIDEO_MOST_PTS && edit->duration > 0;
}

static bool is_shown(const hr_mp4_edit *e, int64_t pts)
{
    return pts >= e->media && (e->duration == INT64_MAX || pts - e->media < e->duration);
}

/* Adds copies of the packets that an edit needs, with the times of the presentation. */
static hr_status add_edit(hr_demux *d, const hr_video_packet *all, int32_t count,
                          const hr_mp4_edit *e, hr_error *error)
{
    int32_t first = 0, last = -1;
    for (int32_t i = 0; i < count; i++) {
        if (all[i].flags & HR_VIDEO_PACKET_KEY && all[i].pts <= e->media)
            first = i;
        if (is_shown(e, all[i].pts))
            last = i;
    }
    for (int32_t i = first; i <= last; i++) {
        hr_video_packet p = all[i];
        if (!is_shown(e, p.pts))
            p.flags |= HR_VIDEO_PACKET_HIDDEN;
        p.pts += e->start - e->media;
        HR_TRY(hr__demux_add(d, p, error));
    }
    return HR_STATUS_OK;
}

/* Without an edit list, times begin at 0 or later. */
static void move_times(hr_video *v)
{
    int64_t least = 0;
    for (int32_t i = 0; i < v->count; i++)
        least = HR_MIN(least, v->packets[i].pts);
    for (int32_t i = 0; i < v->count; i++)
        v->packets[i].pts -= least;
}

static hr_status apply_edits(hr_demux *d, const hr_mp4_track *t, hr_mp4_span entries, bool wide,
                             const hr_video_packet *all, int32_t count, hr_error *error)
{
    int64_t start = 0, steps = 0;
    hr_mp4_edit edit;
    for (size_t i = 0; i < entries.size; i++) {
        if (!read_edit(t, entries, wide, i, &start, &edit))
            continue;
        steps += count;
        if (steps > MOST_EDIT_STEPS)
            return hr_fail(error, HR_STATUS_LIMIT, "the edit list has too many entries (%zu)",
                           entries.size);
        HR_TRY(add_edit(d, all, count, &edit, error));
    }
    return HR_STATUS_OK;
}

hr_status hr_mp4_edit_times(hr_demux *d, const hr_mp4_track *t, hr_error *error)
{
    hr_video *v = d->video;
    bool wide = t->elst.size > 0 && t->elst.p[0] == 1;
    hr_mp4_span entries = entries_of(t->elst, 8, wide ? 20 : 12);
    hr_video_packet *all = v->packets;
    int32_t count = v->count, shown = 0;
    if (entries.size == 0 || t->movie_scale == 0 || t->time_scale == 0) {
        move_times(v);
        return HR_STATUS_OK;
    }
    v->packets = NULL;
    v->count = d->capacity = 0;
    d->full = false;
    hr_status status = apply_edits(d, t, entries, wide, all, count, error);
    for (int32_t i = 0; i < v->count; i++)
        shown += !(v->packets[i].flags & HR_VIDEO_PACKET_HIDDEN);
    if (status != HR_STATUS_OK || shown > 0) {
        hr_free(all);
        return status;
    }
    hr_free(v->packets); /* the list shows nothing: it is taken as absent */
    v->packets = all;
    v->count = d->capacity = count;
    move_times(v);
    return HR_STATUS_OK;
}
