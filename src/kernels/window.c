/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Extremes and medians of unsigned integers. */
#include "kernels/level.h"

#include <string.h>

#define DEFINE_EXTREME(name, T, OP)                                                                \
    static void name(T *restrict dst, const T *a, const T *b, size_t n)                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            dst[i] = a[i] OP b[i] ? a[i] : b[i];                                                   \
    }

DEFINE_EXTREME(max_u8, uint8_t, >)
DEFINE_EXTREME(max_u16, uint16_t, >)
DEFINE_EXTREME(max_u32, uint32_t, >)
DEFINE_EXTREME(min_u8, uint8_t, <)
DEFINE_EXTREME(min_u16, uint16_t, <)
DEFINE_EXTREME(min_u32, uint32_t, <)

void HR_LEVELED(hr__extremes)(void *dst, const void *a, const void *b, size_t n, size_t size,
                              bool max)
{
    if (size == 1)
        (max ? max_u8 : min_u8)(dst, a, b, n);
    else if (size == 2)
        (max ? max_u16 : min_u16)(dst, a, b, n);
    else
        (max ? max_u32 : min_u32)(dst, a, b, n);
}

/* The median is the largest number of which at most half of the window's elements are below. Its
 * bits are found from the highest one on, for a block of pixels at a time. */
#define DEFINE_MEDIAN(name, T)                                                                     \
    static void name(T *dst, const void *const *rows, int32_t row_count, int32_t columns,          \
                     size_t step, size_t n)                                                        \
    {                                                                                              \
        const T half = (T)(row_count * columns / 2);                                               \
        for (size_t from = 0; from < n; from += HR_WINDOW_SLACK) {                                 \
            T best[HR_WINDOW_SLACK] = {0}, below[HR_WINDOW_SLACK];                                 \
            for (T bit = (T)((T)1 << (8 * sizeof(T) - 1)); bit != 0; bit = (T)(bit >> 1)) {        \
                memset(below, 0, sizeof below);                                                    \
                for (int32_t r = 0; r < row_count; r++) {                                          \
                    const T *p = (const T *)rows[r] + from;                                        \
                    for (int32_t c = 0; c < columns; c++, p += step)                               \
                        for (size_t i = 0; i < HR_WINDOW_SLACK; i++)                               \
                            below[i] = (T)(below[i] + (p[i] < (T)(best[i] | bit)));                \
                }                                                                                  \
                for (size_t i = 0; i < HR_WINDOW_SLACK; i++)                                       \
                    best[i] = below[i] <= half ? (T)(best[i] | bit) : best[i];                     \
            }                                                                                      \
            memcpy(dst + from, best,                                                               \
                   (n - from < HR_WINDOW_SLACK ? n - from : HR_WINDOW_SLACK) * sizeof(T));         \
        }                                                                                          \
    }

DEFINE_MEDIAN(median_u8, uint8_t)
DEFINE_MEDIAN(median_u16, uint16_t)
DEFINE_MEDIAN(median_u32, uint32_t)

void HR_LEVELED(hr__median)(void *dst, const void *const *rows, int32_t row_count, int32_t columns,
                            size_t step, size_t n, size_t size)
{
    if (size == 1)
        median_u8(dst, rows, row_count, columns, step, n);
    else if (size == 2)
        median_u16(dst, rows, row_count, columns, step, n);
    else
        median_u32(dst, rows, row_count, columns, step, n);
}
