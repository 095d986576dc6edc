/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/bitstream.h"

#include "codecs/video/av1.h"

static int32_t vp8_flags(const uint8_t *p, size_t size)
{
    if (size < 1)
        return 0;
    return (p[0] & 1 ? 0 : HR_VIDEO_PACKET_KEY) | (p[0] & 0x10 ? 0 : HR_VIDEO_PACKET_HIDDEN);
}

static int32_t vp9_flags(const uint8_t *p, size_t size)
{
    if (size < 2)
        return 0;
    bool profile3 = (p[0] & 0x30) == 0x30;
    int32_t bits = p[0] << 8 | p[1], at = profile3 ? 5 : 4; /* of what follows the profile */
    bool shown_again = bits >> (15 - at) & 1, inter = bits >> (14 - at) & 1;
    return shown_again || inter ? 0 : HR_VIDEO_PACKET_KEY;
}

/* The header of a frame, whose first bits are whether a frame is shown again and the type. */
static int32_t av1_flags(const uint8_t *p, size_t size)
{
    for (hr_av1_unit unit; hr__av1_next(&p, &size, &unit);)
        if (unit.type == HR_AV1_UNIT_FRAME_HEADER || unit.type == HR_AV1_UNIT_FRAME)
            return unit.size > 0 && (unit.bytes[0] & 0xe0) == 0 ? HR_VIDEO_PACKET_KEY : 0;
    return 0;
}

int32_t hr__mpeg4_picture(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i + 4 < size; i++)
        if (p[i] == 0 && p[i + 1] == 0 && p[i + 2] == 1 && p[i + 3] == 0xb6)
            return p[i + 4] >> 6;
    return -1;
}

int32_t hr__bitstream_flags(hr_video_codec codec, const uint8_t *bytes, size_t size)
{
    switch (codec) {
    case HR_VIDEO_CODEC_VP8:
        return vp8_flags(bytes, size);
    case HR_VIDEO_CODEC_VP9:
        return vp9_flags(bytes, size);
    case HR_VIDEO_CODEC_AV1:
        return av1_flags(bytes, size);
    case HR_VIDEO_CODEC_MPEG4:
        return hr__mpeg4_picture(bytes, size) == 0 ? HR_VIDEO_PACKET_KEY : 0;
    case HR_VIDEO_CODEC_MJPEG:
        return HR_VIDEO_PACKET_KEY;
    default:
        return 0;
    }
}
