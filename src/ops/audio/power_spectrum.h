/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* power_spectrum: what infer leaves for the run on a device. */
#pragma once

#include "ops/audio/fft.h"

/* An array (outer, size, columns) becomes (outer, bins, columns). */
typedef struct hr_power_spectrum {
    hr_fft fft; /* its tables are on the device */
    int64_t outer, size, columns;
    int32_t used; /* samples of a signal that are transformed; zeros follow */
    hr_fft_result result;
} hr_power_spectrum;
