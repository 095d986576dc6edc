/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fourier transforms of HR_FFT_LANES signals at once. Lane by lane the operations and their order
 * depend only on the size, so all CPU levels give the same bytes. A point is a row of the real
 * parts of all lanes and a row of their imaginary parts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HR_FFT_LANES 16
#define HR_FFT_POINT (2 * HR_FFT_LANES) /* floats of a point */
#define HR_FFT_MAX_RADIX 31             /* odd radices; a larger prime factor needs Bluestein */

/* One pass of Stockham's algorithm: `span` butterflies of `radix` points, which are `span * stride`
 * points apart, for each of `stride` interleaved transforms. */
typedef struct hr_fft_pass {
    int32_t radix, span, stride;
    const float *twiddles; /* (re, im) of exp(-2 pi i q k / (radix * span)): [q][k - 1] */
    const float *roots;    /* (re, im) of exp(-2 pi i j / radix) */
} hr_fft_pass;

/* What a spectrum becomes. */
typedef enum hr_fft_result {
    HR_FFT_RESULT_MAGNITUDE = 1, /* |X| */
    HR_FFT_RESULT_POWER = 2      /* |X|^2 */
} hr_fft_result;
