/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the numbers of a picture mean: what the stream and the container say, and what was asked
 * for. The same on every device, because what decoders find out about it differs. */
#pragma once

#include "codecs/video/module.h"
#include "codecs/video/video.h"

typedef enum hr_video_space { /* the argument color_space */
                              HR_VIDEO_SPACE_BT601,
                              HR_VIDEO_SPACE_BT709,
                              HR_VIDEO_SPACE_BT2020,
                              HR_VIDEO_SPACE_AUTO
} hr_video_space;
#define HR_VIDEO_SPACES "bt601|bt709|bt2020|auto"

/* `name`: one of HR_VIDEO_SPACES. */
hr_video_space hr_video_space_of(const char *name);
/* What a key packet of VP9 says about colours. Left as it is if it says nothing. */
void hr_video_vp9_signal(const uint8_t *bytes, size_t size, hr_video_signal *signal);

/* `stream`: what the stream says. Fails if `space` is AUTO and the matrix is not supported. VP8 has
 * that of BT.601. */
hr_status hr_video_colors_of(hr_video_space space, const hr_video *video,
                             const hr_video_signal *stream, int32_t bits, hr_yuv_colors *out,
                             hr_error *error);
