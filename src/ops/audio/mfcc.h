/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* mfcc: shared by the CPU and the GPU. Output k is the sum of cosines[n * count + k] * in[n], added
 * up in the order of n in single precision, then times lifters[k] if `lifter` is not 0. */
#pragma once

#include "headrace/operator.h"

typedef struct mfcc_args {
    int32_t n_mfcc, dct_type, normalize, axis;
    float lifter;
} mfcc_args;

/* The memo of a sample whose kernels run on a device: an array (outer, size, columns) becomes
 * (outer, count, columns). The tables are on the device. */
typedef struct hr_mfcc {
    int64_t outer, columns;
    int32_t size, count;
    const float *cosines;
    const float *lifters; /* NULL: `lifter` is 0 */
} hr_mfcc;
