/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* filter: shared by the CPU and the GPU. */
#ifndef HR_OPS_FILTER_FILTER_H
#define HR_OPS_FILTER_FILTER_H

#include "core/shared.h"
#include "headrace/operator.h"

typedef enum hr_border {
    HR_BORDER_REFLECT_101,
    HR_BORDER_REFLECT_1001,
    HR_BORDER_WRAP,
    HR_BORDER_CLAMP,
    HR_BORDER_CONSTANT,
    HR_BORDER_COUNT
} hr_border;

/* Row and column of the filter element that lies on the pixel being computed. */
typedef struct hr_anchor {
    int32_t row, column;
} hr_anchor;

/* What infer finds out. Pictures follow one another: outer x height x width x channels. */
typedef struct hr_filter2d {
    size_t outer, per_frame; /* pictures of the sample, and of one frame */
    int64_t height, width, channels;
    int64_t out_height, out_width;
    int32_t rows, columns; /* of the filter */
    bool filters;          /* one per frame */
    hr_border border;
    const hr_anchor *anchors;
    int32_t anchor_count; /* 1, or one per frame */
} hr_filter2d;

/* The position from which the element at `i` comes; -1: it is the fill value. */
HR_SHARED int64_t filter_source(int64_t i, int64_t n, int32_t border)
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

#endif
