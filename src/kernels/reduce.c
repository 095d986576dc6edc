/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Accumulates rows column by column, in the order of the rows, so that the order of additions does
 * not depend on the width of vectors. Sixteen columns at a time stay in registers. */
#include "kernels/level.h"

enum { LANES = 16, BLOCK = 32768 }; /* BLOCK: rows whose sum fits a partial sum of 32 bits */

/* Accumulates elements of type T into accumulators A, through partial results P that start as
 * `first` for every BLOCK rows. `next` is the partial result after element v, whose column has mean
 * m; `joined` is accumulator a combined with the partial result. */
#define COLUMNS(name, T, A, P, first, next, joined)                                                \
    static void name(void *acc, const void *from, const double *mean, size_t rows, size_t cols,    \
                     size_t stride, size_t step)                                                   \
    {                                                                                              \
        (void)mean;                                                                                \
        for (size_t done = 0; done < rows; done += BLOCK) {                                        \
            const size_t n = rows - done < BLOCK ? rows - done : BLOCK;                            \
            const T *x = (const T *)from + done * stride;                                          \
            A *to = acc;                                                                           \
            size_t c = 0;                                                                          \
            for (; step == 1 && c + LANES <= cols; c += LANES) {                                   \
                P part[LANES];                                                                     \
                for (size_t l = 0; l < LANES; l++) {                                               \
                    const A a = to[c + l];                                                         \
                    (void)a; /* unused by sums, which begin at 0 */                                \
                    part[l] = first;                                                               \
                }                                                                                  \
                for (size_t r = 0; r < n; r++) {                                                   \
                    const T *row = x + r * stride + c;                                             \
                    for (size_t l = 0; l < LANES; l++) {                                           \
                        const T v = row[l];                                                        \
                        const P p = part[l];                                                       \
                        part[l] = next(v, p, c + l);                                               \
                    }                                                                              \
                }                                                                                  \
                for (size_t l = 0; l < LANES; l++) {                                               \
                    const A a = to[c + l];                                                         \
                    const P p = part[l];                                                           \
                    to[c + l] = joined;                                                            \
                }                                                                                  \
            }                                                                                      \
            for (; c < cols; c++) {                                                                \
                const A a = to[c];                                                                 \
                P p = first;                                                                       \
                for (size_t r = 0; r < n; r++) {                                                   \
                    const T v = x[r * stride + c * step];                                          \
                    p = next(v, p, c);                                                             \
                }                                                                                  \
                to[c] = joined;                                                                    \
            }                                                                                      \
        }                                                                                          \
    }

#define PLUS(v, p, c) (p) + (v)
#define LESS(v, p, c) (v) < (p) ? (v) : (p)
#define MORE(v, p, c) (v) > (p) ? (v) : (p)
#define TOTAL(v, p, c) (p) + (double)(v)
#define SQUARE_8(v, p, c) (p) + (uint32_t)((int32_t)(v) * (v))
#define SQUARE_16(v, p, c) (p) + (uint32_t)(v) * (uint32_t)(v)
#define SQUARE_64(v, p, c) (p) + (uint64_t)(v) * (uint64_t)(v)
#define DISTANCE(v, p, c) (p) + ((double)(v)-mean[c]) * ((double)(v)-mean[c])

/* clang-format off */
#define INTEGERS(id, T, A, P, S, square) \
    COLUMNS(sum_##id, T, A, P, 0, PLUS, PLUS(p, a, 0)) \
    COLUMNS(squares_##id, T, uint64_t, S, 0, square, PLUS(p, a, 0)) \
    ANY(id, T)
#define ANY(id, T) \
    COLUMNS(total_##id, T, double, double, 0, TOTAL, PLUS(p, a, 0)) \
    COLUMNS(distances_##id, T, double, double, 0, DISTANCE, PLUS(p, a, 0)) \
    COLUMNS(min_##id, T, T, T, a, LESS, LESS(p, a, 0)) \
    COLUMNS(max_##id, T, T, T, a, MORE, MORE(p, a, 0))
/* clang-format on */

INTEGERS(u8, uint8_t, uint64_t, uint32_t, uint32_t, SQUARE_8)
INTEGERS(u16, uint16_t, uint64_t, uint32_t, uint64_t, SQUARE_16)
INTEGERS(u32, uint32_t, uint64_t, uint64_t, uint64_t, SQUARE_64)
INTEGERS(u64, uint64_t, uint64_t, uint64_t, uint64_t, SQUARE_64)
INTEGERS(i8, int8_t, int64_t, int32_t, uint32_t, SQUARE_8)
INTEGERS(i16, int16_t, int64_t, int32_t, uint64_t, SQUARE_16)
INTEGERS(i32, int32_t, int64_t, int64_t, uint64_t, SQUARE_64)
INTEGERS(i64, int64_t, uint64_t, uint64_t, uint64_t, SQUARE_64)
ANY(f32, float)
ANY(f64, double)

#define INTEGER_ROW(op) op##_u8, op##_u16, op##_u32, op##_u64, op##_i8, op##_i16, op##_i32, op##_i64
#define ROW(op) INTEGER_ROW(op), NULL, op##_f32, op##_f64

const hr_reduce_table HR_LEVELED(hr__reduce) = {{
    [HR_REDUCE_SUM] = {INTEGER_ROW(sum)},
    [HR_REDUCE_SQUARES] = {INTEGER_ROW(squares)},
    [HR_REDUCE_TOTAL] = {ROW(total)},
    [HR_REDUCE_DISTANCES] = {ROW(distances)},
    [HR_REDUCE_MIN] = {ROW(min)},
    [HR_REDUCE_MAX] = {ROW(max)},
}};
