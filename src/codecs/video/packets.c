/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/packets.h"

#include <string.h>

#include "codecs/video/bits/av1.h"
#include "codecs/video/bits/bitstream.h"

enum { HVCC_LAYERS = 21 }; /* where an hvcC has the number of temporal layers */

/* The NAL units of a packet, with lengths or with start codes in front of them. */
typedef struct nal_units {
    const uint8_t *at, *end;
    int32_t length_size; /* 0: start codes */
} nal_units;

/* The byte behind the next start code (0, 0, 1); `end` if there is none. */
static const uint8_t *behind_start_code(const uint8_t *p, const uint8_t *end)
{
    for (; end - p > 3 && (p = memchr(p + 2, 1, (size_t)(end - p - 2))); p -= 1)
        if (p[-1] == 0 && p[-2] == 0)
            return p + 1;
    return end;
}

/* The next unit, of at least two bytes; NULL at the end or at damage (*damaged). */
static const uint8_t *next_unit(nal_units *u, bool *damaged)
{
    size_t size = 0;
    const uint8_t *unit;
    if (u->length_size == 0) {
        u->at = unit = behind_start_code(u->at, u->end);
        return u->end - unit >= 2 ? unit : NULL;
    }
    if (u->at == u->end)
        return NULL;
    if (u->end - u->at >= u->length_size)
        for (int32_t i = 0; i < u->length_size; i++)
            size = size << 8 | u->at[i];
    unit = u->at + u->length_size;
    if (size < 2 || u->end - u->at < u->length_size || (size_t)(u->end - unit) < size) {
        *damaged = true;
        return NULL;
    }
    u->at = unit + size;
    return unit;
}

/* Bits of HR_VIDEO_CONTENT that a unit of H.264 takes away or adds. */
static int32_t h264_unit(const uint8_t *unit, int32_t content)
{
    int32_t type = unit[0] & 31, reference = unit[0] >> 5 & 3;
    if (type == 7 || type == 8 || type == 13 || type == 15) /* parameter sets */
        content |= HR_VIDEO_CONTENT_PARAMETERS;
    if (type <= 5 ? reference > 0 : type != 6 && type != 9 && type != 12) /* SEI, AUD, filler */
        content &= ~HR_VIDEO_CONTENT_DISPOSABLE;
    return content;
}

/* `layers`: temporal layers of the stream. Pictures of a layer may refer to those below it only, so
 * that what its own layer does not need is needed by none if it is the highest. */
static int32_t hevc_unit(const uint8_t *unit, int32_t layers, int32_t content)
{
    int32_t type = unit[0] >> 1 & 63, layer = (unit[1] & 7) - 1;
    if (type >= 32 && type <= 34)
        content |= HR_VIDEO_CONTENT_PARAMETERS;
    bool unneeded = type < 16 && type % 2 == 0 && layer == layers - 1;
    if (type < 32 ? !unneeded : type != 35 && type != 38 && type != 39 && type != 40)
        content &= ~HR_VIDEO_CONTENT_DISPOSABLE;
    return content;
}

static int32_t of_units(const hr_video *v, const uint8_t *bytes, size_t size)
{
    const bool h264 = v->codec == HR_VIDEO_CODEC_H264;
    const int32_t length_size = (int32_t)hr__bitstream_length_size(v);
    const int32_t layers = h264 ? 0 : length_size > 0 ? v->extra[HVCC_LAYERS] >> 3 & 7 : v->layers;
    nal_units u = {bytes, bytes + size, length_size};
    bool damaged = false;
    int32_t content = HR_VIDEO_CONTENT_DISPOSABLE;
    for (const uint8_t *unit; (unit = next_unit(&u, &damaged));)
        content = h264 ? h264_unit(unit, content) : hevc_unit(unit, layers, content);
    return damaged ? content & ~HR_VIDEO_CONTENT_DISPOSABLE : content;
}

bool hr_video_is_crowded(const hr_video *v, const uint8_t *bytes, size_t size)
{
    const size_t length_size = hr__bitstream_length_size(v);
    int32_t count = 0;
    if (size == 0 || (v->codec != HR_VIDEO_CODEC_H264 && v->codec != HR_VIDEO_CODEC_HEVC) ||
        (length_size > 0 && bytes == v->extra)) /* has counts, and is read unit by unit */
        return false;
    const uint8_t *p = bytes, *end = bytes + size;
    while (length_size == 0 && p < end && count <= HR_VIDEO_MOST_UNITS) {
        p = behind_start_code(p, end);
        count += p < end;
    }
    while (length_size > 0 && (size_t)(end - p) > length_size && count <= HR_VIDEO_MOST_UNITS) {
        size_t unit = 0;
        for (size_t i = 0; i < length_size; i++)
            unit = unit << 8 | *p++;
        p += HR_MIN(unit, (size_t)(end - p));
        count++;
    }
    return count > HR_VIDEO_MOST_UNITS;
}

/* A packet with nothing but one B-VOP. */
static int32_t of_mpeg4(const uint8_t *bytes, size_t size)
{
    const uint8_t *end = bytes + size, *p = behind_start_code(bytes, end);
    bool is_b = end - p >= 2 && p[0] == 0xB6 && p[1] >> 6 == 2;
    int32_t content = HR_VIDEO_CONTENT_PARAMETERS;
    return is_b && behind_start_code(p, end) == end ? content | HR_VIDEO_CONTENT_DISPOSABLE
                                                    : content;
}

int32_t hr_video_content_of(const hr_video *video, const uint8_t *bytes, size_t size)
{
    switch (video->codec) {
    case HR_VIDEO_CODEC_H264:
    case HR_VIDEO_CODEC_HEVC:
        return of_units(video, bytes, size);
    case HR_VIDEO_CODEC_MPEG4:
        return of_mpeg4(bytes, size);
    case HR_VIDEO_CODEC_MJPEG: /* pictures are on their own, but tables may be left out */
        return HR_VIDEO_CONTENT_PARAMETERS;
    case HR_VIDEO_CODEC_AV1:
        return HR_VIDEO_CONTENT_PARAMETERS |
               (hr__av1_disposable(video->extra, video->extra_size, bytes, size)
                    ? HR_VIDEO_CONTENT_DISPOSABLE
                    : 0);
    default: /* what a frame of VP8 or VP9 changes in the decoder may outlive it */
        return HR_VIDEO_CONTENT_OTHER;
    }
}
