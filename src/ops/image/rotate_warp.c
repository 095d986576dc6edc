/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rotation in single precision, in one order of operations on every machine. */
#include "ops/image/rotate_warp.h"

#include <math.h>
#include <string.h>

#define CANVAS_SLACK 0.01f /* rounding must not add a pixel to multiples of 90 degrees */

hr_status hr__rotation_make(hr_rotation *r, double degrees, const float *axis, hr_error *error)
{
    if (!isfinite(degrees))
        return hr_fail(error, HR_STATUS_ERROR, "`angle` is not a finite number");
    double turn = (degrees - 360.0 * floor(degrees / 360.0)) * (HR_PI / 180.0);
    float c = (float)hr_cos(turn), s = (float)hr_sin(turn);

    if (!axis) {
        const double rounded = (double)((float)degrees * (float)(HR_PI / 180.0));
        *r = (hr_rotation){.axes = 2, .m = {{c, -s, 0.0f}, {s, c, 0.0f}, {0.0f, 0.0f, 1.0f}}};
        r->steep = fabs(hr_sin(rounded)) > fabs(hr_cos(rounded));
        return HR_STATUS_OK;
    }
    s = -s; /* the axis points away from the viewer, so the direction is reversed */
    double x = (double)axis[0], y = (double)axis[1], z = (double)axis[2];
    double length = sqrt(x * x + y * y + z * z);
    if (!(length > 0.0 && isfinite(length)))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`axis` is (%g, %g, %g); it must not be a null vector", x, y, z);
    const float u[3] = {(float)(x / length), (float)(y / length), (float)(z / length)};
    const float cross[3][3] = {{0.0f, -u[2], u[1]}, {u[2], 0.0f, -u[0]}, {-u[1], u[0], 0.0f}};
    r->axes = 3;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            r->m[i][j] = (i == j ? c : 0.0f) + u[i] * u[j] * (1.0f - c) + cross[i][j] * s;
    }
    return HR_STATUS_OK;
}

void hr__rotation_canvas(const hr_rotation *r, const int64_t *in, int64_t *out, int32_t *alike)
{
    for (int32_t i = 0; i < r->axes; i++) {
        float sum = 0.0f;
        int32_t most = 0;
        for (int32_t j = 0; j < r->axes; j++) { /* columns: the inverse is the transpose */
            sum += fabsf(r->m[j][i]) * (float)in[j];
            if (fabsf(r->m[j][i]) > fabsf(r->m[most][i]))
                most = j;
        }
        if (r->axes == 2) /* at 45 degrees, both axes must have the same result */
            most = r->steep ? 1 - i : i;
        out[i] = (int64_t)ceilf(sum - CANVAS_SLACK);
        alike[i] = most;
    }
}

void hr__warp_center(hr_warp *w)
{
    int32_t n = w->rotation.axes;

    for (int32_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int32_t j = 0; j < n; j++)
            sum += w->rotation.m[i][j] * ((float)w->out[j] * 0.5f);
        w->offset[i] = (float)w->in[i] * 0.5f - sum;
    }
}

static void blend(const hr_warp *w, const float *src, const float *p, float *dst)
{
    int64_t tap[8];
    float part[3] = {0};
    int32_t n = w->rotation.axes;

    warp_taps(w, p, tap, part);
    for (int32_t c = 0; c < w->channels; c++) {
        float v[8];
        for (int32_t k = 0; k < 1 << n; k++)
            v[k] = tap[k] >= 0 ? src[tap[k] * w->channels + c] : w->fill;
        dst[c] = warp_blend(v, part, n);
    }
}

static void nearest(const hr_warp *w, const float *src, const float *p, float *dst)
{
    const int64_t at[3] = {warp_floor(p[0]), warp_floor(p[1]), warp_floor(p[2])};
    int64_t from = warp_pixel(w, at);

    for (int32_t c = 0; c < w->channels; c++)
        dst[c] = from >= 0 ? src[from * w->channels + c] : w->fill;
}

static void row_3d(const hr_warp *w, const float *src, int64_t y, int64_t z, float *dst)
{
    const float fy = (float)y + 0.5f, fz = (float)z + 0.5f;

    for (int64_t x = 0; x < w->out[0]; x++, dst += w->channels) {
        float p[3];
        for (int i = 0; i < 3; i++)
            p[i] = warp_at_3d(w, i, (float)x + 0.5f, fy, fz);
        if (w->nearest)
            nearest(w, src, p, dst);
        else
            blend(w, src, p, dst);
    }
}

