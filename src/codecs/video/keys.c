/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/keys.h"

#include "codecs/video/bitstream.h"
#include "codecs/video/fields.h"
#include "codecs/video/pictures.h"

/* Bytes of a packet that are read, if the fewer ones do not say what it is. */
static const size_t heads[] = {4 << 10, 64 << 10, HR_DEMUX_MOST_BYTES};

/* What packet `i` says about itself. */
static hr_status read_flags(hr_demux *d, int32_t i, int32_t *flags, hr_error *error)
{
    const hr_video_packet *p = &d->video->packets[i];
    *flags = d->video->codec == HR_VIDEO_CODEC_MJPEG ? HR_VIDEO_PACKET_KEY : -1;
    for (size_t k = 0; k < HR_COUNT_OF(heads) && *flags < 0; k++) {
        size_t have;
        const uint8_t *bytes = hr__demux_head(d, p, heads[k], &have, error);
        if (!bytes)
            return error ? error->status : HR_STATUS_CORRUPT;
        *flags = hr__bitstream_flags(d->video, bytes, have);
        if (have < heads[k])
            break;
    }
    *flags = HR_MAX(*flags, 0);
    return HR_STATUS_OK;
}

static hr_status set_flags(hr_demux *d, int32_t i, hr_error *error)
{
    int32_t *flags = &d->video->packets[i].flags, found;
    HR_TRY(read_flags(d, i, &found, error));
    *flags = (*flags & ~HR_VIDEO_PACKET_KEY) | found;
    return HR_STATUS_OK;
}

hr_status hr__keys_read(hr_demux *d, hr_error *error)
{
    for (int32_t i = 0; i < d->video->count; i++)
        HR_TRY(set_flags(d, i, error));
    return HR_STATUS_OK;
}

/* Leading pictures of the first key are not frames, unless they say that they can be decoded. */
static hr_status find_decodable(hr_demux *d, int32_t key, hr_error *error)
{
    const hr_video *v = d->video;
    for (int32_t i = key + 1; i < v->count && !(v->packets[i].flags & HR_VIDEO_PACKET_KEY); i++)
        if (v->packets[i].pts < v->packets[key].pts)
            HR_TRY(set_flags(d, i, error));
    return HR_STATUS_OK;
}

/* The first packet from `i` on that is called a key. */
static int32_t find_key(const hr_video *v, int32_t i)
{
    while (i < v->count && !(v->packets[i].flags & HR_VIDEO_PACKET_KEY))
        i++;
    return i;
}

static hr_status check(hr_demux *d, hr_error *error)
{
    hr_video *v = d->video;
    for (int32_t i = find_key(v, 0); i < v->count; i = find_key(v, i + 1))
        HR_TRY(set_flags(d, i, error));
    for (int32_t i = 0, named = find_key(v, 0); i < named; i++)
        HR_TRY(set_flags(d, i, error));
    const int32_t first = find_key(v, 0);
    if (first > 0 && v->codec == HR_VIDEO_CODEC_H264)
        HR_TRY(hr__fields_find_refresh(d, first, error));
    return v->codec == HR_VIDEO_CODEC_HEVC ? find_decodable(d, first, error) : HR_STATUS_OK;
}

hr_status hr__keys_check(hr_demux *d, hr_error *error)
{
    bool ordered = false;
    if (d->video->codec == HR_VIDEO_CODEC_VP8 || d->video->codec == HR_VIDEO_CODEC_MJPEG)
        return hr__keys_read(d, error); /* a byte says all */
    HR_TRY(hr__pictures_are_packed(d, &ordered, error));
    return ordered ? hr__pictures_order(d, error) : check(d, error);
}
