/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rotation of pictures and volumes: the size of the canvas, the mapping, and a row of the result.
 * Functions marked HR_SHARED are also used by the GPU version. */
#ifndef HR_OPS_IMAGE_ROTATE_WARP_H
#define HR_OPS_IMAGE_ROTATE_WARP_H

#include "core/core.h"
#include "core/shared.h"

/* Axes are x, y, z here; pictures have two. */
typedef struct hr_rotation {
    int32_t axes;
    float m[3][3]; /* output to input, about the centres */
    bool steep;    /* of pictures: by more than 45 degrees, as DALI rounds the angle */
} hr_rotation;

/* Rotates counter-clockwise by `degrees` with y down, or about `axis` (x, y, z) for volumes, in the
 * other direction, as in DALI: clockwise within a slice for the axis (0, 0, 1). */
hr_status hr__rotation_make(hr_rotation *r, double degrees, const float *axis, hr_error *error);
/* The smallest extents that contain a rotated input, and for each output axis the input axis whose
 * parity it should have, so that the centre does not move. */
void hr__rotation_canvas(const hr_rotation *r, const int64_t *in, int64_t *out, int32_t *alike);

typedef struct hr_warp {
    hr_rotation rotation;
    int64_t in[3], out[3];
    float offset[3];
    int32_t channels;
    bool nearest, has_fill; /* without a fill the edge repeats */
    float fill;
} hr_warp;

/* The memo that infer of rotate leaves for the run, on the CPU or on a device. */
typedef struct hr_rotate {
    int64_t frames;
    int32_t count;  /* of warps: one for all frames, or one each */
    hr_warp *warps; /* all of the same size */
} hr_rotate;

/* Sets `offset` from the rotation and the extents. */
void hr__warp_center(hr_warp *w);
/* Row (y, z) of the output. */
void hr__warp_row(const hr_warp *w, const float *src, int64_t y, int64_t z, float *dst);
/* Row y of the output of a picture, by copying nearest pixels of `size` bytes; `fill` is one pixel.
 */
void hr__warp_pick_row(const hr_warp *w, const void *src, int64_t y, const void *fill, size_t size,
                       void *dst);

/* Coordinate i of the input at coordinates of the output. */
HR_SHARED float warp_at_2d(const hr_warp *w, int32_t i, float x, float y)
{
    return w->rotation.m[i][0] * x + w->rotation.m[i][1] * y + w->offset[i];
}

/* Positions along a row are summed up from every HR_WARP_RUN-th pixel on: DALI does, and where
 * edges are sharp, the error of the sum shows in the result. `p` is the position of the pixel
 * before. */
#define HR_WARP_RUN 256

HR_SHARED void warp_step_2d(const hr_warp *w, int64_t x, int64_t y, float *p)
{
    for (int32_t i = 0; i < 2; i++)
        p[i] = x % HR_WARP_RUN ? p[i] + w->rotation.m[i][0]
                               : warp_at_2d(w, i, (float)x + 0.5f, (float)y + 0.5f);
}

HR_SHARED void warp_position_2d(const hr_warp *w, int64_t x, int64_t y, float *p)
{
    for (int64_t k = x - x % HR_WARP_RUN; k <= x; k++)
        warp_step_2d(w, k, y, p);
}

HR_SHARED float warp_at_3d(const hr_warp *w, int32_t i, float x, float y, float z)
{
    const float *m = w->rotation.m[i];
    return m[0] * x + m[1] * y + m[2] * z + w->offset[i];
}

/* floor for values that fit; libm's is a function call on machines without SSE4.1. */
HR_SHARED int64_t warp_floor(float v)
{
    int64_t i = (int64_t)v;

    return i - (v < (float)i);
}

/* The number of the pixel at integer coordinates; -1 for the fill. */
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

/* The 4 or 8 pixels around p, and the distance of p from the first of them. */
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

/* Interpolates the taps along x, then y, then z. */
HR_SHARED float warp_blend(float *v, const float *part, int32_t axes)
{
    for (int32_t i = 0; i < axes; i++)
        for (int32_t k = 0; k < 1 << (axes - 1 - i); k++)
            v[k] = v[2 * k] + (v[2 * k + 1] - v[2 * k]) * part[i];
    return v[0];
}

/* For the usual output type: there is no NaN, and values are not negative, so halves round up. */
HR_SHARED uint8_t warp_u8(float value)
{
    float v = value > 0.0f ? value : 0.0f;

    return (uint8_t)(int32_t)((v < 255.0f ? v : 255.0f) + 0.5f);
}

#endif
