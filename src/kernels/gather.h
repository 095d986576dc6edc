/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Pixels taken from positions in another image or volume, nearest or interpolated, in single
 * precision and in one order of operations on every machine. nvcc compiles this header, too.
 * Axes are x, y, z here; images have two. */
#pragma once

#include "core/shared.h"
#include "headrace/headrace.h"

#include <stdbool.h>
#include <stdint.h>

/* Where pixels come from: coordinate i in the source of the output position (x, y, z), which is the
 * centre of a pixel, is m[i][0] * x + m[i][1] * y + m[i][2] * z + m[i][3]. */
typedef struct hr_map {
    float m[3][4];
} hr_map;

typedef struct hr_gather_spec {
    int32_t axes; /* 2, or 3 for volumes, whose slices are an outer dimension */
    bool nearest; /* otherwise linear */
    bool has_fill;
    float fill; /* outside the source; without a fill, the edge repeats */
    int64_t in[3], out[3];
} hr_gather_spec;

/* Positions along a row of an image are summed up from every HR_GATHER_RUN-th pixel on: DALI does,
 * and where edges are sharp, the error of the sum shows in the result. */
#define HR_GATHER_RUN 256

/* Farther than the ends of images that fast paths take, so that positions beyond it are all the
 * same; and pixels from there on are representable. */
#define HR_GATHER_FAR 0x1p22f

/* Coordinate i of an image. */
HR_SHARED float gather_at(const hr_map *map, int32_t i, float x, float y)
{
    return map->m[i][0] * x + map->m[i][1] * y + map->m[i][3];
}

/* Moves p, of the pixel before, to pixel x of row y of an image. */
HR_SHARED void gather_step(const hr_map *map, int64_t x, int64_t y, float *p)
{
    for (int32_t i = 0; i < 2; i++)
        p[i] = x % HR_GATHER_RUN ? p[i] + map->m[i][0]
                                 : gather_at(map, i, (float)x + 0.5f, (float)y + 0.5f);
}

/* The position of pixel `to`. */
HR_SHARED void gather_position(const hr_gather_spec *g, const hr_map *map, const int64_t *to,
                               float *p)
{
    if (g->axes == 2) {
        for (int64_t x = to[0] - to[0] % HR_GATHER_RUN; x <= to[0]; x++)
            gather_step(map, x, to[1], p);
        return;
    }
    float x = (float)to[0] + 0.5f, y = (float)to[1] + 0.5f, z = (float)to[2] + 0.5f;
    for (int32_t i = 0; i < 3; i++) {
        const float *m = map->m[i];
        p[i] = m[0] * x + m[1] * y + m[2] * z + m[3];
    }
}

/* Moves p on to pixel `to`, the next one in its row. */
HR_SHARED void gather_next(const hr_gather_spec *g, const hr_map *map, const int64_t *to, float *p)
{
    if (g->axes == 2)
        gather_step(map, to[0], to[1], p);
    else
        gather_position(g, map, to, p);
}

/* floor for values that fit; libm's is a function call on machines without SSE4.1. */
HR_SHARED int64_t gather_floor(float v)
{
    int64_t i = (int64_t)v;

    return i - (v < (float)i);
}

/* The offset of the pixel at integer coordinates, `step` apart along each axis; -1 for the fill. */
HR_SHARED int64_t gather_offset(const hr_gather_spec *g, const int64_t *step, const int64_t *at)
{
    int64_t offset = 0;

    for (int32_t i = 0; i < g->axes; i++) {
        int64_t k = at[i];
        if (k < 0 || k >= g->in[i]) {
            if (g->has_fill)
                return -1;
            k = k < 0 ? 0 : g->in[i] - 1;
        }
        offset += k * step[i];
    }
    return offset;
}

/* Offsets of the pixels that make the pixel at p: one, or the 4 or 8 around it. `part` is the
 * distance of p from the first of them. Returns how many they are. */
HR_SHARED int32_t gather_taps(const hr_gather_spec *g, const int64_t *step, const float *p,
                              int64_t *tap, float *part)
{
    int64_t base[3] = {0};
    int32_t n = g->axes;

    if (g->nearest) {
        for (int32_t i = 0; i < n; i++)
            base[i] = gather_floor(p[i]);
        tap[0] = gather_offset(g, step, base);
        return 1;
    }
    for (int32_t i = 0; i < n; i++) {
        base[i] = gather_floor(p[i] - 0.5f);
        part[i] = (p[i] - 0.5f) - (float)base[i];
    }
    for (int32_t k = 0; k < 1 << n; k++) {
        const int64_t at[3] = {base[0] + (k & 1), base[1] + (k >> 1 & 1), base[2] + (k >> 2)};
        tap[k] = gather_offset(g, step, at);
    }
    return 1 << n;
}

/* Interpolates n values, 1, 4 or 8, along x, then y, then z. */
HR_SHARED float gather_blend(float *v, const float *part, int32_t n)
{
    for (int32_t i = 0; n > 1; i++) {
        n /= 2;
        for (int32_t k = 0; k < n; k++)
            v[k] = v[2 * k] + (v[2 * k + 1] - v[2 * k]) * part[i];
    }
    return v[0];
}

/* Rows whose positions are made at once; what is written behind n positions of a row; and the room
 * that a row of them takes. */
#define HR_GATHER_ROWS 8
#define HR_GATHER_MORE 8
#define HR_GATHER_STRIDE(n) ((size_t)(n) + 2 * HR_GATHER_MORE)

/* A row to be made from an image or volume of UINT8, INT16, INT32 or FLOAT, as one of these. */
typedef struct hr_gather_row {
    const hr_gather_spec *gather;
    const hr_map *map;
    const void *src; /* the first pixel of the source */
    int64_t step[3]; /* elements of the source from pixel to pixel along x, y, z */
    hr_dtype from, to;
    int32_t channels;
    int64_t first[3];   /* x, y and z of the first pixel to be made */
    int64_t n;          /* pixels */
    const float *x, *y; /* of an image: the positions, as gather_positions makes them */
} hr_gather_row;
