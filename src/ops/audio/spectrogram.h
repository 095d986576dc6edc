/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* spectrogram: shared by the CPU and the GPU. */
#pragma once

#include "headrace/operator.h"
#include "ops/audio/fft.h"

typedef struct hr_spectrogram_args {
    int32_t nfft, window_length, window_step, power, center_windows, reflect_padding;
    hr_floats window_fn;
    const char *layout;
} hr_spectrogram_args;

typedef struct hr_spectrogram_state {
    hr_fft *fft;
    float *window; /* window_length elements */
} hr_spectrogram_state;

/* Samples of a transform before those of the window. */
static inline int32_t spectrogram_padding(const hr_spectrogram_args *a, const hr_fft *fft)
{
    return (fft->n - a->window_length) / 2;
}

/* Samples from the start of window i to sample i * window_step. */
static inline int32_t spectrogram_lead(const hr_spectrogram_args *a)
{
    return a->center_windows ? a->window_length / 2 : 0;
}
