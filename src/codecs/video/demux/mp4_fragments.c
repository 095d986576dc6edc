/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The packets of a fragmented MP4 file: the boxes moof, traf and trun. */
#include "codecs/video/demux/mp4.h"

enum { NOT_SYNC = 1 << 16 };              /* of a sample's flags */
#define MOST_FRAGMENT ((int64_t)64 << 20) /* bytes of a moof box */

/* What the samples of a track fragment have, and where the next one is. */
typedef struct fragment {
    int64_t start;  /* of the moof box */
    int64_t base;   /* that offsets are relative to */
    int64_t offset; /* of the next sample */
    int64_t time;
    uint32_t description, duration, size, flags;
} fragment;

/* A field of a header in which each field is present only if its flag is set. */
static bool take(hr_mp4_span *in, uint32_t flags, uint32_t flag, size_t size, uint64_t *value)
{
    if (!(flags & flag) || in->size < size)
        return false;
    *value = size == 8 ? hr_mp4_be64(in->p) : hr_get_be32(in->p);
    in->p += size;
    in->size -= size;
    return true;
}

/* false: the fragment is of another track. */
static bool read_header(hr_mp4_span traf, const hr_mp4_track *t, fragment *f)
{
    hr_mp4_span in = hr_mp4_find(traf, HR_MP4_TYPE('t', 'f', 'h', 'd'));
    hr_mp4_span tfdt = hr_mp4_find(traf, HR_MP4_TYPE('t', 'f', 'd', 't'));
    uint64_t value;
    if (in.size < 8 || hr_get_be32(in.p + 4) != t->id)
        return false;
    uint32_t flags = hr_get_be32(in.p) & 0xffffff;
    in.p += 8;
    in.size -= 8;
    f->description = t->default_description;
    f->duration = t->default_duration;
    f->size = t->default_size;
    f->flags = t->default_flags;
    if (take(&in, flags, 0x1, 8, &value))
        f->base = (int64_t)HR_MIN(value, (uint64_t)INT64_MAX / 4);
    else if (flags & 0x20000)
        f->base = f->start;
    if (take(&in, flags, 0x2, 4, &value))
        f->description = (uint32_t)value;
    if (take(&in, flags, 0x8, 4, &value))
        f->duration = (uint32_t)value;
    if (take(&in, flags, 0x10, 4, &value))
        f->size = (uint32_t)value;
    if (take(&in, flags, 0x20, 4, &value))
        f->flags = (uint32_t)value;
    if (tfdt.size >= 12 && tfdt.p[0] == 1)
        f->time = (int64_t)HR_MIN(hr_mp4_be64(tfdt.p + 4), (uint64_t)HR_VIDEO_MOST_PTS);
    else if (tfdt.size >= 8)
        f->time = hr_get_be32(tfdt.p + 4);
    f->offset = f->base;
    return true;
}

/* The samples of a run, which follow one another in the file. */
static hr_status add_run(hr_demux *d, fragment *f, hr_mp4_span in, hr_error *error)
{
    uint64_t value, first_flags = 0;
    if (in.size < 8)
        return HR_STATUS_OK;
    uint32_t flags = hr_get_be32(in.p) & 0xffffff, count = hr_get_be32(in.p + 4);
    size_t each = 4 * (size_t)__builtin_popcount(flags & 0xf00);
    in.p += 8;
    in.size -= 8;
    if (take(&in, flags, 0x1, 4, &value))
        f->offset = f->base + (int32_t)value;
    bool has_first = take(&in, flags, 0x4, 4, &first_flags);
    for (uint32_t i = 0; i < count && in.size >= each && !d->full; i++) {
        uint32_t duration = f->duration, size = f->size, sample = f->flags;
        int64_t shift = 0;
        if (take(&in, flags, 0x100, 4, &value))
            duration = (uint32_t)value;
        if (take(&in, flags, 0x200, 4, &value))
            size = (uint32_t)value;
        if (take(&in, flags, 0x400, 4, &value))
            sample = (uint32_t)value;
        else if (i == 0 && has_first)
            sample = (uint32_t)first_flags;
        if (take(&in, flags, 0x800, 4, &value))
            shift = (int32_t)value;
        if (size > INT32_MAX || (size == 0 && each == 0))
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "the size of a packet in a fragment, %lu bytes, is not possible",
                           (unsigned long)size);
        hr_video_packet packet = {f->offset, (int32_t)size,
                                  sample & NOT_SYNC ? 0 : HR_VIDEO_PACKET_KEY, f->time + shift};
        HR_TRY(hr__demux_add(d, packet, error));
        f->offset += size;
        f->time = HR_MIN(f->time + duration, HR_VIDEO_MOST_PTS);
    }
    return HR_STATUS_OK;
}

static hr_status add_fragment(hr_demux *d, hr_mp4_track *t, fragment *f, hr_mp4_span moof,
                              hr_error *error)
{
    hr_mp4_span traf, box;
    uint32_t type;
    f->base = f->start;
    while (hr_mp4_next(&moof, &type, &traf)) {
        if (type != HR_MP4_TYPE('t', 'r', 'a', 'f') || !read_header(traf, t, f))
            continue;
        HR_TRY(hr_mp4_use_description(d, t, f->description, error));
        while (hr_mp4_next(&traf, &type, &box))
            if (type == HR_MP4_TYPE('t', 'r', 'u', 'n'))
                HR_TRY(add_run(d, f, box, error));
        f->base = f->offset;
    }
    return HR_STATUS_OK;
}

/* Reads the moof box at f->start. */
static hr_status read_fragment(hr_demux *d, hr_mp4_track *t, fragment *f, int64_t head,
                               int64_t size, hr_error *error)
{
    uint8_t *bytes;
    if (size - head > MOST_FRAGMENT)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "the header of a fragment has %lld bytes, which is too large",
                       (long long)size);
    HR_TRY(hr__demux_load(d, f->start + head, size - head, &bytes, error));
    hr_status status = add_fragment(d, t, f, (hr_mp4_span){bytes, (size_t)(size - head)}, error);
    hr_free(bytes);
    return status;
}

hr_status hr_mp4_add_fragments(hr_demux *d, hr_mp4_track *t, int64_t offset, int64_t time,
                               hr_error *error)
{
    fragment f = {.time = time};
    for (int64_t at = offset, all; at + 8 <= d->file->size && !d->full; at += all) {
        size_t have;
        const uint8_t *p = hr__demux_some(d, at, 16, &have, error);
        if (!p)
            return error->status;
        uint32_t type = hr_get_be32(p + 4);
        uint64_t said = hr_get_be32(p), head = 8;
        if (said == 1 && have >= 16) {
            said = hr_mp4_be64(p + 8);
            head = 16;
        }
        if (said == 0)
            said = (uint64_t)(d->file->size - at);
        if (said < head || said > (uint64_t)(d->file->size - at))
            return HR_STATUS_OK; /* cut */
        all = (int64_t)said;
        f.start = at;
        if (type == HR_MP4_TYPE('m', 'o', 'o', 'f'))
            HR_TRY(read_fragment(d, t, &f, (int64_t)head, all, error));
    }
    return HR_STATUS_OK;
}
