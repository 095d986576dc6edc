/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Coordinates of points, on the CPU and on the GPU, and the memos that infer leaves for both. */
#pragma once

#include "core/shared.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- coord_flip ---- */

typedef struct hr_coord_flip {
    int32_t ndim;
    bool flipped[3];
    float twice[3]; /* two times the centre */
} hr_coord_flip;

HR_SHARED float coord_flip_of(const hr_coord_flip *m, int32_t k, float x)
{
    return m->flipped[k] ? m->twice[k] - x : x;
}

/* ---- coord_transform ---- */

enum { HR_POINT_MAX_DIMS = 6 };

/* y = m x + t, from `in` coordinates to `out`. */
typedef struct hr_point_map {
    int32_t in, out;
    float m[HR_POINT_MAX_DIMS][HR_POINT_MAX_DIMS], t[HR_POINT_MAX_DIMS];
} hr_point_map;

/* Coordinate r of the point to which x is mapped; `in` is that of the map, at least 1. */
HR_SHARED float point_map_row(const hr_point_map *map, int32_t in, int32_t r, const float *x)
{
    float sum = map->m[r][0] * x[0];
    for (int32_t k = 1; k < in; k++)
        sum += map->m[r][k] * x[k];
    return sum + map->t[r];
}

typedef struct hr_coord_transform {
    int64_t frames, points; /* points per frame */
    bool repeated;          /* every frame maps the same points */
    hr_point_map *maps;     /* one per frame */
} hr_coord_transform;
