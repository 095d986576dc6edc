/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary streams of H.264 and HEVC with start codes (Annex B), without a container. The whole
 * file is read to find the pictures. Frames have no times: they follow one another at the rate that
 * the stream specifies. */
#include "codecs/video/demux/demuxer.h"
#include "codecs/video/bits/split.h"
#include "codecs/video/demux/times.h"

enum { PIECE = 1 << 18, MOST_ZEROS = 16, MOST_PROBED = 1 << 26, DEFAULT_RATE = 25 };

typedef struct scan {
    hr_demux *d;
    hr_slots slots;
    int64_t shown; /* frames so far */
} scan;

/* What a file is whose first unit begins with these bytes. */
static hr_video_codec codec_of(const uint8_t *unit)
{
    int32_t type = unit[0] & 31, reference = unit[0] >> 5;
    if (reference < 4 && (reference > 0 ? type == 7 || type == 8 : type == 6 || type == 9))
        return HR_VIDEO_CODEC_H264;
    type = unit[0] >> 1;
    if ((unit[0] & 0x81) == 0 && unit[1] == 1 && ((type >= 32 && type <= 35) || type == 39))
        return HR_VIDEO_CODEC_HEVC;
    return HR_VIDEO_CODEC_NONE;
}

static hr_video_codec codec_of_file(const uint8_t *bytes, size_t size)
{
    size_t zeros = 0;
    while (zeros < size && zeros < MOST_ZEROS && bytes[zeros] == 0)
        zeros++;
    return zeros >= 2 && size >= zeros + 3 && bytes[zeros] == 1 ? codec_of(bytes + zeros + 1)
                                                                : HR_VIDEO_CODEC_NONE;
}

static hr_status add_packet(void *user, const hr_split_packet *p, hr_error *error)
{
    scan *s = user;
    int64_t offset = p->first.place + (int64_t)p->first.before;
    int64_t size = p->last.place + (int64_t)p->last.before + 1 - offset;
    if (size > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "packet %d has %lld bytes, which is too large",
                       s->d->video->count, (long long)size);
    hr_video_packet packet = {offset, (int32_t)size, 0, s->shown};
    s->shown += !(p->picture.flags & HR_VIDEO_PACKET_HIDDEN);
    return hr__slots_add(&s->slots, s->d, packet, &p->picture, error);
}

static hr_status split_file(scan *s, hr_split *split, hr_error *error)
{
    hr_demux *d = s->d;
    hr_video *v = d->video;
    size_t have;
    for (int64_t at = 0; at < d->file->size; at += (int64_t)have) {
        hr_split_piece piece = {.place = at};
        if (!(piece.bytes = hr__demux_some(d, at, PIECE, &have, error)))
            return error->status;
        piece.size = have;
        HR_TRY(hr__split_add(split, &piece, error));
    }
    HR_TRY(hr__split_end(split, error));
    hr__units_describe(split->units, v);
    if (v->rate_num == 0 || v->rate_den == 0) {
        v->rate_num = DEFAULT_RATE;
        v->rate_den = 1;
    }
    v->time_num = v->rate_den;
    v->time_den = v->rate_num;
    HR_TRY(hr__demux_extra(d, split->units->extra, split->units->extra_size, error));
    return hr__slots_assign(&s->slots, v, error);
}

/* ---- the first parameters ---- */

static hr_status count_packet(void *user, const hr_split_packet *p, hr_error *error)
{
    (void)p;
    (void)error;
    ++*(int32_t *)user;
    return HR_STATUS_OK;
}

/* Whether there are parameters and pictures of this codec; afterwards the units have the first
 * parameters. `strictly`: also that there is nothing in front of them that it does not have, and
 * that the first piece has a unit. */
static hr_status has_pictures(hr_demux *d, hr_split *split, bool strictly, bool *found,
                              hr_error *error)
{
    int32_t count = 0;
    size_t have;
    split->found = count_packet;
    split->user = &count;
    const hr_units *u = split->units;
    *found = false;
    for (int64_t at = 0; at < HR_MIN(d->file->size, MOST_PROBED); at += (int64_t)have) {
        hr_split_piece piece = {.place = at};
        if (!(piece.bytes = hr__demux_some(d, at, PIECE, &have, error)))
            return error ? error->status : HR_STATUS_CORRUPT;
        piece.size = have;
        HR_TRY(hr__split_add(split, &piece, error));
        if ((strictly && (u->odd > 0 || u->seen == 0)) || count > 0)
            break;
    }
    if (!strictly || (u->odd == 0 && u->seen > 0))
        HR_TRY(hr__split_end(split, error));
    *found = u->odd == 0 && count > 0 && u->width > 0;
    return HR_STATUS_OK;
}

static hr_status annexb_scan(hr_demux *d, hr_error *error)
{
    scan s = {.d = d};
    hr_split *split = NULL, *first = NULL;
    size_t have;
    bool found;
    const uint8_t *head = hr__demux_some(d, 0, HR_VIDEO_HEAD, &have, error);
    if (!head)
        return error->status;
    if (d->video->codec == HR_VIDEO_CODEC_NONE)
        d->video->codec = codec_of_file(head, have);
    hr_status status = hr__split_create(&first, d->video->codec, error);
    if (status == HR_STATUS_OK)
        status = has_pictures(d, first, false, &found, error);
    if (status == HR_STATUS_OK)
        status = hr__split_create(&split, d->video->codec, error);
    if (status == HR_STATUS_OK)
        status = hr__units_preset(split->units, first->units, error);
    if (status == HR_STATUS_OK) {
        split->found = add_packet;
        split->user = &s;
        status = split_file(&s, split, error);
    }
    hr__split_destroy(first);
    hr__split_destroy(split);
    hr__slots_fini(&s.slots);
    return status;
}

/* ---- streams that begin anywhere ---- */

static hr_status annexb_probe(hr_demux *d, bool *found, hr_error *error)
{
    static const hr_video_codec codecs[] = {HR_VIDEO_CODEC_H264, HR_VIDEO_CODEC_HEVC};
    hr_status status = HR_STATUS_OK;
    *found = false;
    for (size_t i = 0; i < HR_COUNT_OF(codecs) && status == HR_STATUS_OK && !*found; i++) {
        hr_split *split = NULL;
        status = hr__split_create(&split, codecs[i], error);
        if (status == HR_STATUS_OK)
            status = has_pictures(d, split, true, found, error);
        hr__split_destroy(split);
        d->video->codec = *found ? codecs[i] : HR_VIDEO_CODEC_NONE;
    }
    return status;
}

static bool annexb_match(const uint8_t *bytes, size_t size)
{
    return codec_of_file(bytes, size) != HR_VIDEO_CODEC_NONE;
}

const hr_demuxer hr_demuxer_annexb = {
    .name = "Annex B",
    .match = annexb_match,
    .probe = annexb_probe,
    .scan = annexb_scan,
};
