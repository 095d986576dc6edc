/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/demuxer.h"

#include <string.h>

#define NEAR ((int64_t)16 << 10) /* reading this much is cheaper than another request */
/* Bytes of a request when the last step was this small, and otherwise. */
#define AHEAD ((int64_t)256 << 10)
#define LEAST ((int64_t)4 << 10)
/* Of what is read and looked at: of packets that overlap it could be anything. */
#define FETCHED ((int64_t)64 << 20)
#define FETCHED_PER_BYTE 8

static hr_status make_room(hr_demux *d, size_t size, hr_error *error)
{
    if (size <= d->room)
        return HR_STATUS_OK;
    uint8_t *grown = hr_realloc(d->bytes, size, 1, error);
    if (!grown)
        return HR_STATUS_NO_MEMORY;
    d->bytes = grown;
    d->room = size;
    return HR_STATUS_OK;
}

const uint8_t *hr__demux_bytes(hr_demux *d, int64_t offset, size_t size, hr_error *error)
{
    int64_t step = offset - d->last, left = d->file->size - offset;
    if (offset < 0 || left < 0 || (uint64_t)left < size || size > HR_DEMUX_MOST_BYTES) {
        hr_fail(error, HR_STATUS_CORRUPT, "the file ends at byte %lld, too early",
                (long long)d->file->size);
        return NULL;
    }
    d->last = offset;
    if (offset >= d->start && d->size >= size && (uint64_t)(offset - d->start) <= d->size - size &&
        d->bytes)
        return d->bytes + (offset - d->start);
    bool near = step >= 0 && step <= NEAR;
    size_t wanted = HR_MAX(size, (size_t)HR_MIN(left, near ? AHEAD : LEAST));
    d->size = 0;
    if (make_room(d, wanted, error) != HR_STATUS_OK ||
        d->file->read(d->file->user, offset, wanted, d->bytes, error) != HR_STATUS_OK)
        return NULL;
    d->start = offset;
    d->size = wanted;
    d->fetched += (int64_t)wanted;
    return d->bytes;
}

const uint8_t *hr__demux_some(hr_demux *d, int64_t offset, size_t size, size_t *have,
                              hr_error *error)
{
    int64_t left = d->file->size - offset;
    static const uint8_t none[1] = {0};
    *have = offset < 0 || left <= 0 ? 0 : (size_t)HR_MIN(left, (int64_t)size);
    return *have == 0 ? none : hr__demux_bytes(d, offset, *have, error);
}

/* The bytes of a packet that is not stored as decoders take it. */
static hr_status unpack_head(hr_demux *d, const hr_video_packet *p, size_t *have, hr_error *error)
{
    const size_t room = hr_video_room(d->video, p);
    uint8_t *stored;
    if (room > d->head_room) {
        uint8_t *grown = hr_realloc(d->head, room, 1, error);
        if (!grown)
            return HR_STATUS_NO_MEMORY;
        d->head = grown;
        d->head_room = room;
    }
    HR_TRY(hr__demux_load(d, p->offset, p->size, &stored, error));
    hr_status status = hr_video_unpack(d->video, p, stored, d->head, have, error);
    hr_free(stored);
    return status;
}

static const uint8_t *too_long(const hr_demux *d, hr_error *error)
{
    hr_fail(error, HR_STATUS_LIMIT,
            "looking at the packets takes too long for a file of %lld bytes, because they overlap",
            (long long)d->file->size);
    return NULL;
}

const uint8_t *hr__demux_head(hr_demux *d, const hr_video_packet *packet, size_t most, size_t *have,
                              hr_error *error)
{
    const hr_video *v = d->video;
    const uint8_t *bytes;
    if (v->prefix_size == 0 && v->packing == 0)
        bytes = hr__demux_some(d, packet->offset, HR_MIN((size_t)packet->size, most), have, error);
    else if (unpack_head(d, packet, have, error) != HR_STATUS_OK)
        return NULL;
    else
        bytes = d->head;
    *have = HR_MIN(*have, most);
    d->fetched += (int64_t)*have;
    return d->fetched / FETCHED_PER_BYTE <= d->file->size + FETCHED ? bytes : too_long(d, error);
}

hr_status hr__demux_load(hr_demux *d, int64_t offset, int64_t size, uint8_t **out, hr_error *error)
{
    *out = NULL;
    if (offset < 0 || size < 0 || offset > d->file->size || size > d->file->size - offset)
        return hr_fail(error, HR_STATUS_CORRUPT, "the file ends at byte %lld, too early",
                       (long long)d->file->size);
    if (!(*out = hr_calloc((size_t)size + 1, 1, error)))
        return HR_STATUS_NO_MEMORY;
    hr_status status =
        size > 0 ? d->file->read(d->file->user, offset, (size_t)size, *out, error) : HR_STATUS_OK;
    d->fetched += size;
    if (status != HR_STATUS_OK) {
        hr_free(*out);
        *out = NULL;
    }
    return status;
}

