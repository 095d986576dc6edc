/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* filter: shared by the CPU and the GPU. */
#pragma once

#include "headrace/operator.h"
#include "kernels/border.h"

/* Row and column of the filter element that lies on the pixel being computed. */
typedef struct hr_anchor {
    int32_t row, column;
} hr_anchor;

/* What infer finds out. Images follow one another: outer x height x width x channels. */
typedef struct hr_filter2d {
    size_t outer, per_frame; /* images of the sample, and of one frame */
    int64_t height, width, channels;
    int64_t out_height, out_width;
    int32_t rows, columns; /* of the filter */
    bool filters;          /* one per frame */
    hr_border border;
    const hr_anchor *anchors;
    int32_t anchor_count; /* 1, or one per frame */
} hr_filter2d;
