/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The four letters that name codings in AVI, IVF and MP4 files. */
#pragma once

#include "codecs/video/video.h"

/* HR_VIDEO_CODEC_NONE: not known (AVI, IVF). Capitals and small letters are the same. */
hr_video_codec hr__fourcc_codec(const uint8_t letters[4]);
/* The letters for messages: they may be bytes that are not letters. */
void hr__fourcc_text(const uint8_t letters[4], char text[5]);
