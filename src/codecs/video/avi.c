/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* AVI files, also those of more than 1 GiB (OpenDML). The chunks of the lists 'movi' are walked one
 * after the other, so indexes are not needed: files that were cut or never finished have none.
 * Packets have no times but their number; empty ones repeat the frame before them. */
#include <string.h>

#include "codecs/bytes.h"
#include "codecs/video/bitstream.h"
#include "codecs/video/demuxer.h"
#include "codecs/video/fourcc.h"
#include "codecs/video/times.h"

enum {
    HEAD = 8,    /* bytes of a chunk's name and size */
    LIST = 12,   /* of a list's name, size and kind */
    STREAM = 36, /* of a header of a stream, as far as it is used */
    BITMAP = 40, /* of a header of a picture */
    MICROSECONDS = 1000000,
    DEFAULT_RATE = 25,
    MOST_HEADERS = 1 << 24, /* of the list 'hdrl' */
    MOST_STREAMS = 100,
    PICTURE_HEAD = 1 << 16 /* of a packet, in which its first picture begins */
};

typedef struct span {
    const uint8_t *p;
    size_t size;
} span;

typedef struct track {
    int32_t number; /* of the stream; -1: not found */
    bool unknown;
    char letters[5]; /* of a coding that is not supported */
    int64_t time;    /* number of the next packet */
    bool ahead;      /* the last packet had the picture of the next one, too */
    uint32_t period; /* microseconds from frame to frame, as the header of the file says; 0: unknown
                      */
    hr_units *units; /* NULL: the coding has no order of its own */
    hr_slots slots;
} track;

static bool is(const uint8_t *p, const char *name)
{
    return memcmp(p, name, 4) == 0;
}

/* ---- headers ---- */

/* The next chunk of a list in memory. */
static bool next_chunk(span *in, const uint8_t **name, span *chunk)
{
    if (in->size < HEAD)
        return false;
    size_t size = hr_get_le32(in->p + 4), left = in->size - HEAD;
    *name = in->p;
    *chunk = (span){in->p + HEAD, HR_MIN(size, left)};
    size = HR_MIN(size + size % 2, left);
    in->p += HEAD + size;
    in->size -= HEAD + size;
    return true;
}

static hr_status read_stream(hr_demux *d, track *t, span list, int32_t number, hr_error *error)
{
    hr_video *v = d->video;
    const uint8_t *name;
    span chunk, header = {0}, format = {0};
    while (next_chunk(&list, &name, &chunk))
        if (is(name, "strh") && chunk.size >= STREAM)
            header = chunk;
        else if (is(name, "strf") && chunk.size >= BITMAP)
            format = chunk;
    if (!header.p || !format.p || !is(header.p, "vids") || t->number >= 0)
        return HR_STATUS_OK;
    v->codec = hr__fourcc_codec(format.p + 16);
    if (v->codec == HR_VIDEO_CODEC_NONE)
        v->codec = hr__fourcc_codec(header.p + 4);
    if (v->codec == HR_VIDEO_CODEC_NONE) {
        hr__fourcc_text(format.p + 16, t->letters);
        t->unknown = true;
        return HR_STATUS_OK;
    }
    int64_t width = (int32_t)hr_get_le32(format.p + 4), height = (int32_t)hr_get_le32(format.p + 8);
    v->width = (int32_t)HR_MAX(width, 0);
    v->height = (int32_t)HR_MIN(height < 0 ? -height : height, INT32_MAX); /* < 0: upside down */
    v->time_num = hr_get_le32(header.p + 20);
    v->time_den = hr_get_le32(header.p + 24);
    if (v->time_num == 0 || v->time_den == 0) { /* of broken writers */
        v->time_num = t->period > 0 ? t->period : 1;
        v->time_den = t->period > 0 ? MICROSECONDS : DEFAULT_RATE;
    }
    t->number = number;
    return hr__demux_extra(d, format.p + BITMAP, format.size - BITMAP, error);
}

