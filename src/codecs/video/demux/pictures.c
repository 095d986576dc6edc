/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/pictures.h"

#include <stdlib.h>

#include "codecs/video/demux/flags.h"
#include "codecs/video/demux/times.h"
#include "codecs/video/bits/units.h"

enum {
    PICTURE_HEAD = 1 << 16, /* bytes of a packet, in which its first picture begins */
    SMALL = 19              /* bytes of a packet that may have no picture: other ones have more */
};

typedef struct span {
    const uint8_t *p;
    size_t size;
} span;

typedef struct pictures {
    hr_units *units;
    hr_slots slots;
    bool packed;
    bool holds; /* MPEG-4: the second picture of a packet, which is decoded instead of the next: */
    hr_video_packet held;
    hr_unit_picture held_picture;
} pictures;

static hr_status open_units(pictures *s, const hr_video *v, hr_error *error)
{
    hr_unit_kind kind;
    span extra = {v->extra, v->extra_size}, unit;
    if (v->codec != HR_VIDEO_CODEC_MPEG4 && v->extra_size > 0 && v->extra[0] == 1)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "H.264 or HEVC with lengths instead of start codes is not supported");
    HR_TRY(hr__units_create(&s->units, v->codec, error));
    while (hr__units_next(&extra.p, &extra.size, &unit.p, &unit.size))
        HR_TRY(hr__units_read(s->units, unit.p, unit.size, &kind, error));
    s->packed = s->units->packed;
    return HR_STATUS_OK;
}

static void close_pictures(pictures *s)
{
    hr__units_destroy(s->units);
    hr__slots_fini(&s->slots);
}

/* What the first picture of a packet says about itself; *found: there is one. */
static hr_status read_first(hr_demux *d, hr_units *u, const hr_video_packet *p, bool *found,
                            hr_error *error)
{
    hr_unit_kind kind = HR_UNIT_OTHER;
    span unit, in;
    if (!(in.p = hr__demux_head(d, p, PICTURE_HEAD, &in.size, error)))
        return error ? error->status : HR_STATUS_CORRUPT;
    while (kind != HR_UNIT_PICTURE && hr__units_next(&in.p, &in.size, &unit.p, &unit.size))
        HR_TRY(hr__units_read(u, unit.p, unit.size, &kind, error));
    *found = kind == HR_UNIT_PICTURE;
    return HR_STATUS_OK;
}

/* ---- packets with two pictures ---- */

/* The first two pictures of a packet; *second: where the second begins. */
static hr_status read_two(hr_units *u, span in, hr_unit_picture out[2], int32_t *count,
                          size_t *second, hr_error *error)
{
    const uint8_t *begin = in.p;
    hr_unit_kind kind;
    span unit;
    *count = 0;
    while (*count < 2 && hr__units_next(&in.p, &in.size, &unit.p, &unit.size)) {
        HR_TRY(hr__units_read(u, unit.p, unit.size, &kind, error));
        if (kind != HR_UNIT_PICTURE)
            continue;
        *second = (size_t)(unit.p - 3 - begin);
        out[(*count)++] = u->picture;
    }
    return HR_STATUS_OK;
}

/* Whether a packet has no picture, but only says so. */
static bool is_empty(const hr_units *u, const hr_video_packet *p, const hr_unit_picture *picture)
{
    return u->time_bits > 0 ? (picture->flags & HR_VIDEO_PACKET_HIDDEN) != 0 : p->size <= SMALL;
}

/* Adds one picture for one packet, as the decoder of DivX does: the second picture of a packet
 * takes the place of the next one, which is either kept in turn or has no picture. */
static hr_status add_packed(pictures *s, hr_demux *d, hr_video_packet p, span whole,
                            hr_error *error)
{
    hr_unit_picture found[2] = {0};
    hr_video_packet out = p;
    int32_t count;
    size_t second = 0;
    HR_TRY(read_two(s->units, whole, found, &count, &second, error));
    if (count == 0)
        return HR_STATUS_OK;
    if (count == 1 && s->holds) {
        const hr_unit_picture picture = s->held_picture;
        out = s->held;
        out.pts = p.pts;
        s->holds = !is_empty(s->units, &p, &found[0]);
        s->held = p;
        s->held_picture = found[0];
        return hr__slots_add(&s->slots, d, out, &picture, error);
    }
    s->holds = count == 2;
    if (s->holds) {
        out.size = (int32_t)second;
        s->held = p;
        s->held.offset += (int64_t)second;
        s->held.size -= (int32_t)second;
        s->held_picture = found[1];
    }
    return hr__slots_add(&s->slots, d, out, &found[0], error);
}

