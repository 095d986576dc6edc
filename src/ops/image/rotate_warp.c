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
        return hr_fail(error, HR_STATUS_ERROR, "`angle` is no finite number");
    double turn = (degrees - 360.0 * floor(degrees / 360.0)) * (HR_PI / 180.0);
    float c = (float)hr_cos(turn), s = (float)hr_sin(turn);

    if (!axis) {
        *r = (hr_rotation){2, {{c, -s, 0.0f}, {s, c, 0.0f}, {0.0f, 0.0f, 1.0f}}};
        return HR_STATUS_OK;
    }
    s = -s; /* about an axis that points at the viewer's back it turns the other way */
    double x = (double)axis[0], y = (double)axis[1], z = (double)axis[2];
    double length = sqrt(x * x + y * y + z * z);
    if (!(length > 0.0 && isfinite(length)))
        return hr_fail(error, HR_STATUS_ERROR, "`axis` is (%g, %g, %g): it must have a direction",
                       x, y, z);
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
        for (int32_t j = 0; j < r->axes; j++) { /* columns: the way back is the transpose */
            sum += fabsf(r->m[j][i]) * (float)in[j];
            if (fabsf(r->m[j][i]) > fabsf(r->m[most][i]))
                most = j;
        }
        if (r->axes == 2) /* at 45 degrees both axes must decide alike */
            most = fabsf(r->m[0][1]) <= fabsf(r->m[0][0]) ? i : 1 - i;
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

/* The pixel at whole coordinates; NULL where the fill is. */
static const float *pixel(const hr_warp *w, const float *src, const int64_t *at)
{
    int64_t index = 0;

    for (int32_t i = w->rotation.axes - 1; i >= 0; i--) {
        int64_t k = at[i];
        if (k < 0 || k >= w->in[i]) {
            if (w->has_fill)
                return NULL;
            k = k < 0 ? 0 : w->in[i] - 1;
        }
        index = index * w->in[i] + k;
    }
    return src + index * w->channels;
}

/* Along x, then y, then z. */
static void blend(const hr_warp *w, const float *src, const float *p, float *dst)
{
    const float *tap[8];
    int64_t base[3] = {0};
    float part[3] = {0};
    int32_t n = w->rotation.axes;

    for (int32_t i = 0; i < n; i++) {
        float low = floorf(p[i] - 0.5f);
        base[i] = (int64_t)low;
        part[i] = (p[i] - 0.5f) - low;
    }
    for (int32_t k = 0; k < 1 << n; k++) {
        const int64_t at[3] = {base[0] + (k & 1), base[1] + (k >> 1 & 1), base[2] + (k >> 2)};
        tap[k] = pixel(w, src, at);
    }
    for (int32_t c = 0; c < w->channels; c++) {
        float v[8];
        for (int32_t k = 0; k < 1 << n; k++)
            v[k] = tap[k] ? tap[k][c] : w->fill;
        for (int32_t i = 0; i < n; i++) {
            for (int32_t k = 0; k < 1 << (n - 1 - i); k++)
                v[k] = v[2 * k] + (v[2 * k + 1] - v[2 * k]) * part[i];
        }
        dst[c] = v[0];
    }
}

static void nearest(const hr_warp *w, const float *src, const float *p, float *dst)
{
    const int64_t at[3] = {(int64_t)floorf(p[0]), (int64_t)floorf(p[1]), (int64_t)floorf(p[2])};
    const float *from = pixel(w, src, at);

    for (int32_t c = 0; c < w->channels; c++)
        dst[c] = from ? from[c] : w->fill;
}

void hr__warp_row(const hr_warp *w, const float *src, int64_t y, int64_t z, float *dst)
{
    const float(*m)[3] = w->rotation.m;
    const float fy = (float)y + 0.5f, fz = (float)z + 0.5f;
    bool deep = w->rotation.axes == 3;

    for (int64_t x = 0; x < w->out[0]; x++, dst += w->channels) {
        const float fx = (float)x + 0.5f;
        float p[3] = {0};
        for (int i = 0; i < (deep ? 3 : 2); i++) {
            p[i] = m[i][0] * fx + m[i][1] * fy;
            p[i] = deep ? p[i] + m[i][2] * fz + w->offset[i] : p[i] + w->offset[i];
        }
        if (w->nearest)
            nearest(w, src, p, dst);
        else
            blend(w, src, p, dst);
    }
}
