/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arguments that may come a frame, and sequences that they belong to. */
#ifndef HR_OPS_GEOMETRY_FRAMES_H
#define HR_OPS_GEOMETRY_FRAMES_H

#include "core/core.h"
#include "headrace/operator.h"

/* Frames that are not known yet. */
#define HR_FRAMES_NONE (-1)

/* `frames` becomes that of what has `count` frames, called `name`; an argument of one frame is for
 * all of them. Fails where two numbers differ. */
hr_status hr__frames_join(int64_t *frames, int64_t count, bool is_input, const char *name,
                          hr_error *error);
/* The part of a list that is for a frame. */
hr_floats hr__frames_part(hr_floats list, int64_t frame);
/* Element i of a list whose only element stands for all. */
float hr__frames_element(hr_floats list, int32_t i);

#endif
