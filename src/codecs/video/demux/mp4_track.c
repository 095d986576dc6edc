/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* How a track of an MP4 file is coded: the sample description. */
#include <string.h>

#include "codecs/video/demux/mp4.h"

enum {
    ENTRY = 78,      /* bytes of a visual sample entry in front of its boxes */
    MOST_ALIKE = 32, /* descriptions that are compared */
    MOST_CHANGES = 4
};

typedef struct coding {
    char type[5], config[5]; /* of the sample entry, and of the box that decoders need */
    hr_video_codec codec;
} coding;

static const coding codings[] = {
    {"avc1", "avcC", HR_VIDEO_CODEC_H264}, {"avc3", "avcC", HR_VIDEO_CODEC_H264},
    {"hvc1", "hvcC", HR_VIDEO_CODEC_HEVC}, {"hev1", "hvcC", HR_VIDEO_CODEC_HEVC},
    {"vp08", "vpcC", HR_VIDEO_CODEC_VP8},  {"vp09", "vpcC", HR_VIDEO_CODEC_VP9},
    {"av01", "av1C", HR_VIDEO_CODEC_AV1},  {"mp4v", "esds", HR_VIDEO_CODEC_MPEG4},
    {"jpeg", "", HR_VIDEO_CODEC_MJPEG},    {"mjpa", "", HR_VIDEO_CODEC_MJPEG},
};

static uint32_t type_of(const char *letters)
{
    return HR_MP4_TYPE(letters[0], letters[1], letters[2], letters[3]);
}

/* ---- descriptors of MPEG-4 (ISO/IEC 14496-1) ---- */

/* The contents of the descriptor that `in` begins with. */
static bool next_descriptor(hr_mp4_span *in, uint8_t *tag, hr_mp4_span *contents)
{
    size_t at = 1, size = 0;
    if (in->size < 2)
        return false;
    *tag = in->p[0];
    for (int i = 0; i < 4 && at < in->size; i++) {
        size = size << 7 | (in->p[at] & 127);
        if (!(in->p[at++] & 128))
            break;
    }
    size = HR_MIN(size, in->size - at);
    *contents = (hr_mp4_span){in->p + at, size};
    in->p += at + size;
    in->size -= at + size;
    return true;
}

static hr_mp4_span skip(hr_mp4_span s, size_t bytes)
{
    if (bytes >= s.size) /* also of a box that is not there, whose pointer is NULL */
        return (hr_mp4_span){0};
    return (hr_mp4_span){s.p + bytes, s.size - bytes};
}

static bool find_descriptor(hr_mp4_span in, uint8_t wanted, hr_mp4_span *contents)
{
    uint8_t tag;
    while (next_descriptor(&in, &tag, contents))
        if (tag == wanted)
            return true;
    return false;
}

/* MPEG-4 or JPEG, and the headers that MPEG-4 needs. */
static hr_video_codec read_esds(hr_mp4_span esds, hr_mp4_span *config)
{
    hr_mp4_span in = skip(esds, 4), es, decoder;
    *config = (hr_mp4_span){0};
    if (!find_descriptor(in, 3, &es) || es.size < 3)
        return HR_VIDEO_CODEC_NONE;
    uint8_t flags = es.p[2];
    es = skip(es, 3 + (flags & 0x80 ? 2 : 0));
    if (flags & 0x40 && es.size > 0)
        es = skip(es, 1 + (size_t)es.p[0]);
    es = skip(es, flags & 0x20 ? 2 : 0);
    if (!find_descriptor(es, 4, &decoder) || decoder.size < 13)
        return HR_VIDEO_CODEC_NONE;
    if (!find_descriptor(skip(decoder, 13), 5, config))
        *config = (hr_mp4_span){0};
    return decoder.p[0] == 0x20   ? HR_VIDEO_CODEC_MPEG4
           : decoder.p[0] == 0x6c ? HR_VIDEO_CODEC_MJPEG
                                  : HR_VIDEO_CODEC_NONE;
}

/* ---- sample descriptions ---- */

typedef struct description {
    uint32_t type;
    hr_video_codec codec; /* HR_VIDEO_CODEC_NONE: not known */
    int32_t width, height;
    hr_video_signal signal;
    hr_mp4_span config; /* what decoders need */
} description;

