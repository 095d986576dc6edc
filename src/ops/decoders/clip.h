/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the operators that decode videos in memory share. */
#pragma once

#include "codecs/video/frames.h"
#include "headrace/operator.h"

/* local_create and local_destroy of these operators. */
hr_status hr__clip_local_create(const void *args, void *state, void **local, hr_error *error);
void hr__clip_local_destroy(void *local);

/* Sets frames and count of a request, and the colour of what stands for missing ones, for a video
 * of `frames` frames. Called again if the worker had another sample in between. */
typedef hr_status (*hr_clip_select_fn)(const hr_op_call *c, int32_t frames, hr_video_request *r,
                                       hr_error *error);

/* Decodes the first frame of the file in input 0 and describes output 0, layout FHWC. `table`: the
 * input with the table of packets of the file (codecs/video/flat.h); NULL: the file is scanned. */
hr_status hr__clip_infer(hr_op_call *c, const hr_tensor *table, hr_clip_select_fn select,
                         hr_error *error);
/* Decodes the frames. */
hr_status hr__clip_run(hr_op_call *c, hr_error *error);
