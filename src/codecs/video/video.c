/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include <stdlib.h>
#include <string.h>

#include "codecs/video/demux/demuxer.h"
#include "codecs/video/demux/fields.h"
#include "codecs/video/packets.h"

/* ---- what can be decoded ---- */

/* The first packet from `i` on that has one of these flags; `count` if there is none. */
static int32_t find_flag(const hr_video *v, int32_t i, int32_t flags)
{
    while (i < v->count && !(v->packets[i].flags & flags))
        i++;
    return i;
}

/* Where a refresh begins. Decoders need a picture before it, unless it refers to no other. */
static int32_t find_refresh(const hr_video *v)
{
    int32_t i = find_flag(v, 0, HR_VIDEO_PACKET_REFRESH);
    if (i == 0 && v->count > 0 && !(v->packets[0].flags & HR_VIDEO_PACKET_INTRA))
        i = find_flag(v, 1, HR_VIDEO_PACKET_REFRESH);
    return i;
}

/* Where decoding begins, and *exact: the first packet from which pictures are what they should be.
 * Without a key in front of it that is where a refresh ends, or, if there is no other, a picture
 * that refers to no other. */
static int32_t find_begin(hr_video *v, int32_t *exact)
{
    const int32_t key = find_flag(v, 0, HR_VIDEO_PACKET_KEY), refresh = find_refresh(v);
    int32_t begin = key;
    *exact = key;
    if (refresh < key) {
        *exact = find_flag(v, refresh, HR_VIDEO_PACKET_KEY | HR_VIDEO_PACKET_REFRESHED);
        begin = 0;
    } else if (key == v->count) {
        begin = *exact = find_flag(v, 0, HR_VIDEO_PACKET_INTRA);
    }
    if (begin < v->count && begin < key)
        v->packets[begin].flags |= HR_VIDEO_PACKET_KEY | HR_VIDEO_PACKET_REFRESH;
    return begin;
}

/* Decoding begins at key packets only; what follows an open group's key packet in the file and
 * precedes it in presentation needs the group before. */
static void mark_packets(hr_video *v)
{
    int32_t key = -1, previous = -1, exact;
    const int32_t begin = find_begin(v, &exact);
    const int64_t first = exact < v->count ? v->packets[exact].pts : INT64_MAX;
    for (int32_t i = 0; i < v->count; i++) {
        hr_video_packet *p = &v->packets[i];
        if (p->flags & HR_VIDEO_PACKET_KEY) {
            previous = key;
            key = i;
        } else if (key >= 0 && p->pts < v->packets[key].pts &&
                   !(p->flags & HR_VIDEO_PACKET_DECODABLE)) {
            p->flags |= HR_VIDEO_PACKET_LEADING;
        }
        bool lost = i < begin || (previous < 0 && (p->flags & HR_VIDEO_PACKET_LEADING)) ||
                    (begin < exact && (i < exact || p->pts < first));
        if (lost || p->pts < 0)
            p->flags |= HR_VIDEO_PACKET_HIDDEN;
    }
    for (int32_t i = 0; i < v->count; i++)
        if (v->packets[i].pts == HR_VIDEO_NO_PTS)
            v->packets[i].pts = 0; /* hidden, so no one asks; kept tables have no unknown times */
}

static hr_status list_keys(hr_video *v, hr_error *error)
{
    if (!(v->keys = hr_calloc((size_t)v->count, sizeof(*v->keys), error)))
        return HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < v->count; i++)
        if (v->packets[i].flags & HR_VIDEO_PACKET_KEY)
            v->keys[v->key_count++] = i;
    return HR_STATUS_OK;
}

/* ---- order of presentation ---- */

typedef struct frame {
    int64_t pts;
    int32_t packet;
} frame;

static int compare_frames(const void *a, const void *b)
{
    const frame *x = a, *y = b;
    return x->pts != y->pts ? (x->pts < y->pts ? -1 : 1)
                            : (x->packet > y->packet) - (x->packet < y->packet);
}

static bool is_sorted(const frame *f, int32_t count)
{
    for (int32_t i = 1; i < count; i++)
        if (compare_frames(&f[i - 1], &f[i]) > 0)
            return false;
    return true;
}

/* Decoding cannot begin at a second field. */
static void mark_field(hr_video_packet *p)
{
    p->flags |= HR_VIDEO_PACKET_HIDDEN | HR_VIDEO_PACKET_FIELD;
    p->flags &= ~HR_VIDEO_PACKET_KEY;
}

/* Puts the frames in order. Packets with the same time are frames in the order in which they are
 * decoded, but for the fields of a picture. */
static hr_status list_frames(hr_demux *d, const frame *frames, int32_t count, hr_error *error)
{
    hr_video *v = d->video;
    hr_fields fields = {0};
    hr_status status = HR_STATUS_OK;
    bool second = false;
    for (int32_t i = 0; i < count && status == HR_STATUS_OK; i++) {
        const bool after_second = second;
        second = false;
        if (i > 0 && !after_second && frames[i].pts == frames[i - 1].pts &&
            frames[i].packet == frames[i - 1].packet + 1)
            status = hr__fields_check(&fields, d, frames[i].packet, &second, error);
        if (second)
            mark_field(&v->packets[frames[i].packet]);
        else
            v->order[v->frames++] = frames[i].packet;
    }
    hr__fields_fini(&fields);
    return status;
}

