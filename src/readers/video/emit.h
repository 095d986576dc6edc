/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The outputs of the readers of videos: frames, label, numbers and times of frames. */
#pragma once

#include "readers/video/reader.h"

/* The source of all these readers. The state of a node is its hr_video_reader; c->local is a
 * hr_video_decoder. */
extern const hr_source_def hr_video_source;

/* The outputs that are asked for; `fill` and `change` are not set. */
hr_video_output hr_video_output_of(bool labelled, const hr_json *enable_frame_num, bool times,
                                   int32_t image_type);
/* Their number. */
int32_t hr_video_output_count(bool labelled, const hr_json *enable_frame_num, bool times);
hr_status hr_video_image_type_check(int32_t image_type, hr_error *error);

/* The decoder of a worker, for hr_op_def. */
hr_status hr_video_local_create(const void *args, void *state, void **local, hr_error *error);
void hr_video_local_destroy(void *local);

/* The argument enable_frame_num. */
#define HR_VIDEO_NUMBERS_FORM "bool | 'none' | 'scalar' | 'sequence'"
