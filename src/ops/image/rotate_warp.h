/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rotation of pictures and volumes: the canvas that holds them, the mapping, and a row of the
 * result. */
#ifndef HR_OPS_IMAGE_ROTATE_WARP_H
#define HR_OPS_IMAGE_ROTATE_WARP_H

#include "core/core.h"

/* Axes are x, y, z here; pictures have two. */
typedef struct hr_rotation {
    int32_t axes;
    float m[3][3]; /* output to input, about the centres */
} hr_rotation;

/* Counter-clockwise by `degrees` as seen with y down, or about `axis` (x, y, z) for volumes, where
 * DALI turns the other way: clockwise in a slice for the axis (0, 0, 1). */
hr_status hr__rotation_make(hr_rotation *r, double degrees, const float *axis, hr_error *error);
/* The least extents that hold a rotated input; and for each output axis the input's axis that it
 * should be as odd or even as, so that centres stay where they were. */
void hr__rotation_canvas(const hr_rotation *r, const int64_t *in, int64_t *out, int32_t *alike);

typedef struct hr_warp {
    hr_rotation rotation;
    int64_t in[3], out[3];
    float offset[3];
    int32_t channels;
    bool nearest, has_fill; /* without a fill the edge repeats */
    float fill;
} hr_warp;

/* Sets `offset` from the rotation and the extents. */
void hr__warp_center(hr_warp *w);
/* Row (y, z) of the output. */
void hr__warp_row(const hr_warp *w, const float *src, int64_t y, int64_t z, float *dst);

#endif
