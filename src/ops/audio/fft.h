/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Spectra of real signals of any length, HR_FFT_LANES signals at once. */
#pragma once

#include "headrace/operator.h"
#include "kernels/fft.h"
#include "kernels/kernels.h"

#define HR_FFT_MAX_SIZE (1 << 22) /* samples of a signal */

#define HR_FFT_MAX_PASSES 32

/* Read-only once it is made: any number of threads may use it. */
typedef struct hr_fft {
    int32_t n;      /* samples */
    int32_t points; /* of an even n: n / 2, whose real parts are the samples with even numbers */
    int32_t size;   /* of the transform: `points`, or that of a convolution */
    int32_t count;  /* of passes */
    hr_fft_pass passes[HR_FFT_MAX_PASSES];
    const float *turns;          /* of an even n: (re, im) of exp(-2 pi i k / n), k <= n / 2 */
    const float *chirp, *kernel; /* Bluestein's: NULL if it is not needed */
    float *tables;               /* what the pointers above point into */
    size_t floats;               /* in `tables` */
} hr_fft;

/* Makes all pointers those into a copy of the tables, which may be on a device. */
static inline void fft_move(hr_fft *fft, const float *tables)
{
    const float *old = fft->tables;

    fft->turns = fft->turns ? tables + (fft->turns - old) : NULL;
    fft->chirp = fft->chirp ? tables + (fft->chirp - old) : NULL;
    fft->kernel = fft->kernel ? tables + (fft->kernel - old) : NULL;
    for (int32_t i = 0; i < fft->count; i++) {
        hr_fft_pass *p = &fft->passes[i];
        p->twiddles = p->twiddles ? tables + (p->twiddles - old) : NULL;
        p->roots = p->roots ? tables + (p->roots - old) : NULL;
    }
    fft->tables = (float *)tables;
}

hr_status hr__fft_create(hr_fft **out, int32_t n, hr_error *error);
void hr__fft_destroy(hr_fft *fft); /* NULL is fine */

/* Floats of the scratch memory that hr__fft_norms needs. */
size_t hr__fft_scratch(const hr_fft *fft);

/* The norms of bins 0 .. size / 2: norms[bin * HR_FFT_LANES + lane]. signals[lane] has `count`
 * samples, which are multiplied by `window` and are samples `first` .. of the transformed signal;
 * the others are 0. */
void hr__fft_norms(const hr_fft *fft, const hr_kernels *k, const float *const *signals,
                   const float *window, int32_t first, int32_t count, hr_fft_result result,
                   float *scratch, float *norms);
