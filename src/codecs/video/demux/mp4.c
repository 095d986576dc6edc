/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* MP4 and QuickTime files: the boxes of the file, and those of the movie up to its tables. */
#include <string.h>

#include "codecs/video/demux/fourcc.h"
#include "codecs/video/demux/keys.h"
#include "codecs/video/demux/mp4.h"

/* ---- the track ---- */

/* The signs of what a matrix of a header makes of (x, y): (x a + y c, x b + y d). */
typedef struct turn {
    int32_t a, b, c, d;
} turn;

static int32_t sign_of(const uint8_t *p)
{
    const int32_t v = (int32_t)hr_get_be32(p);
    return (v > 0) - (v < 0);
}

/* `at`: of the matrix in the box, version 0; later versions have three longer numbers before. */
static turn read_turn(hr_mp4_span box, size_t at)
{
    at += box.size > 0 && box.p[0] == 1 ? 12 : 0;
    if (box.size < at + 36)
        return (turn){1, 0, 0, 1};
    return (turn){sign_of(box.p + at), sign_of(box.p + at + 4), sign_of(box.p + at + 12),
                  sign_of(box.p + at + 16)};
}

/* The track is turned, and then the whole movie. Matrices of zeros mean nothing. */
static void set_turn(hr_video *v, turn t, turn m)
{
    turn p = {t.a * m.a + t.b * m.c, t.a * m.b + t.b * m.d, t.c * m.a + t.d * m.c,
              t.c * m.b + t.d * m.d};
    const bool straight = p.b == 0 && p.c == 0, across = p.a == 0 && p.d == 0;
    const int32_t area = p.a * p.d - p.b * p.c;
    v->rotation = 0;
    v->mirrored = area < 0;
    if (straight && across)
        return;
    if (v->mirrored) {
        p.a = -p.a;
        p.b = -p.b;
    }
    if (area == 0 || !(straight || across))
        v->rotation = -1;
    else
        v->rotation = straight ? (p.a < 0 ? 180 : 0) : p.b > 0 ? 90 : 270;
}

static void read_tables(hr_mp4_track *t, hr_mp4_span stbl)
{
    t->stsd = hr_mp4_find(stbl, HR_MP4_TYPE('s', 't', 's', 'd'));
    t->stts = hr_mp4_find(stbl, HR_MP4_TYPE('s', 't', 't', 's'));
    t->ctts = hr_mp4_find(stbl, HR_MP4_TYPE('c', 't', 't', 's'));
    t->stss = hr_mp4_find(stbl, HR_MP4_TYPE('s', 't', 's', 's'));
    t->stsc = hr_mp4_find(stbl, HR_MP4_TYPE('s', 't', 's', 'c'));
    t->stsz = hr_mp4_find(stbl, HR_MP4_TYPE('s', 't', 's', 'z'));
    t->stz2 = hr_mp4_find(stbl, HR_MP4_TYPE('s', 't', 'z', '2'));
    t->stco = hr_mp4_find(stbl, HR_MP4_TYPE('s', 't', 'c', 'o'));
    t->co64 = hr_mp4_find(stbl, HR_MP4_TYPE('c', 'o', '6', '4'));
}

/* What samples of fragments have unless they say otherwise. */
static void read_defaults(hr_mp4_track *t, hr_mp4_span moov)
{
    hr_mp4_span mvex = hr_mp4_find(moov, HR_MP4_TYPE('m', 'v', 'e', 'x')), box;
    uint32_t type;
    t->fragmented = mvex.size > 0;
    while (hr_mp4_next(&mvex, &type, &box))
        if (type == HR_MP4_TYPE('t', 'r', 'e', 'x') && box.size >= 24 &&
            hr_get_be32(box.p + 4) == t->id) {
            t->default_description = hr_get_be32(box.p + 8);
            t->default_duration = hr_get_be32(box.p + 12);
            t->default_size = hr_get_be32(box.p + 16);
            t->default_flags = hr_get_be32(box.p + 20);
        }
}

/* The sample description of the first packet, by number; 0: not known. */
static uint32_t first_description(const hr_mp4_track *t)
{
    return t->stsc.size >= 20 && hr_get_be32(t->stsc.p + 4) > 0 ? hr_get_be32(t->stsc.p + 16)
                                                                : t->default_description;
}

/* Whether `trak` is a video track of a known coding; then `*t` and d->video describe it. */
static hr_status read_track(hr_demux *d, hr_mp4_span moov, hr_mp4_span trak, hr_mp4_track *t,
                            uint32_t *unknown, bool *found, hr_error *error)
{
    hr_mp4_span mdia = hr_mp4_find(trak, HR_MP4_TYPE('m', 'd', 'i', 'a'));
    hr_mp4_span hdlr = hr_mp4_find(mdia, HR_MP4_TYPE('h', 'd', 'l', 'r'));
    hr_mp4_span mdhd = hr_mp4_find(mdia, HR_MP4_TYPE('m', 'd', 'h', 'd'));
    hr_mp4_span tkhd = hr_mp4_find(trak, HR_MP4_TYPE('t', 'k', 'h', 'd'));
    *found = false;
    if (hdlr.size < 12 || hr_get_be32(hdlr.p + 8) != HR_MP4_TYPE('v', 'i', 'd', 'e'))
        return HR_STATUS_OK;
    hr_mp4_span stbl = hr_mp4_find(hr_mp4_find(mdia, HR_MP4_TYPE('m', 'i', 'n', 'f')),
                                   HR_MP4_TYPE('s', 't', 'b', 'l'));
    size_t scale = mdhd.size > 0 && mdhd.p[0] == 1 ? 20 : 12;
    size_t id = tkhd.size > 0 && tkhd.p[0] == 1 ? 20 : 12;
    if (mdhd.size < scale + 4 || tkhd.size < id + 4)
        return HR_STATUS_OK;
    *t = (hr_mp4_track){.id = hr_get_be32(tkhd.p + id),
                        .time_scale = hr_get_be32(mdhd.p + scale),
                        .elst = hr_mp4_find(hr_mp4_find(trak, HR_MP4_TYPE('e', 'd', 't', 's')),
                                            HR_MP4_TYPE('e', 'l', 's', 't'))};
    read_tables(t, stbl);
    read_defaults(t, moov);
    HR_TRY(hr_mp4_describe(d, t, first_description(t), unknown, error));
    if (d->video->codec == HR_VIDEO_CODEC_NONE)
        return HR_STATUS_OK;
    set_turn(d->video, read_turn(tkhd, 40),
             read_turn(hr_mp4_find(moov, HR_MP4_TYPE('m', 'v', 'h', 'd')), 36));
    d->video->time_num = 1;
    d->video->time_den = t->time_scale;
    *found = true;
    return HR_STATUS_OK;
}

