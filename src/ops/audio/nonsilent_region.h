/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* nonsilent_region: shared by the CPU and the GPU. Mean i is that of the squares of the `window`
 * elements up to element i; there are zeros in front of the signal. Of integers of 8 and 16 bits
 * means are exact. Other types become FLOAT, and their means are updated from one to the next in
 * single precision, as in DALI: what the updates leave behind decides where the region ends. Those
 * of FLOAT signals are summed anew at every multiple of `reset_interval`. */
#pragma once

#include <stdint.h>

typedef struct nonsilent_args {
    float cutoff_db, reference_power; /* NaN: the largest mean */
    int32_t reset_interval, window_length;
} nonsilent_args;
