/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rotation in single precision, in one order of operations on every machine. */
#include "ops/image/rotation.h"

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

void hr__rotation_map(const hr_rotation *r, const int64_t *in, const int64_t *out, hr_map *map)
{
    memset(map, 0, sizeof(*map));
    for (int32_t i = 0; i < r->axes; i++) {
        float sum = 0.0f;
        for (int32_t j = 0; j < r->axes; j++) {
            map->m[i][j] = r->m[i][j];
            sum += r->m[i][j] * ((float)out[j] * 0.5f);
        }
        map->m[i][3] = (float)in[i] * 0.5f - sum;
    }
}
