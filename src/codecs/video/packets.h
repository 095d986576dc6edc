/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What packets contain, as far as it decides whether they have to be decoded. */
#pragma once

#include "codecs/video/video.h"

typedef enum hr_video_content {
    HR_VIDEO_CONTENT_OTHER = 0,
    /* No other picture refers to this one, and nothing else that is decoded later depends on it:
     * decoding without it gives the same pictures. */
    HR_VIDEO_CONTENT_DISPOSABLE = 1 << 0,
    /* Has parameters which decoders keep, also for the next file. */
    HR_VIDEO_CONTENT_PARAMETERS = 1 << 1
} hr_video_content;

/* Decoders need some KiB for each unit of H.264 and HEVC; real packets have at most some hundred.
 */
enum { HR_VIDEO_MOST_UNITS = 4096 };

/* Whether there are more units than that; `bytes`: also v->extra. */
bool hr_video_is_crowded(const hr_video *video, const uint8_t *bytes, size_t size);

/* A set of HR_VIDEO_CONTENT. `bytes`: as hr_video_unpack makes them. */
int32_t hr_video_content_of(const hr_video *video, const uint8_t *bytes, size_t size);
