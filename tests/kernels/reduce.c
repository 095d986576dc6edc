/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reductions: every CPU level gives the bits of plain loops that add in the order of the rows. */
#include "test.h"

#include "core/core.h"
#include "kernels/kernels.h"

#include <stdlib.h>

enum { ROWS = 70, COLS = 90 };

static double number(hr_dtype type, size_t i)
{
    uint64_t bits = hr_mix(i, 5);
    double low = HR_MAX(hr_dtype_min(type), -1e9), high = HR_MIN(hr_dtype_max(type), 1e9);

    return low + (double)(bits >> 11) * 0x1p-53 * (high - low);
}

static void check_row(const hr_kernels *k, hr_reduce_kind kind, hr_dtype type, size_t rows,
                      size_t cols, size_t step)
{
    static _Alignas(8) uint8_t x[ROWS * COLS * 8], acc[COLS * 8];
    double mean[COLS], v;
    size_t size = hr_dtype_size(type), stride = step == 1 ? cols : 1;

    for (size_t i = 0; i < rows * cols; i++) {
        v = number(type, i);
        hr_convert(x + i * size, type, &v, HR_DTYPE_FLOAT64, 1);
    }
    for (size_t c = 0; c < cols; c++)
        mean[c] = 0.25 * (double)c;
    memset(acc, 0, sizeof(acc));
    k->reduce->of[kind][type](acc, x, mean, rows, cols, stride, step);
    for (size_t c = 0; c < cols; c++) {
        double total = 0.0, distances = 0.0, least = 0.0, most = 0.0;
        uint64_t sum = 0, squares = 0;
        for (size_t r = 0; r < rows; r++) {
            size_t i = r * stride + c * step;
            v = hr_element_double(x, type, i);
            total += v;
            distances += (v - mean[c]) * (v - mean[c]);
            least = HR_MIN(least, v);
            most = HR_MAX(most, v);
            if (hr_dtype_is_integer(type)) {
                sum += (uint64_t)(int64_t)v;
                squares += (uint64_t)((int64_t)v * (int64_t)v);
            }
        }
        switch (kind) {
        case HR_REDUCE_SUM:
            CHECK(((uint64_t *)acc)[c] == sum);
            break;
        case HR_REDUCE_SQUARES:
            CHECK(((uint64_t *)acc)[c] == squares);
            break;
        case HR_REDUCE_TOTAL:
            CHECK(((double *)acc)[c] == total);
            break;
        case HR_REDUCE_DISTANCES:
            CHECK(((double *)acc)[c] == distances);
            break;
        default:
            CHECK(hr_element_double(acc, type, c) == (kind == HR_REDUCE_MIN ? least : most));
        }
    }
}

TEST(every_level_adds_in_the_order_of_rows)
{
    static const size_t cols[] = {1, 5, 16, 33, COLS};
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};

    for (size_t l = 0; l < HR_COUNT_OF(levels); l++) {
        const hr_kernels *k = hr_kernels_get(levels[l]);
        for (int32_t kind = 0; kind < HR_REDUCE_COUNT; kind++)
            for (int32_t type = 0; type < HR_DTYPE_COUNT; type++)
                for (size_t i = 0; i < HR_COUNT_OF(cols) && k->reduce->of[kind][type]; i++) {
                    check_row(k, (hr_reduce_kind)kind, (hr_dtype)type, ROWS, cols[i], 1);
                    check_row(k, (hr_reduce_kind)kind, (hr_dtype)type, 3, cols[i], 3);
                }
    }
}

/* More rows than a partial sum of 32 bits has room for. */
TEST(partial_sums_do_not_overflow)
{
    size_t rows = 300000;
    uint8_t *x = malloc(rows);
    uint64_t sum = 0, squares = 0;

    memset(x, 255, rows);
    const hr_reduce_table *table = hr_kernels_get(HR_CPU_LEVEL_AUTO)->reduce;
    table->of[HR_REDUCE_SUM][HR_DTYPE_UINT8](&sum, x, NULL, rows, 1, 1, 1);
    table->of[HR_REDUCE_SQUARES][HR_DTYPE_UINT8](&squares, x, NULL, rows, 1, 1, 1);
    CHECK(sum == 255 * rows);
    CHECK(squares == 255 * 255 * rows);
    free(x);
}

TEST_MAIN
