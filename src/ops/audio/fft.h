/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Spectra of real signals of any length, HR_FFT_LANES signals at once. */
#ifndef HR_OPS_AUDIO_FFT_H
#define HR_OPS_AUDIO_FFT_H

#include "headrace/operator.h"
#include "kernels/fft.h"
#include "kernels/kernels.h"

#define HR_FFT_MAX_SIZE (1 << 22) /* samples of a signal */

typedef struct hr_fft hr_fft;

/* Read-only once it is made: any number of threads may use it. */
hr_status hr__fft_create(hr_fft **out, int32_t n, hr_error *error);
void hr__fft_destroy(hr_fft *fft); /* NULL is fine */

int32_t hr__fft_size(const hr_fft *fft);
/* Floats of the scratch memory that hr__fft_norms needs. */
size_t hr__fft_scratch(const hr_fft *fft);

/* The norms of bins 0 .. size / 2: norms[bin * HR_FFT_LANES + lane]. signals[lane] has `count`
 * samples, which are multiplied by `window` and are samples `first` .. of the transformed signal;
 * the others are 0. */
void hr__fft_norms(const hr_fft *fft, const hr_kernels *k, const float *const *signals,
                   const float *window, int32_t first, int32_t count, hr_fft_result result,
                   float *scratch, float *norms);

#endif
