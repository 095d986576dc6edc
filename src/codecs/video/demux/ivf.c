/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* IVF files: a header of 32 bytes, then packets behind their sizes and times. Whether a packet is a
 * key is in its first bytes. */
#include <string.h>

#include "codecs/bytes.h"
#include "codecs/video/demux/demuxer.h"
#include "codecs/video/demux/fourcc.h"
#include "codecs/video/demux/flags.h"

enum { HEAD = 32, FRAME_HEAD = 12 };

static hr_status add_packet(hr_demux *d, int64_t at, const uint8_t *head, int64_t *next,
                            hr_error *error)
{
    uint32_t size = hr_get_le32(head);
    uint64_t pts = hr_get_le32(head + 4) | (uint64_t)hr_get_le32(head + 8) << 32;
    if (size > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "packet %d has %lu bytes, which is too large",
                       d->video->count, (unsigned long)size);
    *next = at + FRAME_HEAD + (int64_t)size;
    const hr_video_packet packet = {at + FRAME_HEAD, (int32_t)size, 0, (int64_t)pts};
    return hr__demux_add(d, packet, error);
}

static hr_status ivf_scan(hr_demux *d, hr_error *error)
{
    hr_video *v = d->video;
    const uint8_t *p = hr__demux_bytes(d, 0, HEAD, error);
    if (!p)
        return error->status;
    v->codec = hr__fourcc_codec(p + 8);
    if (v->codec != HR_VIDEO_CODEC_VP8 && v->codec != HR_VIDEO_CODEC_VP9 &&
        v->codec != HR_VIDEO_CODEC_AV1) {
        char letters[5];
        hr__fourcc_text(p + 8, letters);
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the codec '%s' is not supported",
                       letters);
    }
    v->width = (int32_t)hr_get_le16(p + 12);
    v->height = (int32_t)hr_get_le16(p + 14);
    v->time_den = hr_get_le32(p + 16);
    v->time_num = hr_get_le32(p + 20);
    int64_t at = HR_MAX((int64_t)hr_get_le16(p + 6), HEAD);
    while (at + FRAME_HEAD <= d->file->size && !d->full) {
        if (!(p = hr__demux_bytes(d, at, FRAME_HEAD, error)))
            return error->status;
        HR_TRY(add_packet(d, at, p, &at, error));
    }
    return hr__flags_read(d, error);
}

static bool ivf_match(const uint8_t *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "DKIF", 4) == 0;
}

const hr_demuxer hr_demuxer_ivf = {
    .name = "IVF",
    .match = ivf_match,
    .scan = ivf_scan,
};
