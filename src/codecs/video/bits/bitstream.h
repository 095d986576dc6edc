/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the first bytes of a packet say about it, whatever its container says. */
#pragma once

#include "codecs/video/video.h"

/* KEY, DECODABLE, and HIDDEN for pictures that are only referred to (HR_VIDEO_PACKET_...); < 0:
 * these bytes do not say it, because the picture begins behind them. `bytes`: as hr_video_unpack
 * makes them. */
int32_t hr__bitstream_flags(const hr_video *v, const uint8_t *bytes, size_t size);

/* Bytes of the length in front of the units of H.264 and HEVC; 0: they have start codes. */
size_t hr__bitstream_length_size(const hr_video *v);
