/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which sequences of frames there are in parts of videos. */
#pragma once

#include "codecs/video/select.h"
#include "codecs/video/video.h"
#include "readers/video/list.h"

/* How the ends of parts become numbers of frames. */
typedef struct hr_video_rounding {
    bool frames;             /* they are numbers of frames, not seconds */
    bool start_up, end_down; /* of seconds: to the next frame, to the frame before */
    bool rate;               /* seconds are multiplied by the frames per second */
} hr_video_rounding;

/* The frames start <= f < end of a part; end <= start: none. HR_STATUS_ERROR: it is not in the
 * video. */
hr_status hr_video_range(const hr_video *video, const hr_video_part *part,
                         const hr_video_rounding *rounding, int32_t *start, int32_t *end,
                         hr_error *error);

/* The frames of the video that are not before `seconds`, which count from its first frame, begin
 * with the number that is returned; with `down`, the last one that is not behind it. */
int32_t hr_video_frame_at(const hr_video *video, double seconds, bool down);

typedef struct hr_video_step {
    int32_t length, stride, step;
    int32_t span; /* frames that must be there for a sequence */
    bool uniform; /* one sequence per part, spread over it */
    bool tails;   /* sequences may lack frames at the end ... */
    bool many;    /* ... and there may be several of them */
} hr_video_step;

/* Sequences in a part of `frames` frames. */
int64_t hr_video_sequence_count(const hr_video_step *s, int32_t frames);
/* Frame k of sequence i, relative to the start of the part; it may be behind its end. */
int64_t hr_video_sequence_frame(const hr_video_step *s, int32_t frames, int64_t i, int32_t k);
