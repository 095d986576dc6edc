/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the first bytes of a packet say about it, for containers that do not say it. */
#ifndef HR_CODECS_VIDEO_BITSTREAM_H
#define HR_CODECS_VIDEO_BITSTREAM_H

#include "codecs/video/video.h"

enum { HR_BITSTREAM_HEAD = 64 }; /* bytes that are enough */

/* HR_VIDEO_PACKET_KEY, and HIDDEN for pictures that are only referred to; of VP8, VP9, AV1 and
 * MPEG-4. Packets of MJPEG are keys, those of others are not. */
int32_t hr__bitstream_flags(hr_video_codec codec, const uint8_t *bytes, size_t size);

/* The type of an MPEG-4 picture: 0 intra, 1 predicted, 2 from both sides, 3 sprite; -1: none. */
int32_t hr__mpeg4_picture(const uint8_t *bytes, size_t size);

#endif