static hr_status read_headers(hr_demux *d, track *t, int64_t at, int64_t size, hr_error *error)
{
    uint8_t *bytes;
    const uint8_t *name;
    span chunk;
    int32_t number = 0;
    if (size > MOST_HEADERS)
        return hr_fail(error, HR_STATUS_LIMIT, "its header has %lld bytes; the limit is %d",
                       (long long)size, MOST_HEADERS);
    HR_TRY(hr__demux_load(d, at, size, &bytes, error));
    span list = {bytes, (size_t)size};
    hr_status status = HR_STATUS_OK;
    while (status == HR_STATUS_OK && number < MOST_STREAMS && next_chunk(&list, &name, &chunk))
        if (is(name, "avih") && chunk.size >= 4)
            t->period = hr_get_le32(chunk.p);
        else if (is(name, "LIST") && chunk.size >= 4 && is(chunk.p, "strl"))
            status = read_stream(d, t, (span){chunk.p + 4, chunk.size - 4}, number++, error);
    hr_free(bytes);
    return status;
}

/* Streams whose packets say in which order they are shown. */
static hr_status open_units(hr_demux *d, track *t, hr_error *error)
{
    hr_video *v = d->video;
    hr_unit_kind kind;
    if (t->units || (v->codec != HR_VIDEO_CODEC_H264 && v->codec != HR_VIDEO_CODEC_HEVC &&
                     v->codec != HR_VIDEO_CODEC_MPEG4))
        return HR_STATUS_OK;
    if (v->codec != HR_VIDEO_CODEC_MPEG4 && v->extra_size > 0 && v->extra[0] == 1)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "H.264 or HEVC with lengths instead of start codes is not supported");
    HR_TRY(hr__units_create(&t->units, v->codec, error));
    span extra = {v->extra, v->extra_size}, unit;
    while (hr__units_next(&extra.p, &extra.size, &unit.p, &unit.size))
        HR_TRY(hr__units_read(t->units, unit.p, unit.size, &kind, error));
    return HR_STATUS_OK;
}

/* ---- packets ---- */

/* What the first picture of a packet says about itself; *found: there is one. */
static hr_status read_picture(hr_demux *d, track *t, int64_t at, int64_t size, bool *found,
                              hr_error *error)
{
    hr_unit_kind kind = HR_UNIT_OTHER;
    size_t have;
    span unit, in;
    in.p = hr__demux_some(d, at, (size_t)HR_MIN(size, PICTURE_HEAD), &have, error);
    if (!in.p)
        return error->status;
    in.size = have;
    while (kind != HR_UNIT_PICTURE && hr__units_next(&in.p, &in.size, &unit.p, &unit.size))
        HR_TRY(hr__units_read(t->units, unit.p, unit.size, &kind, error));
    *found = kind == HR_UNIT_PICTURE;
    return HR_STATUS_OK;
}

static hr_status add_picture(hr_demux *d, track *t, int64_t at, int64_t size, int64_t time,
                             hr_error *error)
{
    const hr_video_packet packet = {at, (int32_t)size, 0, time};
    return hr__slots_add(&t->slots, d, packet, &t->units->picture, error);
}

/* A packet of MPEG-4 with two pictures, after which an empty one follows. */
static hr_status add_pictures(hr_demux *d, track *t, int64_t at, const span *whole, int64_t time,
                              hr_error *error)
{
    const uint8_t *begin = whole->p, *end = whole->p + whole->size;
    hr_status status = HR_STATUS_OK;
    hr_unit_kind kind;
    hr_unit_picture first = {0};
    span in = *whole, unit;
    int32_t count = 0;
    while (status == HR_STATUS_OK && count < 2 &&
           hr__units_next(&in.p, &in.size, &unit.p, &unit.size)) {
        status = hr__units_read(t->units, unit.p, unit.size, &kind, error);
        if (status != HR_STATUS_OK || kind != HR_UNIT_PICTURE)
            continue;
        if (count++ == 0) {
            first = t->units->picture;
            continue;
        }
        hr_unit_picture second = t->units->picture;
        t->units->picture = first;
        begin = unit.p - 3;
        status = add_picture(d, t, at, begin - whole->p, time, error);
        t->units->picture = second;
    }
    bool dropped = count == 1 && t->ahead && (first.flags & HR_VIDEO_PACKET_HIDDEN);
    t->ahead = count == 2;
    if (status != HR_STATUS_OK || count == 0 || dropped)
        return status;
    return add_picture(d, t, at + (begin - whole->p), end - begin, time + count - 1, error);
}