static inline int64_t inside(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* `channels` is a constant where this is inlined for the usual numbers. Computes the same as
 * `blend`. */
static inline void linear_2d(const hr_warp *w, const float *src, int64_t y, float *dst,
                             int32_t channels)
{
    float p[3] = {0};
    const int64_t width = w->in[0], height = w->in[1], stride = width * channels;

    for (int64_t x = 0; x < w->out[0]; x++, dst += channels) {
        warp_step_2d(w, x, y, p);
        const float px = p[0], py = p[1];
        const int64_t left = warp_floor(px - 0.5f), top = warp_floor(py - 0.5f);
        if (w->has_fill && (left < 0 || top < 0 || left + 1 >= width || top + 1 >= height)) {
            blend(w, src, p, dst);
            continue;
        }
        const float *upper = src + inside(top, height) * stride;
        const float *lower = src + inside(top + 1, height) * stride;
        const int64_t at = inside(left, width) * channels,
                      next = inside(left + 1, width) * channels;
        const float part_x = (px - 0.5f) - (float)left, part_y = (py - 0.5f) - (float)top;
        for (int32_t c = 0; c < channels; c++) {
            float a = upper[at + c] + (upper[next + c] - upper[at + c]) * part_x;
            float b = lower[at + c] + (lower[next + c] - lower[at + c]) * part_x;
            dst[c] = a + (b - a) * part_y;
        }
    }
}

static inline void nearest_2d(const hr_warp *w, const float *src, int64_t y, float *dst,
                              int32_t channels)
{
    float p[3] = {0};
    const int64_t width = w->in[0], height = w->in[1];

    for (int64_t x = 0; x < w->out[0]; x++, dst += channels) {
        warp_step_2d(w, x, y, p);
        const int64_t left = warp_floor(p[0]), top = warp_floor(p[1]);
        const float *from = src + (inside(top, height) * width + inside(left, width)) * channels;
        bool out = w->has_fill && (left < 0 || top < 0 || left >= width || top >= height);
        for (int32_t c = 0; c < channels; c++)
            dst[c] = out ? w->fill : from[c];
    }
}

/* `size` bytes per pixel, a constant where this is inlined for the usual pictures. */
static inline void pick_2d(const hr_warp *w, const uint8_t *src, int64_t y, const void *fill,
                           uint8_t *dst, size_t size)
{
    float p[3] = {0};
    const int64_t width = w->in[0], height = w->in[1];

    for (int64_t x = 0; x < w->out[0]; x++, dst += size) {
        warp_step_2d(w, x, y, p);
        const int64_t left = warp_floor(p[0]), top = warp_floor(p[1]);
        if (w->has_fill && (left < 0 || top < 0 || left >= width || top >= height))
            memcpy(dst, fill, size);
        else
            memcpy(dst, src + (size_t)(inside(top, height) * width + inside(left, width)) * size,
                   size);
    }
}

void hr__warp_pick_row(const hr_warp *w, const void *src, int64_t y, const void *fill, size_t size,
                       void *dst)
{
    if (size == 1)
        pick_2d(w, src, y, fill, dst, 1);
    else if (size == 3)
        pick_2d(w, src, y, fill, dst, 3);
    else if (size == 12)
        pick_2d(w, src, y, fill, dst, 12);
    else
        pick_2d(w, src, y, fill, dst, size);
}

void hr__warp_row(const hr_warp *w, const float *src, int64_t y, int64_t z, float *dst)
{
    if (w->rotation.axes == 3) {
        row_3d(w, src, y, z, dst);
    } else if (w->has_fill && (w->in[0] == 0 || w->in[1] == 0)) {
        for (int64_t i = 0; i < w->out[0] * w->channels; i++)
            dst[i] = w->fill;
    } else if (w->nearest) {
        nearest_2d(w, src, y, dst, w->channels);
    } else if (w->channels == 3) {
        linear_2d(w, src, y, dst, 3);
    } else {
        linear_2d(w, src, y, dst, w->channels);
    }
}
