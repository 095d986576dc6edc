/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where the kernels of a decoder write pixels, so that the image is turned as requested. nvcc
 * compiles this header, too. */
#pragma once

#include <stdint.h>

/* In bytes. Turning swaps the steps or makes them negative. */
typedef struct hr_steps {
    int64_t stride, rows; /* of the turned window */
    int64_t first;        /* where the first pixel of the stored window goes */
    int64_t y, x;         /* from one row and pixel of the stored window to the next */
} hr_steps;
