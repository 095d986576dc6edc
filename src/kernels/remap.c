/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of pixels at given positions. */
#include "kernels/remap.h"
#include "kernels/level.h"

#define INLINE static inline __attribute__((always_inline)) /* with constant types and taps */

INLINE void row_of(void *dst, const hr_remap *r, const float *x, const float *y, size_t n,
                   hr_dtype dtype, int32_t taps)
{
    int64_t out = 0;

    for (size_t i = 0; i < n; i++, out += r->channels) {
        remap_axis columns, rows;
        remap_axis_at(&columns, r, 0, x[i], taps);
        remap_axis_at(&rows, r, 1, y[i], taps);
        for (int32_t c = 0; c < r->channels; c++)
            remap_store(dst, dtype, out + c, remap_value(r, &columns, &rows, c, dtype, taps));
    }
}

INLINE void rows_of(void *dst, const hr_remap *r, const float *x, const float *y, size_t n,
                    hr_dtype dtype)
{
    if (r->taps == 1)
        row_of(dst, r, x, y, n, dtype, 1);
    else if (r->taps == 2)
        row_of(dst, r, x, y, n, dtype, 2);
    else
        row_of(dst, r, x, y, n, dtype, 4);
}

void HR_LEVELED(hr__remap_row)(void *dst, const hr_remap *r, const float *x, const float *y,
                               size_t n)
{
    if (r->dtype == HR_DTYPE_UINT8)
        rows_of(dst, r, x, y, n, HR_DTYPE_UINT8);
    else if (r->dtype == HR_DTYPE_UINT16)
        rows_of(dst, r, x, y, n, HR_DTYPE_UINT16);
    else if (r->dtype == HR_DTYPE_INT16)
        rows_of(dst, r, x, y, n, HR_DTYPE_INT16);
    else
        rows_of(dst, r, x, y, n, HR_DTYPE_FLOAT);
}

void HR_LEVELED(hr__perspective_row)(float *restrict x, float *restrict y, const float *m,
                                     int32_t row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        remap_perspective(m, (float)(int32_t)i, (float)row, &x[i], &y[i]);
}
