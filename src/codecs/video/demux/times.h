/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Times of frames for containers that have none, or not all: they follow from the order in which
 * the stream says that pictures are shown. */
#pragma once

#include "codecs/video/demux/demuxer.h"
#include "codecs/video/bits/units.h"

typedef struct hr_slot {
    int64_t order; /* of presentation, since the last reset */
    int32_t packet;
    bool reset;
} hr_slot;

/* One slot per packet of the video. */
typedef struct hr_slots {
    hr_slot *v;
    int32_t count, capacity;
    int32_t reference; /* 1 + the last slot of MPEG-4 that is not of the kind B */
} hr_slots;

/* Adds a packet with what its unit says, or NULL if that is not known. */
hr_status hr__slots_add(hr_slots *s, hr_demux *d, hr_video_packet packet,
                        const hr_unit_picture *picture, hr_error *error);
/* The packets have times of decoding, ascending. Between two resets, the first picture shown gets
 * the first of them as its pts, and so on. */
hr_status hr__slots_assign(hr_slots *s, hr_video *v, hr_error *error);
/* Fills in times that are missing (HR_VIDEO_NO_PTS) evenly between those that are known. `step`:
 * from a picture to the next where the file does not show it. */
void hr__slots_fill(hr_slots *s, hr_video *v, int64_t step);
void hr__slots_fini(hr_slots *s);
