/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Planes of a video to RGB, with the numbers of libswscale's accurate path: chroma is interpolated
 * linearly, centred between its luma samples, and nothing is rounded before the end.
 *
 * With chroma that is halved or whole, weights are quarters, so a sample of chroma is an int16: 16
 * times what is interpolated, about zero. Other pictures (chroma of odd size, or a quarter) have
 * weights that change along the axis, as libswscale's (hr_yuv_taps). */
#pragma once

#include "core/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HR_YUV_PAD = 64 }; /* elements that rows of chroma have beyond their end */

typedef enum hr_yuv_matrix {
    HR_YUV_MATRIX_BT601, /* which is what DALI uses for all videos */
    HR_YUV_MATRIX_BT709,
    HR_YUV_MATRIX_BT2020,
    HR_YUV_MATRIX_FCC,
    HR_YUV_MATRIX_SMPTE240M
} hr_yuv_matrix;

/* What the numbers of a picture mean. */
typedef struct hr_yuv_colors {
    int32_t bits;               /* 8 to 12 */
    int32_t black;              /* luma of black */
    int32_t shift;              /* bits of fraction in the sums below */
    int16_t y;                  /* for 8 (luma - black) */
    int16_t r_v, g_u, g_v, b_u; /* for chroma */
} hr_yuv_colors;

/* `c`: for chroma of the limited range, times 2^16. Rounded upwards in the middle, if `half` is 4,
 * or downwards, if it is 3. */
HR_SHARED int16_t hr_yuv_factor(int32_t c, bool full_range, int32_t half)
{
    return (int16_t)(((full_range ? c * 224 / 255 : c) + half) / 8);
}

HR_SHARED hr_yuv_colors hr_yuv_colors_of(int32_t bits, bool full_range, hr_yuv_matrix matrix)
{
    const int32_t factors[][4] = {{104597, 25675, 53279, 132201},
                                  {117489, 13975, 34925, 138438},
                                  {110013, 12277, 42626, 140363},
                                  {104448, 24759, 53109, 132798},
                                  {117579, 16907, 35559, 136230}};
    const int32_t *f = factors[matrix];
    hr_yuv_colors c = {bits, full_range ? 0 : 16 << (bits - 8), bits + 9, 0, 0, 0, 0, 0};
    c.y = full_range ? 16384 : 19078;
    c.r_v = hr_yuv_factor(f[0], full_range, 4);
    c.g_u = (int16_t)-hr_yuv_factor(f[1], full_range, 3);
    c.g_v = (int16_t)-hr_yuv_factor(f[2], full_range, 3);
    c.b_u = hr_yuv_factor(f[3], full_range, 4);
    return c;
}

/* ---- where pixels go ---- */

/* Pixel x of row y is pixel `first + y * down + x * across` of the frame. */
typedef struct hr_yuv_place {
    int64_t first, down, across;
} hr_yuv_place;

/* For a picture that is turned clockwise by 0, 90, 180 or 270 degrees, after its columns were
 * reversed if it is mirrored. */
HR_SHARED hr_yuv_place hr_yuv_place_of(int32_t width, int32_t height, int32_t rotation,
                                       bool mirrored)
{
    const int64_t w = width, h = height;
    hr_yuv_place p = {0, w, 1};
    if (rotation == 90 || rotation == 270) {
        p.first = rotation == 90 ? h - 1 : (w - 1) * h;
        p.down = rotation == 90 ? -1 : 1;
        p.across = rotation == 90 ? h : -h;
    } else if (rotation == 180) {
        p.first = w * h - 1;
        p.down = -w;
        p.across = -1;
    }
    if (mirrored) {
        p.first += (w - 1) * p.across;
        p.across = -p.across;
    }
    return p;
}

HR_SHARED uint8_t hr_yuv_byte(int32_t v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* One pixel; u and v are 16 times the chroma, about zero. */
HR_SHARED void hr_yuv_pixel(uint8_t rgb[3], const hr_yuv_colors *c, int32_t y, int32_t u, int32_t v)
{
    int32_t luma = 8 * (y - c->black) * c->y + (1 << (c->shift - 1));
    rgb[0] = hr_yuv_byte((luma + v * c->r_v) >> c->shift);
    rgb[1] = hr_yuv_byte((luma + u * c->g_u + v * c->g_v) >> c->shift);
    rgb[2] = hr_yuv_byte((luma + u * c->b_u) >> c->shift);
}

/* ---- weights that change along an axis ---- */

/* Output i is first[i]'s sample times one - second plus the next sample times second. */
typedef struct hr_yuv_tap {
    int32_t first; /* may be -1 or the last: the edge is repeated */
    int32_t second;
} hr_yuv_tap;

/* Of `i` of `out` samples from `in`; weights add up to `one`. */
HR_SHARED hr_yuv_tap hr_yuv_tap_of(int32_t i, int32_t in, int32_t out, int32_t one)
{
    int64_t step = (((int64_t)in << 16) + (out >> 1)) / out;
    int64_t at = (2 * (int64_t)i + 1) * step - 65536, first = at >> 17;
    hr_yuv_tap tap = {(int32_t)first, (int32_t)(((at - first * 131072) * one + 65536) >> 17)};
    return tap;
}

enum { HR_YUV_ONE_X = 1 << 14, HR_YUV_ONE_Y = 1 << 12 };

/* A sample along the row, with 15 bits. */
HR_SHARED int32_t hr_yuv_across(int32_t a, int32_t b, hr_yuv_tap tap, int32_t bits)
{
    int32_t v = (a * (HR_YUV_ONE_X - tap.second) + b * tap.second) >> (bits - 1);
    return v < 32767 ? v : 32767;
}

/* Of two such samples: 512 times chroma of 8 bits, about zero. */
HR_SHARED int32_t hr_yuv_down(int32_t a, int32_t b, hr_yuv_tap tap)
{
    return ((a * (HR_YUV_ONE_Y - tap.second) + b * tap.second + 512) >> 10) - 65536;
}

/* A pixel of such chroma. The sums fit 32 bits because they are about the middle of a byte. */
HR_SHARED void hr_yuv_pixel_wide(uint8_t rgb[3], const hr_yuv_colors *c, int32_t y, int32_t u,
                                 int32_t v)
{
    const int32_t middle = 128 * (1 << 22), half = 1 << 21;
    int32_t luma = (y - c->black) * (1 << (17 - c->bits)) * (c->y / 2) - middle + half;
    rgb[0] = hr_yuv_byte(((luma + v * c->r_v) >> 22) + 128);
    rgb[1] = hr_yuv_byte(((luma + u * c->g_u + v * c->g_v) >> 22) + 128);
    rgb[2] = hr_yuv_byte(((luma + u * c->b_u) >> 22) + 128);
}

/* ---- a row of chroma ---- */

typedef struct hr_yuv_chroma {
    const void *near, *far; /* the nearest and the second-nearest row; near if there is only one */
    size_t width;           /* of these rows */
    int32_t bits;           /* up to 8: uint8_t, otherwise uint16_t */
    bool halved;            /* there are two outputs per sample */
    int16_t *line;          /* scratch for width + 2 + HR_YUV_PAD elements */
} hr_yuv_chroma;
