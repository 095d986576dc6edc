/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/fields.h"

#include "codecs/bytes.h"
#include "codecs/video/bits/bitstream.h"

enum {
    AVCC = 6,          /* bytes of an avcC in front of its parameters */
    PACKET_HEAD = 4096 /* bytes of a packet, in which its first slice begins */
};

typedef struct span {
    const uint8_t *p;
    size_t size;
} span;

/* The next unit behind a length of `bytes` bytes; a unit that is cut ends with `in`. */
static bool next_unit(span *in, size_t bytes, span *unit)
{
    size_t size = 0;
    if (in->size <= bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        size = size << 8 | in->p[i];
    *unit = (span){in->p + bytes, HR_MIN(size, in->size - bytes)};
    in->p = unit->p + unit->size;
    in->size -= bytes + unit->size;
    return true;
}

static hr_status read_parameters(hr_units *u, const hr_video *v, hr_error *error)
{
    span in = {v->extra, v->extra_size}, unit;
    hr_unit_kind kind;
    if (hr__bitstream_length_size(v) == 0) {
        while (hr__units_next(&in.p, &in.size, &unit.p, &unit.size))
            HR_TRY(hr__units_read(u, unit.p, unit.size, &kind, error));
        return HR_STATUS_OK;
    }
    if (v->extra_size < AVCC)
        return HR_STATUS_OK;
    in = (span){v->extra + AVCC - 1, v->extra_size - (AVCC - 1)};
    for (int32_t sets = 0; sets < 2 && in.size > 0; sets++) { /* of sequences, and of pictures */
        int32_t count = in.p[0] & (sets == 0 ? 31 : 255);
        in.p++;
        in.size--;
        for (int32_t i = 0; i < count && next_unit(&in, 2, &unit); i++)
            HR_TRY(hr__units_read(u, unit.p, unit.size, &kind, error));
    }
    return HR_STATUS_OK;
}

/* Reads the units of a packet up to its first slice. */
static hr_status read_packet(hr_fields *f, hr_demux *d, int32_t i, hr_unit_kind *kind,
                             hr_error *error)
{
    const hr_video *v = d->video;
    const hr_video_packet *p = &v->packets[i];
    const size_t length = hr__bitstream_length_size(v);
    span in, unit;
    *kind = HR_UNIT_OTHER;
    in.p = hr__demux_head(d, p, PACKET_HEAD, &in.size, error);
    if (!in.p)
        return error ? error->status : HR_STATUS_CORRUPT;
    f->read += (int64_t)in.size;
    while (*kind != HR_UNIT_PICTURE && *kind != HR_UNIT_SLICE &&
           (length > 0 ? next_unit(&in, length, &unit)
                       : hr__units_next(&in.p, &in.size, &unit.p, &unit.size)))
        HR_TRY(hr__units_read(f->units, unit.p, unit.size, kind, error));
    return HR_STATUS_OK;
}

static hr_status ready(hr_fields *f, const hr_video *v, hr_error *error)
{
    if (f->units)
        return HR_STATUS_OK;
    HR_TRY(hr__units_create(&f->units, HR_VIDEO_CODEC_H264, error));
    return read_parameters(f->units, v, error);
}

hr_status hr__fields_check(hr_fields *f, hr_demux *d, int32_t i, bool *second, hr_error *error)
{
    hr_unit_kind kind;
    *second = false;
    if (d->video->codec != HR_VIDEO_CODEC_H264 || f->read > d->file->size)
        return HR_STATUS_OK;
    HR_TRY(ready(f, d->video, error));
    f->units->begun = false;
    HR_TRY(read_packet(f, d, i - 1, &kind, error));
    if (kind != HR_UNIT_PICTURE)
        return HR_STATUS_OK;
    HR_TRY(read_packet(f, d, i, &kind, error));
    *second = kind == HR_UNIT_SLICE && f->units->paired;
    return HR_STATUS_OK;
}

static hr_status find_refresh(hr_fields *f, hr_demux *d, int32_t end, hr_error *error)
{
    const int32_t kept =
        HR_VIDEO_PACKET_REFRESH | HR_VIDEO_PACKET_REFRESHED | HR_VIDEO_PACKET_INTRA;
    hr_unit_kind kind;
    HR_TRY(ready(f, d->video, error));
    for (int32_t i = 0; i < end; i++) {
        f->units->begun = false;
        HR_TRY(read_packet(f, d, i, &kind, error));
        if (kind == HR_UNIT_PICTURE)
            d->video->packets[i].flags |= f->units->picture.flags & kept;
    }
    return HR_STATUS_OK;
}

hr_status hr__fields_find_refresh(hr_demux *d, int32_t end, hr_error *error)
{
    hr_fields f = {0};
    hr_status status = find_refresh(&f, d, end, error);
    hr__fields_fini(&f);
    return status;
}

void hr__fields_fini(hr_fields *f)
{
    hr__units_destroy(f->units);
}
