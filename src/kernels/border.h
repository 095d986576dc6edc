/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which element stands for one outside of a row. nvcc compiles this header, too. */
#pragma once

#include "core/shared.h"

#include <stdint.h>

typedef enum hr_border {
    HR_BORDER_CONSTANT,     /* a value of its own */
    HR_BORDER_CLAMP,        /* aaa|abcd|ddd */
    HR_BORDER_REFLECT_1001, /* cba|abcd|dcb */
    HR_BORDER_REFLECT_101,  /* dcb|abcd|cba */
    HR_BORDER_WRAP,         /* bcd|abcd|abc */
    HR_BORDER_COUNT
} hr_border;

/* The element, of n >= 1, that stands for element i; -1: the constant. */
HR_SHARED int64_t border_index(int64_t i, int64_t n, hr_border border)
{
    if (i >= 0 && i < n)
        return i;
    if (border == HR_BORDER_CONSTANT)
        return -1;
    if (border == HR_BORDER_CLAMP || n == 1)
        return i < 0 ? 0 : n - 1;
    int64_t period = border == HR_BORDER_WRAP           ? n
                     : border == HR_BORDER_REFLECT_1001 ? 2 * n
                                                        : 2 * n - 2;
    int64_t at = i % period;
    at += at < 0 ? period : 0;
    if (at < n)
        return at;
    return border == HR_BORDER_REFLECT_1001 ? period - 1 - at : period - at;
}
