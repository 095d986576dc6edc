/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* AVI files, also those of more than 1 GiB (OpenDML). The chunks of the lists 'movi' are walked one
 * after the other, so indexes are not needed: files that were cut or never finished have none.
 * Packets have no times but their number; empty ones repeat the frame before them. */
#include <string.h>

#include "codecs/bytes.h"
#include "codecs/video/demux/demuxer.h"
#include "codecs/video/demux/fourcc.h"
#include "codecs/video/demux/pictures.h"

enum {
    HEAD = 8,    /* bytes of a chunk's name and size */
    LIST = 12,   /* of a list's name, size and kind */
    STREAM = 36, /* of a header of a stream, as far as it is used */
    BITMAP = 40, /* of a header of a picture */
    MICROSECONDS = 1000000,
    DEFAULT_RATE = 25,
    MOST_HEADERS = 1 << 24, /* of the list 'hdrl' */
    MOST_STREAMS = 100
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
    uint32_t period; /* microseconds from frame to frame, as the header of the file says; 0: unknown
                      */
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

/* ---- packets ---- */

static hr_status add_packet(hr_demux *d, track *t, int64_t at, uint32_t size, hr_error *error)
{
    const hr_video_packet packet = {at, (int32_t)size, 0, t->time++};
    if (size > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "packet %d has %lu bytes, which is too large",
                       d->video->count, (unsigned long)size);
    return hr__demux_add(d, packet, error);
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
        } else if (is_packet(t, p)) {
            HR_TRY(add_packet(d, t, at + HEAD, (uint32_t)size, error));
        } else if (p[0] < ' ' || p[0] > '~' || p[3] < ' ' || p[3] > '~') {
            break;
        }
        at = next;
    }
    return HR_STATUS_OK;
}

static hr_status avi_scan(hr_demux *d, hr_error *error)
{
    track t = {.number = -1};
    HR_TRY(walk(d, &t, error));
    if (t.number < 0 && t.unknown)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the codec '%s' is not supported",
                       t.letters);
    if (t.number < 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "there is no video track");
    return hr__pictures_order(d, error);
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