static hr_status sort_frames(hr_demux *d, hr_error *error)
{
    hr_video *v = d->video;
    frame *frames = hr_calloc((size_t)v->count, sizeof(*frames), error);
    v->order = hr_calloc((size_t)v->count, sizeof(*v->order), error);
    int32_t count = 0;
    if (!frames || !v->order) {
        hr_free(frames);
        return HR_STATUS_NO_MEMORY;
    }
    for (int32_t i = 0; i < v->count; i++)
        if (!(v->packets[i].flags & HR_VIDEO_PACKET_HIDDEN))
            frames[count++] = (frame){v->packets[i].pts, i};
    if (!is_sorted(frames, count))
        qsort(frames, (size_t)count, sizeof(*frames), compare_frames);
    hr_status status = list_frames(d, frames, count, error);
    hr_free(frames);
    return status;
}

/* num / den in terms that fit int32_t; rounded if they do not. */
static void set_rate(hr_video *v, int64_t num, int64_t den)
{
    int64_t a = num, b = den;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    num /= a;
    den /= a;
    while (num > INT32_MAX || den > INT32_MAX) {
        num = (num + 1) / 2;
        den = (den + 1) / 2;
    }
    v->rate_num = (int32_t)num;
    v->rate_den = (int32_t)den;
}

static void measure_rate(hr_video *v)
{
    if (v->rate_num > 0 && v->rate_den > 0)
        return;
    int64_t span = v->packets[v->order[v->frames - 1]].pts - v->packets[v->order[0]].pts;
    int64_t num, den;
    if (span > 0 && !__builtin_mul_overflow((int64_t)(v->frames - 1), v->time_den, &num) &&
        !__builtin_mul_overflow(span, v->time_num, &den))
        set_rate(v, num, den);
    else
        set_rate(v, 25, 1); /* a single frame: nothing depends on it */
}

static hr_status check_extra(const hr_video *v, hr_error *error)
{
    if (!hr_video_is_crowded(v, v->extra, v->extra_size))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "the configuration of the decoder has more than %d units", HR_VIDEO_MOST_UNITS);
}

static hr_status finish(hr_demux *d, hr_error *error)
{
    hr_video *v = d->video;
    if (v->time_num < 1 || v->time_den < 1 || v->time_num > INT32_MAX || v->time_den > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "its unit of time, %lld / %lld seconds, is not possible",
                       (long long)v->time_num, (long long)v->time_den);
    if (v->width < 0 || v->height < 0 || v->codec <= HR_VIDEO_CODEC_NONE ||
        v->codec >= HR_VIDEO_CODEC_COUNT)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the size of the frames or the codec in its header is not possible");
    if (v->count == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "it has no frames");
    HR_TRY(check_extra(v, error));
    mark_packets(v);
    for (int32_t i = 0; i < v->count; i++) /* demuxers may have moved them */
        HR_TRY(hr__demux_time(i, v->packets[i].pts, error));
    HR_TRY(sort_frames(d, error));
    HR_TRY(list_keys(v, error));
    if (v->key_count == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "it has no key frame, where decoding could begin");
    if (v->frames == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "it has no frames that can be decoded");
    measure_rate(v);
    return HR_STATUS_OK;
}

/* ---- files ---- */

static hr_status find_demuxer(hr_demux *d, const hr_demuxer **out, hr_error *error)
{
    size_t have;
    bool found = false;
    const uint8_t *head = hr__demux_some(d, 0, HR_VIDEO_HEAD, &have, error);
    if (!head)
        return error ? error->status : HR_STATUS_CORRUPT;
    for (int32_t i = 0; hr_demuxers[i]; i++) {
        *out = hr_demuxers[i];
        if (hr_demuxers[i]->match(head, have))
            return HR_STATUS_OK;
    }
    for (int32_t i = 0; hr_demuxers[i] && !found; i++) {
        *out = hr_demuxers[i];
        if (hr_demuxers[i]->probe)
            HR_TRY(hr_demuxers[i]->probe(d, &found, error));
    }
    return found ? HR_STATUS_OK
                 : hr_fail(error, HR_STATUS_CORRUPT, "it is not a video file of a known format");
}

static hr_status scan_with(hr_demux *d, hr_error *error)
{
    const hr_demuxer *demuxer = NULL;
    HR_TRY(find_demuxer(d, &demuxer, error));
    d->video->format = demuxer->name;
    hr_status status = demuxer->scan(d, error);
    if (status == HR_STATUS_OK)
        status = finish(d, error);
    return status == HR_STATUS_OK ? status : hr_error_prefix(error, "%s", demuxer->name);
}

hr_status hr_video_scan(const hr_video_file *file, hr_video *video, hr_error *error)
{
    hr_error own = {0};
    hr_demux d = {.file = file, .video = video};
    *video = (hr_video){.time_num = 1, .time_den = 1};
    hr_status status = scan_with(&d, &own);
    hr_free(d.bytes);
    hr_free(d.head);
    if (status == HR_STATUS_OK)
        return status;
    hr_video_fini(video);
    return hr_fail(error, status, "%s", own.message);
}

void hr_video_fini(hr_video *video)
{
    hr_free(video->extra);
    hr_free(video->packets);
    hr_free(video->keys);
    hr_free(video->order);
    *video = (hr_video){0};
}
