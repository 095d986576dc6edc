/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* mel_filter_bank: shared by the CPU and the GPU. */
#pragma once

#include <stdint.h>

/* Bins first .. first + count - 1, with weights from `at` on. */
typedef struct hr_mel_band {
    int32_t first, count, at;
} hr_mel_band;

/* The memo of a sample: an array (outer, bins, columns) becomes (outer, nfilter, columns). A sum
 * begins with the product of its first bin; the others are added in their order.
 * The lists are on the device if the array is. */
typedef struct hr_mel_bank {
    int64_t outer, bins, columns;
    int32_t nfilter;
    const hr_mel_band *bands;
    const float *weights;
} hr_mel_bank;
