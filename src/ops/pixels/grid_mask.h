/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What grid_mask leaves for its run; nvcc compiles this header, too. */
#pragma once

#include "core/shared.h"

#include <stdbool.h>
#include <stdint.h>

/* The grid's coordinates of pixel (x, y), in tiles: u = x * dx - y * dy - shift_x,
 * v = x * dy + y * dx - shift_y. */
typedef struct hr_grid_mask {
    float dx, dy, shift_x, shift_y;
    float ratio; /* the part of a tile that is masked */
} hr_grid_mask;

/* v - floor(v) */
HR_SHARED float grid_mask_part(float v)
{
    float whole = (float)(int32_t)v; /* exact: grids are small */
    return v - (whole > v ? whole - 1.0f : whole);
}

HR_SHARED bool grid_mask_keeps(const hr_grid_mask *g, int32_t x, int32_t y)
{
    float u = (float)x * g->dx - (float)y * g->dy - g->shift_x;
    float v = (float)x * g->dy + (float)y * g->dx - g->shift_y;
    return grid_mask_part(u) >= g->ratio || grid_mask_part(v) >= g->ratio;
}
