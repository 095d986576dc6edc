/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* nonsilent_region: shared by the CPU and the GPU. Mean i is that of the squares of the `window`
 * elements up to element i; there are zeros in front of the signal. Of integers of 8 and 16 bits
 * means are exact. Other types become FLOAT, and their means are updated from one to the next in
 * single precision, as in DALI: what the updates leave behind decides where the region ends. Those
 * of FLOAT signals are summed anew at every multiple of `interval`. */
#ifndef HR_OPS_AUDIO_NONSILENT_REGION_H
#define HR_OPS_AUDIO_NONSILENT_REGION_H

#include "core/shared.h"

#include <stdint.h>

typedef struct nonsilent_args {
    float cutoff_db, reference_power; /* NaN: the largest mean */
    int32_t reset_interval, window_length;
} nonsilent_args;

/* The square of an element, in place of what is in front of the signal and behind it 0. */
HR_SHARED float nonsilent_square(const float *in, int64_t n, int64_t i)
{
    float v = i >= 0 && i < n ? in[i] : 0.0f;
    return v * v;
}

/* The sum of the squares up to element i, at the beginning of an interval. */
HR_SHARED float nonsilent_sum(const float *in, int64_t n, int64_t i, int64_t window)
{
    float sum = 0.0f;
    for (int64_t k = i - window + 1; k <= i; k++)
        sum += nonsilent_square(in, n, k);
    return sum;
}

/* The sum up to element i from that up to the element before. */
HR_SHARED float nonsilent_next(float sum, const float *in, int64_t n, int64_t i, int64_t window)
{
    return (sum - nonsilent_square(in, n, i - window)) + nonsilent_square(in, n, i);
}

#endif