hr_status hr__demux_time(int32_t packet, int64_t pts, hr_error *error)
{
    if (pts <= HR_VIDEO_MOST_PTS && pts >= -HR_VIDEO_MOST_PTS)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_CORRUPT, "packet %d has the time %lld, which is too large",
                   packet, (long long)pts);
}

hr_status hr__demux_add(hr_demux *d, hr_video_packet packet, hr_error *error)
{
    hr_video *v = d->video;
    int64_t end;
    if (d->full || packet.size <= 0)
        return HR_STATUS_OK;
    if (packet.offset < 0 || __builtin_add_overflow(packet.offset, packet.size, &end) ||
        end > d->file->size) {
        d->full = true;
        return HR_STATUS_OK;
    }
    /* as many packets as the file has bytes: more of them overlap */
    if (v->count >= HR_VIDEO_MOST_PACKETS || v->count >= d->file->size)
        return hr_fail(error, HR_STATUS_LIMIT, "the file has more than %d packets", v->count);
    if (packet.pts != HR_VIDEO_NO_PTS)
        HR_TRY(hr__demux_time(v->count, packet.pts, error));
    if (v->count == d->capacity) {
        int32_t capacity = HR_MAX(2 * d->capacity, 256);
        hr_video_packet *more =
            hr_realloc(v->packets, (size_t)capacity, sizeof(*v->packets), error);
        if (!more)
            return HR_STATUS_NO_MEMORY;
        v->packets = more;
        d->capacity = capacity;
    }
    v->packets[v->count++] = packet;
    return HR_STATUS_OK;
}

hr_status hr__demux_extra(hr_demux *d, const uint8_t *bytes, size_t size, hr_error *error)
{
    hr_video *v = d->video;
    hr_free(v->extra);
    v->extra = NULL;
    v->extra_size = 0;
    if (size == 0)
        return HR_STATUS_OK;
    if (size > HR_VIDEO_MOST_EXTRA)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "the configuration of the decoder has %zu bytes; the limit is %d", size,
                       HR_VIDEO_MOST_EXTRA);
    if (!(v->extra = hr_calloc(size + HR_VIDEO_PAD, 1, error)))
        return HR_STATUS_NO_MEMORY;
    memcpy(v->extra, bytes, size);
    v->extra_size = size;
    return HR_STATUS_OK;
}

void hr__demux_rate(hr_video *v, uint64_t duration)
{
    static const uint64_t seconds[] = {1, 1001}; /* the 1001 of NTSC */
    if (duration == 0 || duration > UINT32_MAX)
        return;
    for (size_t i = 0; i < HR_COUNT_OF(seconds); i++) {
        uint64_t time = seconds[i] * 1000000000, n = (time + duration / 2) / duration;
        uint64_t off = n * duration > time ? n * duration - time : time - n * duration;
        if (n > 0 && off <= n) {
            v->rate_num = (int32_t)HR_MIN(n, INT32_MAX);
            v->rate_den = (int32_t)seconds[i];
            return;
        }
    }
}

/* ---- from the bytes of a file to what decoders take ---- */

static const hr_demuxer *demuxer_of(const hr_video *video)
{
    int32_t i = 0;
    while (hr_demuxers[i] && strcmp(hr_demuxers[i]->name, video->format) != 0)
        i++;
    return hr_demuxers[i];
}

size_t hr_video_room(const hr_video *video, const hr_video_packet *packet)
{
    const hr_demuxer *demuxer = demuxer_of(video);
    if (demuxer && demuxer->room)
        return demuxer->room(video, packet);
    return (size_t)packet->size + (size_t)video->prefix_size + HR_VIDEO_PAD;
}

hr_status hr_video_unpack(const hr_video *video, const hr_video_packet *packet,
                          const uint8_t *stored, uint8_t *out, size_t *size, hr_error *error)
{
    const hr_demuxer *demuxer = demuxer_of(video);
    if (demuxer && demuxer->unpack)
        return demuxer->unpack(video, packet, stored, out, size, error);
    return hr__demux_copy(video, packet, stored, out, size);
}

hr_status hr__demux_copy(const hr_video *video, const hr_video_packet *packet,
                         const uint8_t *stored, uint8_t *out, size_t *size)
{
    *size = (size_t)video->prefix_size + (size_t)packet->size;
    memcpy(out, video->prefix, (size_t)video->prefix_size);
    memcpy(out + video->prefix_size, stored, (size_t)packet->size);
    memset(out + *size, 0, HR_VIDEO_PAD);
    return HR_STATUS_OK;
}
