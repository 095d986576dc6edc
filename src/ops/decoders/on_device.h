/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Frames that are decoded on the device, where nothing else uses them. */
#pragma once

#include "codecs/video/frames.h"
#include "headrace/operator.h"

/* Arguments of all operators that decode videos. */
typedef struct hr_frames_look {
    const char *color_space;
    int32_t rotate;
} hr_frames_look;

/* Describes the hr_frames_look called `from` in the args struct S. */
#define HR_FRAMES_LOOK_ARG_DEFS(S, from)                                                           \
    {.name = "color_space",                                                                        \
     .type = HR_ARG_TYPE_STRING,                                                                   \
     .offset = offsetof(S, from.color_space),                                                      \
     .size = sizeof(((S *)0)->from.color_space),                                                   \
     .def = "\"bt601\"",                                                                           \
     .doc = "Not in DALI. The matrix with which luma and chroma become RGB: `bt601` for all "      \
            "videos, as in DALI; `bt709` or `bt2020`; `auto`: the one that the stream or the "     \
            "container names, and that of BT.601 if they name none.",                              \
     .choices = HR_VIDEO_SPACES},                                                                  \
    {                                                                                              \
        .name = "rotate", .type = HR_ARG_TYPE_BOOL, .offset = offsetof(S, from.rotate),            \
        .size = sizeof(((S *)0)->from.rotate), .def = "False",                                     \
        .doc = "Not in DALI. Turn and mirror the frames as the display matrix of the container "   \
               "says, as players do. By default they are as they are stored."                      \
    }
void hr__frames_look(const hr_frames_look *look, hr_video_request *r);

/* Describes output 0: frames of UINT8, layout FHWC. */
void hr__frames_describe(hr_op_call *c, const hr_video_request *r);
/* Sets the size of the frames, as hr_video_frames_begin does. If all that uses output 0 is the
 * copy to the device, and the device decodes such videos, it also makes output 0 there, with its
 * memory, and sets `*done`. */
hr_status hr__frames_begin(hr_op_call *c, hr_video_decoder *decoder, hr_video_request *r,
                           bool *done, hr_error *error);