static hr_status add(pictures *s, hr_demux *d, hr_video_packet p, hr_error *error)
{
    bool found = false;
    uint8_t *bytes;
    p.flags &= HR_VIDEO_PACKET_HIDDEN;
    if (!s->packed) {
        HR_TRY(read_first(d, s->units, &p, &found, error));
        p.flags |= found ? 0 : HR_VIDEO_PACKET_HIDDEN;
        return hr__slots_add(&s->slots, d, p, found ? &s->units->picture : NULL, error);
    }
    if (d->video->prefix_size > 0 || d->video->packing != 0)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "its packets have two pictures and are compressed, which is not supported");
    size_t have; /* limits the work */
    if (!hr__demux_head(d, &p, 1, &have, error))
        return error ? error->status : HR_STATUS_CORRUPT;
    HR_TRY(hr__demux_load(d, p.offset, p.size, &bytes, error));
    hr_status status = add_packed(s, d, p, (span){bytes, (size_t)p.size}, error);
    hr_free(bytes);
    return status;
}

/* ---- the table ---- */

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Puts the times of packets in ascending order. */
static hr_status sort_times(hr_video_packet *all, int32_t count, hr_error *error)
{
    int64_t *times = hr_calloc((size_t)count + 1, sizeof(*times), error);
    if (!times)
        return HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < count; i++)
        times[i] = all[i].pts;
    qsort(times, (size_t)count, sizeof(*times), compare_times);
    for (int32_t i = 0; i < count; i++)
        all[i].pts = times[i];
    hr_free(times);
    return HR_STATUS_OK;
}

/* Fills the table from these packets. *packed: it turned out that they must be read as packed
 * ones: a packet without a picture would be that of a frame which was skipped, but also the one
 * behind a packet with two. */
static hr_status fill(pictures *s, hr_demux *d, const hr_video_packet *all, int32_t count,
                      bool *packed, hr_error *error)
{
    hr_video *v = d->video;
    HR_TRY(open_units(s, v, error));
    s->packed = s->packed || *packed;
    for (int32_t i = 0; i < count; i++) {
        HR_TRY(add(s, d, all[i], error));
        if (s->packed || v->codec != HR_VIDEO_CODEC_MPEG4)
            continue;
        const bool empty = s->slots.count > 0 && all[i].size <= SMALL &&
                           v->packets[v->count - 1].flags & HR_VIDEO_PACKET_HIDDEN;
        *packed = s->units->packed || empty;
        if (*packed)
            return HR_STATUS_OK;
    }
    *packed = false;
    if (v->extra_size == 0) /* keys need not repeat the parameters */
        HR_TRY(hr__demux_extra(d, s->units->extra, s->units->extra_size, error));
    return hr__slots_assign(&s->slots, v, error);
}

static hr_status order(hr_demux *d, hr_video_packet *all, int32_t count, hr_error *error)
{
    hr_status status = sort_times(all, count, error);
    bool packed = false;
    do {
        pictures s = {0};
        d->video->count = 0;
        if (status == HR_STATUS_OK)
            status = fill(&s, d, all, count, &packed, error);
        close_pictures(&s);
    } while (status == HR_STATUS_OK && packed);
    return status;
}

hr_status hr__pictures_order(hr_demux *d, hr_error *error)
{
    hr_video *v = d->video;
    hr_video_packet *all = v->packets;
    const int32_t count = v->count;
    const bool full = d->full;
    if (v->codec != HR_VIDEO_CODEC_H264 && v->codec != HR_VIDEO_CODEC_HEVC &&
        v->codec != HR_VIDEO_CODEC_MPEG4)
        return hr__flags_read(d, error);
    v->packets = NULL;
    v->count = d->capacity = 0;
    d->full = false;
    hr_status status = order(d, all, count, error);
    hr_free(all);
    d->full = full;
    return status;
}

static hr_status look(hr_demux *d, hr_units *u, bool *packed, hr_error *error)
{
    const hr_video *v = d->video;
    for (int32_t i = 0; i < v->count && !*packed; i++) {
        bool found = false;
        if (i > 0 && v->packets[i].size > SMALL)
            continue;
        HR_TRY(read_first(d, u, &v->packets[i], &found, error));
        *packed = u->packed || (i > 0 && (!found || u->picture.flags & HR_VIDEO_PACKET_HIDDEN));
    }
    return HR_STATUS_OK;
}

hr_status hr__pictures_are_packed(hr_demux *d, bool *packed, hr_error *error)
{
    pictures s = {0};
    *packed = false;
    if (d->video->codec != HR_VIDEO_CODEC_MPEG4)
        return HR_STATUS_OK;
    hr_status status = open_units(&s, d->video, error);
    if (status == HR_STATUS_OK) {
        *packed = s.packed;
        status = look(d, s.units, packed, error);
    }
    close_pictures(&s);
    return status;
}
