/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* mfcc: shared by the CPU and the GPU. Output k is the sum of cosines[n * count + k] * in[n], added
 * up in the order of n in single precision, then times lifters[k] if `lifter` is not 0. */
#ifndef HR_OPS_AUDIO_MFCC_H
#define HR_OPS_AUDIO_MFCC_H

#include "headrace/operator.h"

typedef struct mfcc_args {
    int32_t n_mfcc, dct_type, normalize, axis;
    float lifter;
} mfcc_args;

/* The number of coefficients of an axis with `size` elements. */
static inline int32_t mfcc_count(const mfcc_args *a, int64_t size)
{
    return (int32_t)HR_MIN(size, a->n_mfcc);
}

/* cosines: size * count; lifters: count. */
void hr__mfcc_tables(const mfcc_args *a, int32_t size, int32_t count, float *cosines,
                     float *lifters);

#endif
