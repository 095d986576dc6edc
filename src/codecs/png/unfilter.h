/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The filters of PNG, which precede its compression. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum hr_png_filter {
    HR_PNG_FILTER_NONE,
    HR_PNG_FILTER_SUB,
    HR_PNG_FILTER_UP,
    HR_PNG_FILTER_MEAN,
    HR_PNG_FILTER_PAETH
} hr_png_filter;

enum { HR_PNG_SLACK = 8 };

/* Turns n filtered bytes into those of pixels of `bpp` bytes: 1, 2, 3, 4, 6 or 8. `above`: the row
 * before, or zeros. Of both rows, HR_PNG_SLACK bytes behind them may be read. */
void hr_png_unfilter(uint8_t *row, const uint8_t *above, size_t n, size_t bpp, int32_t filter);
