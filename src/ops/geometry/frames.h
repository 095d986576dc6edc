/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arguments with values per frame, and the sequences to which they belong. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

/* The number of frames is not known yet. */
#define HR_FRAMES_NONE (-1)

/* The number of frames of a call, and the input or the argument that set it. */
typedef struct hr_frames {
    int64_t count; /* or HR_FRAMES_NONE */
    int32_t input;
    const char *argument; /* NULL: the input */
} hr_frames;

/* Fails if input `i` is a sequence of another length than those before it. */
hr_status hr__frames_join_input(hr_frames *frames, const hr_op_call *c, int32_t i, hr_error *error);
/* Fails if `list` has values for another number of frames. One frame applies to all. */
hr_status hr__frames_join_argument(hr_frames *frames, const hr_op_call *c, hr_floats list,
                                   const char *name, hr_error *error);
/* The part of a list for one frame. */
hr_floats hr__frames_part(hr_floats list, int64_t frame);
/* Element i of a list; a single element applies to all. */
float hr__frames_element(hr_floats list, int32_t i);