static hr_status read_movie(hr_demux *d, hr_mp4_span moov, hr_mp4_track *t, hr_error *error)
{
    hr_mp4_span in = moov, box, mvhd = hr_mp4_find(moov, HR_MP4_TYPE('m', 'v', 'h', 'd'));
    uint32_t type, unknown = 0;
    bool found = false;
    if (hr_mp4_find(moov, HR_MP4_TYPE('c', 'm', 'o', 'v')).size > 0)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "a compressed movie header (cmov) is not supported");
    while (!found && hr_mp4_next(&in, &type, &box))
        if (type == HR_MP4_TYPE('t', 'r', 'a', 'k'))
            HR_TRY(read_track(d, moov, box, t, &unknown, &found, error));
    if (!found && unknown != 0) {
        char letters[5];
        hr__fourcc_text((const uint8_t[]){(uint8_t)(unknown >> 24), (uint8_t)(unknown >> 16),
                                          (uint8_t)(unknown >> 8), (uint8_t)unknown},
                        letters);
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the codec '%s' is not supported",
                       letters);
    }
    if (!found)
        return hr_fail(error, HR_STATUS_CORRUPT, "there is no video track");
    size_t scale = mvhd.size > 0 && mvhd.p[0] == 1 ? 20 : 12;
    t->movie_scale = mvhd.size >= scale + 4 ? hr_get_be32(mvhd.p + scale) : 0;
    return HR_STATUS_OK;
}

/* ---- the file ---- */

/* Finds the movie box; `*moof`: the first fragment, or the end of the file. */
static hr_status find_movie(hr_demux *d, int64_t *offset, int64_t *size, int64_t *moof,
                            hr_error *error)
{
    bool found = false;
    *moof = d->file->size;
    for (int64_t at = 0, all; at + 8 <= d->file->size; at += all) {
        size_t have;
        const uint8_t *p = hr__demux_some(d, at, 16, &have, error);
        if (!p)
            return error->status;
        uint32_t type = hr_get_be32(p + 4), head = 8;
        uint64_t said = hr_get_be32(p);
        if (said == 1 && have >= 16) {
            said = hr_mp4_be64(p + 8);
            head = 16;
        }
        all =
            said == 0 || said > (uint64_t)(d->file->size - at) ? d->file->size - at : (int64_t)said;
        if (all < (int64_t)head)
            break; /* damaged: nothing behind it can be found */
        if (type == HR_MP4_TYPE('m', 'o', 'o', 'v') && !found) {
            found = true;
            *offset = at + head;
            *size = all - head;
        } else if (type == HR_MP4_TYPE('m', 'o', 'o', 'f') && *moof == d->file->size) {
            *moof = at;
        }
        if (found && *moof < d->file->size)
            break;
    }
    return found ? HR_STATUS_OK
                 : hr_fail(error, HR_STATUS_CORRUPT,
                           "there is no movie header (moov); the file may be cut");
}

static hr_status add_packets(hr_demux *d, hr_mp4_track *t, int64_t moof, hr_error *error)
{
    int64_t time = 0;
    HR_TRY(hr_mp4_add_samples(d, t, &time, error));
    if (t->fragmented && !d->full)
        HR_TRY(hr_mp4_add_fragments(d, t, moof, time, error));
    HR_TRY(hr__keys_check(d, error));
    return hr_mp4_edit_times(d, t, error);
}

static hr_status mp4_scan(hr_demux *d, hr_error *error)
{
    int64_t offset = 0, size = 0, moof;
    hr_mp4_track track;
    uint8_t *bytes;
    HR_TRY(find_movie(d, &offset, &size, &moof, error));
    HR_TRY(hr__demux_load(d, offset, size, &bytes, error));
    hr_status status = read_movie(d, (hr_mp4_span){bytes, (size_t)size}, &track, error);
    if (status == HR_STATUS_OK)
        status = add_packets(d, &track, moof, error);
    hr_free(bytes);
    return status;
}

static bool mp4_match(const uint8_t *bytes, size_t size)
{
    static const char types[][5] = {"ftyp", "moov", "mdat", "free", "skip", "wide", "styp", "pnot"};
    for (size_t i = 0; size >= 8 && i < HR_COUNT_OF(types); i++)
        if (memcmp(bytes + 4, types[i], 4) == 0)
            return true;
    return false;
}

const hr_demuxer hr_demuxer_mp4 = {
    .name = "MP4",
    .match = mp4_match,
    .scan = mp4_scan,
};
