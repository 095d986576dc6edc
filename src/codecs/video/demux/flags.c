/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/flags.h"

#include "codecs/video/bits/bitstream.h"

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

hr_status hr__flags_set(hr_demux *d, int32_t i, hr_error *error)
{
    int32_t *flags = &d->video->packets[i].flags, found;
    HR_TRY(read_flags(d, i, &found, error));
    *flags = (*flags & ~HR_VIDEO_PACKET_KEY) | found;
    return HR_STATUS_OK;
}

hr_status hr__flags_read(hr_demux *d, hr_error *error)
{
    for (int32_t i = 0; i < d->video->count; i++)
        HR_TRY(hr__flags_set(d, i, error));
    return HR_STATUS_OK;
}
