/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/keys.h"

#include "codecs/video/demux/fields.h"
#include "codecs/video/demux/flags.h"
#include "codecs/video/demux/pictures.h"

/* Leading pictures of the first key are not frames, unless they say that they can be decoded. */
static hr_status find_decodable(hr_demux *d, int32_t key, hr_error *error)
{
    const hr_video *v = d->video;
    for (int32_t i = key + 1; i < v->count && !(v->packets[i].flags & HR_VIDEO_PACKET_KEY); i++)
        if (v->packets[i].pts < v->packets[key].pts)
            HR_TRY(hr__flags_set(d, i, error));
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
        HR_TRY(hr__flags_set(d, i, error));
    for (int32_t i = 0, named = find_key(v, 0); i < named; i++)
        HR_TRY(hr__flags_set(d, i, error));
    const int32_t first = find_key(v, 0);
    if (first > 0 && v->codec == HR_VIDEO_CODEC_H264)
        HR_TRY(hr__fields_find_refresh(d, first, error));
    return v->codec == HR_VIDEO_CODEC_HEVC ? find_decodable(d, first, error) : HR_STATUS_OK;
}

hr_status hr__keys_check(hr_demux *d, hr_error *error)
{
    bool ordered = false;
    if (d->video->codec == HR_VIDEO_CODEC_VP8 || d->video->codec == HR_VIDEO_CODEC_MJPEG)
        return hr__flags_read(d, error); /* a byte says all */
    HR_TRY(hr__pictures_are_packed(d, &ordered, error));
    return ordered ? hr__pictures_order(d, error) : check(d, error);
}