static hr_status add_packed(hr_demux *d, track *t, int64_t at, int64_t size, int64_t time,
                            hr_error *error)
{
    uint8_t *bytes;
    HR_TRY(hr__demux_load(d, at, size, &bytes, error));
    const span whole = {bytes, (size_t)size};
    hr_status status = add_pictures(d, t, at, &whole, time, error);
    hr_free(bytes);
    return status;
}

static hr_status add_packet(hr_demux *d, track *t, int64_t at, uint32_t size, hr_error *error)
{
    hr_video_packet packet = {at, (int32_t)size, 0, t->time++};
    bool found = false;
    size_t have;
    if (size == 0)
        return HR_STATUS_OK;
    if (size > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "packet %d has %lu bytes, which is too large",
                       d->video->count, (unsigned long)size);
    if (at + (int64_t)size > d->file->size) {
        d->full = true; /* cut */
        return HR_STATUS_OK;
    }
    if (t->units) {
        HR_TRY(read_picture(d, t, at, size, &found, error));
        if (t->units->packed)
            return add_packed(d, t, at, size, packet.pts, error);
        packet.flags = found ? 0 : HR_VIDEO_PACKET_HIDDEN;
    } else {
        const uint8_t *p = hr__demux_some(d, at, HR_MIN(size, HR_BITSTREAM_HEAD), &have, error);
        if (!p)
            return error->status;
        packet.flags = hr__bitstream_flags(d->video->codec, p, have);
    }
    return hr__slots_add(&t->slots, d, packet, found ? &t->units->picture : NULL, error);
}

static bool is_packet(const track *t, const uint8_t *name)
{
    return t->number >= 0 && name[0] == '0' + t->number / 10 && name[1] == '0' + t->number % 10 &&
           name[2] == 'd' && (name[3] == 'c' || name[3] == 'b');
}

/* Walks over the chunks; a name that is none ends the walk. */
static hr_status walk(hr_demux *d, track *t, hr_error *error)
{
    const int64_t end = d->file->size;
    for (int64_t at = 0; at + HEAD <= end && !d->full;) {
        size_t have;
        const uint8_t *p = hr__demux_some(d, at, LIST, &have, error);
        if (!p)
            return error->status;
        int64_t size = hr_get_le32(p + 4), next = at + HEAD + size + size % 2;
        bool list = have >= LIST && (is(p, "RIFF") || is(p, "LIST"));
        if (list && is(p, "LIST") && is(p + 8, "hdrl")) {
            HR_TRY(
                read_headers(d, t, at + LIST, HR_MIN(HR_MAX(size - 4, 0), end - at - LIST), error));
        } else if (list && (is(p, "RIFF") || is(p + 8, "movi") || is(p + 8, "rec "))) {
            next = at + LIST;
            HR_TRY(open_units(d, t, error));
        } else if (is_packet(t, p)) {
            HR_TRY(add_packet(d, t, at + HEAD, (uint32_t)size, error));
        } else if (p[0] < ' ' || p[0] > '~' || p[3] < ' ' || p[3] > '~') {
            break;
        }
        at = next;
    }
    return HR_STATUS_OK;
}

static hr_status scan_tracks(hr_demux *d, track *t, hr_error *error)
{
    HR_TRY(walk(d, t, error));
    if (t->number < 0 && t->unknown)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the codec '%s' is not supported",
                       t->letters);
    if (t->number < 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "there is no video track");
    if (t->units && d->video->extra_size == 0) /* keys need not repeat the parameters */
        HR_TRY(hr__demux_extra(d, t->units->extra, t->units->extra_size, error));
    return hr__slots_assign(&t->slots, d->video, error);
}

static hr_status avi_scan(hr_demux *d, hr_error *error)
{
    track t = {.number = -1};
    hr_status status = scan_tracks(d, &t, error);
    hr__units_destroy(t.units);
    hr__slots_fini(&t.slots);
    return status;
}

static bool avi_match(const uint8_t *bytes, size_t size)
{
    return size >= LIST && is(bytes, "RIFF") && is(bytes + 8, "AVI ");
}

const hr_demuxer hr_demuxer_avi = {
    .name = "AVI",
    .match = avi_match,
    .scan = avi_scan,
};
