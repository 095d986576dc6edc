/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arguments with values per frame, and the sequences to which they belong. */
#ifndef HR_OPS_GEOMETRY_FRAMES_H
#define HR_OPS_GEOMETRY_FRAMES_H

#include "core/core.h"
#include "headrace/operator.h"

/* The number of frames is not known yet. */
#define HR_FRAMES_NONE (-1)

/* Combines `frames` with the `count` frames of `name`; an argument with one frame applies to all.
 * Fails if the numbers differ. */
hr_status hr__frames_join(int64_t *frames, int64_t count, bool is_input, const char *name,
                          hr_error *error);
/* The part of a list for one frame. */
hr_floats hr__frames_part(hr_floats list, int64_t frame);
/* Element i of a list; a single element applies to all. */
float hr__frames_element(hr_floats list, int32_t i);

#endif
