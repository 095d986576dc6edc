/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rotation of pictures and volumes: the canvas that holds them, the mapping, and a row of the
 * result. What is marked so is shared with the GPU's version. */
#ifndef HR_OPS_IMAGE_ROTATE_WARP_H
#define HR_OPS_IMAGE_ROTATE_WARP_H

#include "core/core.h"
#include "core/shared.h"

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

/* What rotate's infer leaves for the run, here or on a device. */
typedef struct hr_rotate {
    int64_t frames;
    int32_t count;  /* of warps: one for all frames, or one each */
    hr_warp *warps; /* whose sizes are all the same */
} hr_rotate;

/* Sets `offset` from the rotation and the extents. */
void hr__warp_center(hr_warp *w);
/* Row (y, z) of the output. */
void hr__warp_row(const hr_warp *w, const float *src, int64_t y, int64_t z, float *dst);
/* Row y of a picture's output by the nearest pixels of `size` bytes, as they are; `fill` is one. */
void hr__warp_pick_row(const hr_warp *w, const void *src, int64_t y, const void *fill, size_t size,
                       void *dst);

/* Coordinate i of the input at coordinates of the output. */
HR_SHARED float warp_at_2d(const hr_warp *w, int32_t i, float x, float y)
{
    return w->rotation.m[i][0] * x + w->rotation.m[i][1] * y + w->offset[i];
}

HR_SHARED float warp_at_3d(const hr_warp *w, int32_t i, float x, float y, float z)
{
    const float *m = w->rotation.m[i];
    return m[0] * x + m[1] * y + m[2] * z + w->offset[i];
}

/* floor, where the value fits: libm's is a call on machines without SSE4.1. */
HR_SHARED int64_t warp_floor(float v)
{
    int64_t i = (int64_t)v;

    return i - (v < (float)i);
}

/* The number of the pixel at whole coordinates; -1 where the fill is. */
HR_SHARED int64_t warp_pixel(const hr_warp *w, const int64_t *at)
{
    int64_t index = 0;

    for (int32_t i = w->rotation.axes - 1; i >= 0; i--) {
        int64_t k = at[i];
        if (k < 0 || k >= w->in[i]) {
            if (w->has_fill)
                return -1;
            k = k < 0 ? 0 : w->in[i] - 1;
        }
        index = index * w->in[i] + k;
    }
    return index;
}

/* The 4 or 8 pixels around p, and how far p is from the first of them. */
HR_SHARED void warp_taps(const hr_warp *w, const float *p, int64_t *tap, float *part)
{
    int64_t base[3] = {0};
    int32_t n = w->rotation.axes;

    for (int32_t i = 0; i < n; i++) {
        base[i] = warp_floor(p[i] - 0.5f);
        part[i] = (p[i] - 0.5f) - (float)base[i];
    }
    for (int32_t k = 0; k < 1 << n; k++) {
        const int64_t at[3] = {base[0] + (k & 1), base[1] + (k >> 1 & 1), base[2] + (k >> 2)};
        tap[k] = warp_pixel(w, at);
    }
}

/* Between the values of the taps: along x, then y, then z. */
HR_SHARED float warp_blend(float *v, const float *part, int32_t axes)
{
    for (int32_t i = 0; i < axes; i++)
        for (int32_t k = 0; k < 1 << (axes - 1 - i); k++)
            v[k] = v[2 * k] + (v[2 * k + 1] - v[2 * k]) * part[i];
    return v[0];
}

/* The usual type of output: there is no NaN, and half away from zero is half up here. */
HR_SHARED uint8_t warp_u8(float value)
{
    float v = value > 0.0f ? value : 0.0f;

    return (uint8_t)(int32_t)((v < 255.0f ? v : 255.0f) + 0.5f);
}

#endif
