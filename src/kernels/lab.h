/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* CIE L*a*b* of sRGB with 8 bits per channel, with OpenCV's bits: fixed point and tables. */
#pragma once

#include "core/shared.h"

#include <stddef.h>
#include <stdint.h>

enum {
    HR_LAB_ROOTS = 2041,  /* XYZ relative to white: 0 to 2040 */
    HR_LAB_LIGHTS = 4096, /* linear RGB on the way back */
    HR_LAB_ONE = 1 << 14  /* XYZ on the way back */
};

typedef struct hr_lab_tables {
    int32_t linear[256];          /* of a channel: 0 to 2040 */
    int32_t root[HR_LAB_ROOTS];   /* f of XYZ, 2^15 is 1 */
    int32_t y[256], fy[256];      /* Y and f(Y) for L, in HR_LAB_ONE */
    int32_t light[HR_LAB_LIGHTS]; /* a channel for linear RGB */
} hr_lab_tables;

/* A channel of XYZ, from linear RGB. */
HR_SHARED int32_t lab_xyz(int32_t r, int32_t g, int32_t b, int32_t cr, int32_t cg, int32_t cb)
{
    return (r * cr + g * cg + b * cb + (1 << 11)) >> 12;
}

HR_SHARED int32_t lab_byte(int32_t v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

HR_SHARED void lab_of_rgb(const hr_lab_tables *t, const uint8_t *rgb, uint8_t *l, uint8_t *a,
                          uint8_t *b)
{
    int32_t red = t->linear[rgb[0]], green = t->linear[rgb[1]], blue = t->linear[rgb[2]];
    int32_t x = t->root[lab_xyz(red, green, blue, 1777, 1541, 778)];
    int32_t y = t->root[lab_xyz(red, green, blue, 871, 2929, 296)];
    int32_t z = t->root[lab_xyz(red, green, blue, 73, 448, 3575)];
    const int32_t half = 1 << 14, middle = 128 << 15;
    *l = (uint8_t)lab_byte((296 * y - 1336934 + half) >> 15);
    *a = (uint8_t)lab_byte((500 * (x - y) + middle + half) >> 15);
    *b = (uint8_t)lab_byte((200 * (y - z) + middle + half) >> 15);
}

/* The inverse of f. The quotient of floats is never rounded up to an integer. */
HR_SHARED int32_t lab_cube(int32_t f)
{
    int32_t low = (int32_t)((float)(f * 108) / 841.0f) - 290;
    int32_t high = ((f * f >> 14) * f) >> 14;
    return f <= 3390 ? low : high;
}

HR_SHARED int32_t lab_light(int32_t x, int32_t y, int32_t z, int32_t cx, int32_t cy, int32_t cz)
{
    int32_t v = (x * cx + y * cy + z * cz + (1 << 13)) >> 14;
    v = v < 0 ? 0 : v;
    return v < HR_LAB_LIGHTS ? v : HR_LAB_LIGHTS - 1;
}

HR_SHARED void lab_to_rgb(const hr_lab_tables *t, int32_t l, int32_t a, int32_t b, uint8_t *red,
                          uint8_t *green, uint8_t *blue)
{
    int32_t f = t->fy[l], y = t->y[l];
    int32_t x = lab_cube(f + ((5 * a * 53687 + (1 << 7)) >> 13) - 128 * HR_LAB_ONE / 500);
    int32_t z = lab_cube(f - (((b * 41943 + (1 << 4)) >> 9) - 128 * HR_LAB_ONE / 200 + 1));
    *red = (uint8_t)t->light[lab_light(x, y, z, 12615, -6296, -2223)];
    *green = (uint8_t)t->light[lab_light(x, y, z, -3773, 7684, 185)];
    *blue = (uint8_t)t->light[lab_light(x, y, z, 217, -836, 4715)];
}
