/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Frames that are decoded on the device, where nothing else uses them. */
#pragma once

#include "codecs/video/frames.h"
#include "headrace/operator.h"

/* Describes output 0: frames of UINT8, layout FHWC. */
void hr__frames_describe(hr_op_call *c, const hr_video_request *r);
/* Sets the size of the frames, as hr_video_frames_begin does. If all that uses output 0 is the
 * copy to the device, and the device decodes such videos, it also makes output 0 there, with its
 * memory, and sets `*done`. */
hr_status hr__frames_begin(hr_op_call *c, hr_video_decoder *decoder, hr_video_request *r,
                           bool *done, hr_error *error);
