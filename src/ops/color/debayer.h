/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* debayer: shared by the CPU and the GPU. */
#pragma once

#include "kernels/debayer.h"

#include "headrace/operator.h"

/* What infer finds out. Images follow one another. */
typedef struct hr_debayer {
    hr_debayer_kind kind; /* if not vng */
    bool vng;
    int64_t frames, height, width;
    const uint8_t *start; /* per frame, or one for all: 2 * row + column of the first pixel that
                             becomes channel 0 */
    bool starts;          /* one per frame */
} hr_debayer;