static description read_entry(uint32_t type, hr_mp4_span entry)
{
    description out = {.type = type};
    const coding *c = codings, *end = codings + HR_COUNT_OF(codings);
    while (c < end && type != type_of(c->type))
        c++;
    if (c == end || entry.size < ENTRY)
        return out;
    hr_mp4_span boxes = skip(entry, ENTRY);
    hr_mp4_span config = hr_mp4_find(boxes, type_of(c->config[0] ? c->config : "    "));
    hr_mp4_span colour = hr_mp4_find(boxes, HR_MP4_TYPE('c', 'o', 'l', 'r'));
    out.codec = c->codec;
    out.config = config;
    if (c->codec == HR_VIDEO_CODEC_MPEG4)
        out.codec = read_esds(config, &out.config);
    out.width = (int32_t)hr_get_be16(entry.p + 24);
    out.height = (int32_t)hr_get_be16(entry.p + 26);
    if (colour.size >= 10 &&
        (memcmp(colour.p, "nclx", 4) == 0 || memcmp(colour.p, "nclc", 4) == 0)) {
        out.signal.matrix = hr_get_be16(colour.p + 8);
        out.signal.full_range = colour.p[3] == 'x' && colour.size >= 11 && colour.p[10] & 0x80;
    }
    return out;
}

static bool has_description(const hr_mp4_track *t, uint32_t number)
{
    return number > 0 && t->stsd.size >= 8 && number <= hr_get_be32(t->stsd.p + 4);
}

static bool same_coding(const description *a, const description *b)
{
    return a->type == b->type && a->codec == b->codec && a->width == b->width &&
           a->height == b->height && a->signal.matrix == b->signal.matrix &&
           a->signal.full_range == b->signal.full_range && a->config.size == b->config.size &&
           (a->config.size == 0 || memcmp(a->config.p, b->config.p, a->config.size) == 0);
}

/* The description with this number; the first that is known if there is none with it. */
static description find_description(const hr_mp4_track *t, uint32_t number)
{
    hr_mp4_span in = skip(t->stsd, 8), entry;
    uint32_t type;
    description out = {0};
    const bool named = has_description(t, number);
    for (uint32_t i = 1; hr_mp4_next(&in, &type, &entry); i++) {
        if (named && i != number)
            continue;
        out = read_entry(type, entry);
        if (named || out.codec != HR_VIDEO_CODEC_NONE)
            break;
    }
    return out;
}

/* Which descriptions say the same as this one. */
static uint32_t find_alike(const hr_mp4_track *t, const description *one)
{
    hr_mp4_span in = skip(t->stsd, 8), entry;
    uint32_t type, alike = 0;
    for (uint32_t i = 0; i < MOST_ALIKE && hr_mp4_next(&in, &type, &entry); i++) {
        const description other = read_entry(type, entry);
        alike |= (uint32_t)same_coding(one, &other) << i;
    }
    return alike;
}

hr_status hr_mp4_describe(hr_demux *d, hr_mp4_track *t, uint32_t number, uint32_t *name,
                          hr_error *error)
{
    hr_video *v = d->video;
    const description found = find_description(t, number);
    v->codec = found.codec;
    if (found.codec == HR_VIDEO_CODEC_NONE) {
        *name = found.type;
        return HR_STATUS_OK;
    }
    t->description = number;
    t->alike = find_alike(t, &found);
    v->width = found.width;
    v->height = found.height;
    v->signal = found.signal;
    return hr__demux_extra(d, found.config.p, found.config.size, error);
}

hr_status hr_mp4_use_description(hr_demux *d, hr_mp4_track *t, uint32_t number, hr_error *error)
{
    uint32_t name;
    if (number == t->description || !has_description(t, number) ||
        (number <= MOST_ALIKE && t->alike >> (number - 1) & 1))
        return HR_STATUS_OK;
    if (d->video->count == 0 && t->changes++ < MOST_CHANGES) {
        HR_TRY(hr_mp4_describe(d, t, number, &name, error));
        if (d->video->codec != HR_VIDEO_CODEC_NONE)
            return HR_STATUS_OK;
    }
    return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                   "the coding of its track changes at packet %d (to sample description %lu), "
                   "which is not supported",
                   d->video->count, (unsigned long)number);
}
