/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rotation of images and volumes: the matrix, the size of the canvas, and the map. */
#pragma once

#include "core/core.h"
#include "kernels/gather.h"

/* Axes are x, y, z here; images have two. */
typedef struct hr_rotation {
    int32_t axes;
    float m[3][3]; /* output to input, about the centres */
    bool steep;    /* of images: by more than 45 degrees, as DALI rounds the angle */
} hr_rotation;

/* Rotates counter-clockwise by `degrees` with y down, or about `axis` (x, y, z) for volumes, in the
 * other direction, as in DALI: clockwise within a slice for the axis (0, 0, 1). */
hr_status hr__rotation_make(hr_rotation *r, double degrees, const float *axis, hr_error *error);
/* The smallest extents that contain a rotated input, and for each output axis the input axis whose
 * parity it should have, so that the centre does not move. */
void hr__rotation_canvas(const hr_rotation *r, const int64_t *in, int64_t *out, int32_t *alike);
/* The map from the output to the input, whose centres coincide. */
void hr__rotation_map(const hr_rotation *r, const int64_t *in, const int64_t *out, hr_map *map);
