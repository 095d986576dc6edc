/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/demux/fourcc.h"

#include <strings.h>

static const struct {
    char letters[5];
    hr_video_codec codec;
} codings[] = {
    {"H264", HR_VIDEO_CODEC_H264},  {"X264", HR_VIDEO_CODEC_H264},  {"AVC1", HR_VIDEO_CODEC_H264},
    {"HEVC", HR_VIDEO_CODEC_HEVC},  {"H265", HR_VIDEO_CODEC_HEVC},  {"HVC1", HR_VIDEO_CODEC_HEVC},
    {"VP80", HR_VIDEO_CODEC_VP8},   {"VP90", HR_VIDEO_CODEC_VP9},   {"AV01", HR_VIDEO_CODEC_AV1},
    {"FMP4", HR_VIDEO_CODEC_MPEG4}, {"MP4V", HR_VIDEO_CODEC_MPEG4}, {"XVID", HR_VIDEO_CODEC_MPEG4},
    {"DIVX", HR_VIDEO_CODEC_MPEG4}, {"DX50", HR_VIDEO_CODEC_MPEG4}, {"MP4S", HR_VIDEO_CODEC_MPEG4},
    {"M4S2", HR_VIDEO_CODEC_MPEG4}, {"MJPG", HR_VIDEO_CODEC_MJPEG}, {"JPEG", HR_VIDEO_CODEC_MJPEG},
};

hr_video_codec hr__fourcc_codec(const uint8_t letters[4])
{
    for (size_t i = 0; i < HR_COUNT_OF(codings); i++)
        if (strncasecmp((const char *)letters, codings[i].letters, 4) == 0)
            return codings[i].codec;
    return HR_VIDEO_CODEC_NONE;
}

void hr__fourcc_text(const uint8_t letters[4], char text[5])
{
    for (int32_t i = 0; i < 4; i++)
        text[i] = (char)(letters[i] >= ' ' && letters[i] < 127 ? letters[i] : '?');
    text[4] = 0;
}
