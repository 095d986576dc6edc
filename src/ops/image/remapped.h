/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What experimental.remap and experimental.warp_perspective share: images whose pixels come from
 * positions that maps or matrices give. nvcc compiles this header, too. */
#pragma once

#include "headrace/operator.h"
#include "kernels/remap.h"

#include <math.h>

/* A sample: `frames` times `planes` images, one after the other. */
typedef struct hr_remapped {
    hr_remap image;                 /* the first one */
    int64_t frames, planes, out[2]; /* out: width and height */
    const float *matrix; /* nine numbers; NULL: inputs 1 and 2 are the positions of all pixels */
    float shift;         /* what is added to positions of the inputs */
    bool varies;         /* each frame has its own matrix or positions */
} hr_remapped;

HR_SHARED float remapped_position(const hr_remapped *m, float given)
{
    return remap_given(given, m->shift, m->image.taps == 1);
}

/* Checks the input and `interp`, and makes the memo of the call, in which the border, the fill,
 * size and positions are still to be set. `layouts` as for hr_layout_match. */
hr_status hr__remapped_begin(hr_op_call *c, const char *layouts, int32_t interp, hr_remapped **out,
                             hr_error *error);
/* Checks that pixels exist, and describes the output. */
hr_status hr__remapped_end(hr_op_call *c, const hr_remapped *m, hr_error *error);
hr_status hr__remapped_run(hr_op_call *c, hr_error *error);
