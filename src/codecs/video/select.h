/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which frames a sequence consists of: numbers, and what stands for those that do not exist. */
#pragma once

#include "core/core.h"

/* What stands for a frame before the first or after the last one. */
typedef enum hr_video_pad_mode {
    HR_VIDEO_PAD_NONE,     /* nothing: the sequence ends */
    HR_VIDEO_PAD_CONSTANT, /* a frame of one colour */
    HR_VIDEO_PAD_EDGE,     /* the first or last frame */
    HR_VIDEO_PAD_REFLECT_1001,
    HR_VIDEO_PAD_REFLECT_101
} hr_video_pad_mode;

/* The choices of an argument pad_mode. */
#define HR_VIDEO_PAD_MODES "none|constant|edge|repeat|reflect_1001|symmetric|reflect_101|reflect|"

hr_video_pad_mode hr_video_pad_mode_of(const char *name);

/* The most frames of a sequence. */
enum { HR_VIDEO_MOST_FRAMES = 1 << 24 };

/* The frame that stands for frame `index` of `count` >= 1; -1: one of the fill colour. */
int32_t hr_video_pad(hr_video_pad_mode mode, int64_t index, int32_t count);

/* `length` frames from `start` on, every `stride`-th; fewer with HR_VIDEO_PAD_NONE, whose frames
 * begin at 0 at the earliest. `*numbers` are from the arena. */
hr_status hr_video_select(hr_video_pad_mode mode, int32_t frames, int64_t start, int64_t stride,
                          int64_t length, hr_arena *arena, int32_t **numbers, int32_t *count,
                          hr_error *error);
