/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Pixels at given positions in an image: nearest, linear or cubic, with any border, in single
 * precision and in one order of operations on every machine. nvcc compiles this header, too. */
#pragma once

#include "core/shared.h"
#include "headrace/headrace.h"
#include "kernels/border.h"

#include <math.h>

#define HR_REMAP_TAPS 4                 /* the most along an axis */
#define HR_REMAP_EXTENT ((1 << 22) - 2) /* the most pixels along an axis */

typedef struct hr_remap {
    const void *src;   /* the first element, of UINT8, UINT16, INT16 or FLOAT */
    const float *fill; /* per channel, of the border CONSTANT; values of the image's type */
    hr_dtype dtype;
    hr_border border;
    int32_t taps; /* pixels along an axis that make a pixel: 1 nearest, 2 linear, 4 cubic */
    int32_t channels;
    int64_t in[2];   /* width and height, at least 1 and at most HR_REMAP_EXTENT */
    int64_t step[2]; /* elements from pixel to pixel and from row to row */
} hr_remap;

/* The nearest integer, ties to even: next to 1.5 * 2^23, no float has a fraction. |v| <= 2^22. */
HR_SHARED float remap_round(float v)
{
    return (v + 12582912.0f) - 12582912.0f;
}

HR_SHARED float remap_clamp(float v, float lo, float hi)
{
    return v > lo ? (v < hi ? v : hi) : lo;
}

/* `v` as an element of `dtype`: rounded, ties to even, and saturated. */
HR_SHARED float remap_element(hr_dtype dtype, float v)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
        return remap_round(remap_clamp(v, 0.0f, 255.0f));
    case HR_DTYPE_UINT16:
        return remap_round(remap_clamp(v, 0.0f, 65535.0f));
    case HR_DTYPE_INT16:
        return remap_round(remap_clamp(v, -32768.0f, 32767.0f));
    default:
        return v;
    }
}

HR_SHARED float remap_load(const void *src, hr_dtype dtype, int64_t i)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
        return (float)((const uint8_t *)src)[i];
    case HR_DTYPE_UINT16:
        return (float)((const uint16_t *)src)[i];
    case HR_DTYPE_INT16:
        return (float)((const int16_t *)src)[i];
    default:
        return ((const float *)src)[i];
    }
}

HR_SHARED void remap_store(void *dst, hr_dtype dtype, int64_t i, float v)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
        ((uint8_t *)dst)[i] = (uint8_t)(int32_t)remap_element(dtype, v);
        break;
    case HR_DTYPE_UINT16:
        ((uint16_t *)dst)[i] = (uint16_t)(int32_t)remap_element(dtype, v);
        break;
    case HR_DTYPE_INT16:
        ((int16_t *)dst)[i] = (int16_t)(int32_t)remap_element(dtype, v);
        break;
    default:
        ((float *)dst)[i] = v;
    }
}

/* What a position means along one axis. */
typedef struct remap_axis {
    int64_t at[HR_REMAP_TAPS];   /* offsets of the taps in elements; -1: the fill */
    float weight[HR_REMAP_TAPS]; /* cubic; linear: the first is the second tap's */
} remap_axis;

/* Keys' kernel with a = -0.75, for a position `part` behind the second of four taps. */
HR_SHARED void remap_cubic(float part, float *weight)
{
    const float a = -0.75f, rest = 1.0f - part, far = 1.0f + part;

    weight[0] = ((a * far - 5.0f * a) * far + 8.0f * a) * far - 4.0f * a;
    weight[1] = ((a + 2.0f) * part - (a + 3.0f)) * part * part + 1.0f;
    weight[2] = ((a + 2.0f) * rest - (a + 3.0f)) * rest * rest + 1.0f;
    weight[3] = 1.0f - weight[0] - weight[1] - weight[2];
}

/* Axis 0 is x. Integers are the centres of pixels. A position that is not a number is outside. */
HR_SHARED void remap_axis_at(remap_axis *t, const hr_remap *r, int32_t axis, float position,
                             int32_t taps)
{
    const float p = remap_clamp(position, -4194304.0f, 4194304.0f);
    int64_t first = (int64_t)(taps == 1 ? remap_round(p) : p);

    if (taps > 1) {
        first -= p < (float)first;
        const float part = p - (float)first;
        t->weight[0] = part;
        if (taps == 4)
            remap_cubic(part, t->weight);
        first -= taps / 2 - 1;
    }
    for (int32_t k = 0; k < taps; k++) {
        int64_t index = border_index(first + k, r->in[axis], r->border);
        t->at[k] = index < 0 ? -1 : index * r->step[axis];
    }
}

HR_SHARED float remap_tap(const hr_remap *r, hr_dtype dtype, int32_t c, int64_t x, int64_t y)
{
    return x < 0 || y < 0 ? r->fill[c] : remap_load(r->src, dtype, x + y + c);
}

/* Channel c of the pixel. `dtype` and `taps` are those of `r`; constants make it faster. */
HR_SHARED float remap_value(const hr_remap *r, const remap_axis *x, const remap_axis *y, int32_t c,
                            hr_dtype dtype, int32_t taps)
{
    float row[HR_REMAP_TAPS];

    if (taps == 1)
        return remap_tap(r, dtype, c, x->at[0], y->at[0]);
    for (int32_t i = 0; i < taps; i++) {
        float v[HR_REMAP_TAPS];
        for (int32_t k = 0; k < taps; k++)
            v[k] = remap_tap(r, dtype, c, x->at[k], y->at[i]);
        row[i] = taps == 2 ? v[0] + (v[1] - v[0]) * x->weight[0]
                           : (v[0] * x->weight[0] + v[1] * x->weight[1]) +
                                 (v[2] * x->weight[2] + v[3] * x->weight[3]);
    }
    return taps == 2 ? row[0] + (row[1] - row[0]) * y->weight[0]
                     : (row[0] * y->weight[0] + row[1] * y->weight[1]) +
                           (row[2] * y->weight[2] + row[3] * y->weight[3]);
}

/* The position for hr_remap of a position that inputs give: shifted by `shift`. The nearest pixel
 * is that on which the position lies; between two pixels, the second one. */
HR_SHARED float remap_given(float given, float shift, bool nearest)
{
    return nearest ? floorf(given + (shift + 0.5f)) : given + shift;
}

/* The position that the matrix m, row by row, gives for the pixel (x, y). */
HR_SHARED void remap_perspective(const float *m, float x, float y, float *at_x, float *at_y)
{
    const float w = m[6] * x + (m[7] * y + m[8]);

    *at_x = (m[0] * x + (m[1] * y + m[2])) / w;
    *at_y = (m[3] * x + (m[4] * y + m[5])) / w;
}
