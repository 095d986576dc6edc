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

#define LOW(a, b) ((a) < (b) ? (a) : (b))
#define HIGH(a, b) ((a) < (b) ? (b) : (a))

/* Of 3 x 3 elements. Each column is sorted; the median is that of three: the highest of the low
 * ones, the median of the middle ones and the lowest of the high ones. */
#define DEFINE_NINE(name, T)                                                                       \
    static inline T name##_of(T a, T b, T c)                                                       \
    {                                                                                              \
        T low = LOW(a, b), high = HIGH(a, b), rest = LOW(high, c);                                 \
        return HIGH(low, rest);                                                                    \
    }                                                                                              \
    static void name(T *restrict dst, const T *restrict a, const T *restrict b,                    \
                     const T *restrict c, size_t step, size_t n)                                   \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            T low[3], middle[3], high[3];                                                          \
            for (size_t k = 0; k < 3; k++) {                                                       \
                T x = a[i + k * step], y = b[i + k * step], z = c[i + k * step];                   \
                T least = LOW(x, y), most = HIGH(x, y);                                            \
                low[k] = LOW(least, z);                                                            \
                high[k] = HIGH(most, z);                                                           \
                middle[k] = name##_of(x, y, z);                                                    \
            }                                                                                      \
            T lows = HIGH(low[0], low[1]), highs = LOW(high[0], high[1]);                          \
            lows = HIGH(lows, low[2]);                                                             \
            highs = LOW(highs, high[2]);                                                           \
            dst[i] = name##_of(lows, name##_of(middle[0], middle[1], middle[2]), highs);           \
        }                                                                                          \
    }

DEFINE_NINE(nine_u8, uint8_t)
DEFINE_NINE(nine_u16, uint16_t)
DEFINE_NINE(nine_u32, uint32_t)

static void median_nine(void *dst, const void *const *rows, size_t step, size_t n, size_t size)
{
    if (size == 1)
        nine_u8(dst, rows[0], rows[1], rows[2], step, n);
    else if (size == 2)
        nine_u16(dst, rows[0], rows[1], rows[2], step, n);
    else
        nine_u32(dst, rows[0], rows[1], rows[2], step, n);
}

void HR_LEVELED(hr__median)(void *dst, const void *const *rows, int32_t row_count, int32_t columns,
                            size_t step, size_t n, size_t size)
{
    if (row_count == 3 && columns == 3)
        median_nine(dst, rows, step, n, size);
    else if (size == 1)
        median_u8(dst, rows, row_count, columns, step, n);
    else if (size == 2)
        median_u16(dst, rows, row_count, columns, step, n);
    else
        median_u32(dst, rows, row_count, columns, step, n);
}
