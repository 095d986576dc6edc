/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/bits/bitstream.h"

#include "codecs/video/bits/av1.h"
#include "codecs/video/bits/units.h"

enum { AVCC = 4, HVCC = 21, MPEG4_PICTURE = 0xb6 }; /* where the size of lengths is */

static int32_t vp8_flags(const uint8_t *p, size_t size)
{
    if (size < 1)
        return -1;
    return (p[0] & 1 ? 0 : HR_VIDEO_PACKET_KEY) | (p[0] & 0x10 ? 0 : HR_VIDEO_PACKET_HIDDEN);
}

static int32_t vp9_flags(const uint8_t *p, size_t size)
{
    if (size < 2)
        return -1;
    bool profile3 = (p[0] & 0x30) == 0x30;
    int32_t bits = p[0] << 8 | p[1], at = profile3 ? 5 : 4; /* of what follows the profile */
    bool shown_again = bits >> (15 - at) & 1, inter = bits >> (14 - at) & 1;
    return shown_again || inter ? 0 : HR_VIDEO_PACKET_KEY;
}

static int32_t mpeg4_flags(const uint8_t *p, size_t size)
{
    const uint8_t *unit;
    size_t unit_size;
    while (hr__units_next(&p, &size, &unit, &unit_size))
        if (unit[0] == MPEG4_PICTURE)
            return unit_size < 2 ? -1 : unit[1] >> 6 == 0 ? HR_VIDEO_PACKET_KEY : 0;
    return -1;
}

size_t hr__bitstream_length_size(const hr_video *v)
{
    const size_t at = v->codec == HR_VIDEO_CODEC_H264 ? AVCC : HVCC;
    return v->extra_size > at && v->extra[0] == 1 ? (v->extra[at] & 3u) + 1 : 0;
}

/* The next unit behind a length; one that is cut ends with the bytes. */
static bool next_unit(size_t length, const uint8_t **at, size_t *left, const uint8_t **unit,
                      size_t *size)
{
    if (length == 0)
        return hr__units_next(at, left, unit, size);
    if (*left <= length)
        return false;
    *size = 0;
    for (size_t i = 0; i < length; i++)
        *size = *size << 8 | (*at)[i];
    *unit = *at + length;
    *size = HR_MIN(*size, *left - length);
    *at += length + *size;
    *left -= length + *size;
    return true;
}

static int32_t unit_flags(const hr_video *v, const uint8_t *p, size_t size)
{
    const size_t length = hr__bitstream_length_size(v);
    const uint8_t *unit;
    size_t unit_size;
    hr_unit_recovery recovery = {0};
    int32_t flags = -1;
    while (flags < 0 && next_unit(length, &p, &size, &unit, &unit_size))
        if (unit_size > 0)
            flags = v->codec == HR_VIDEO_CODEC_H264 ? hr__h264_flags(unit, unit_size, &recovery)
                                                    : hr__hevc_flags(unit, unit_size);
    return flags;
}

int32_t hr__bitstream_flags(const hr_video *v, const uint8_t *bytes, size_t size)
{
    switch (v->codec) {
    case HR_VIDEO_CODEC_H264:
    case HR_VIDEO_CODEC_HEVC:
        return unit_flags(v, bytes, size);
    case HR_VIDEO_CODEC_VP8:
        return vp8_flags(bytes, size);
    case HR_VIDEO_CODEC_VP9:
        return vp9_flags(bytes, size);
    case HR_VIDEO_CODEC_AV1:
        return hr__av1_flags(v->extra, v->extra_size, bytes, size);
    case HR_VIDEO_CODEC_MPEG4:
        return mpeg4_flags(bytes, size);
    default: /* pictures of MJPEG are on their own */
        return HR_VIDEO_PACKET_KEY;
    }
}
