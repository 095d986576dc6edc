/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* clahe: shared by the CPU and the GPU. */
#pragma once

#include "core/core.h"
#include "core/shared.h"
#include "headrace/operator.h"

#include <math.h>

#define HR_CLAHE_LEVELS 256

typedef struct hr_clahe_args {
    int32_t tiles_x, tiles_y, luma_only;
    float clip_limit;
} hr_clahe_args;

typedef struct hr_clahe_grid {
    int64_t height, width, tile_height, tile_width;
    int32_t tiles_x, tiles_y;
    uint32_t limit; /* of a count; the pixels of a tile if there is none */
    float scale;    /* from a sum of counts to a value */
} hr_clahe_grid;

/* Tiles of an image that has pixels. One that they do not divide is extended along both axes. */
HR_SHARED hr_clahe_grid clahe_grid(const hr_clahe_args *args, int64_t height, int64_t width)
{
    int32_t nx = args->tiles_x, ny = args->tiles_y, more = width % nx != 0 || height % ny != 0;
    int64_t tile_height = height / ny + more, tile_width = width / nx + more;
    int64_t area = tile_height * tile_width;
    double limit = (double)args->clip_limit * (double)area / HR_CLAHE_LEVELS;
    hr_clahe_grid grid = {height, width, tile_height, tile_width, nx, ny, 1, 255.0f / (float)area};
    if (!(limit > 0.0 && limit < (double)area)) /* also NaN */
        grid.limit = (uint32_t)area;
    else if (limit >= 1.0)
        grid.limit = (uint32_t)limit;
    return grid;
}

/* What a value becomes in a tile; `sum`: the counts up to it. */
HR_SHARED uint8_t clahe_value(uint32_t sum, float scale)
{
    const float magic = 12582912.0f; /* ties to even */
    float v = (float)(int32_t)sum * scale;
    float rounded = (v < 255.0f ? v : 255.0f) + magic;
    return (uint8_t)(int32_t)(rounded - magic);
}

/* The tile before position i, measured from the centres of tiles, and the weight of the next one.
 * -1: before the first centre. */
HR_SHARED int64_t clahe_tile_before(int64_t i, int64_t tile, float *weight)
{
    float at = (float)i * (1.0f / (float)tile) - 0.5f, before = floorf(at);
    *weight = at - before;
    return (int64_t)before;
}

/* The tables of the four tiles around a pixel, relative to the first one: above (left, right) and
 * below. */
HR_SHARED void clahe_around(const hr_clahe_grid *grid, int64_t tile_y, int64_t tile_x,
                            int64_t at[4])
{
    int64_t nx = grid->tiles_x, ny = grid->tiles_y;
    int64_t top = tile_y > 0 ? tile_y : 0, low = tile_y + 1 < ny ? tile_y + 1 : ny - 1;
    int64_t left = tile_x > 0 ? tile_x : 0, right = tile_x + 1 < nx ? tile_x + 1 : nx - 1;
    top = top < ny ? top : ny - 1;
    left = left < nx ? left : nx - 1;
    at[0] = (top * nx + left) * HR_CLAHE_LEVELS;
    at[1] = (top * nx + right) * HR_CLAHE_LEVELS;
    at[2] = (low * nx + left) * HR_CLAHE_LEVELS;
    at[3] = (low * nx + right) * HR_CLAHE_LEVELS;
}
