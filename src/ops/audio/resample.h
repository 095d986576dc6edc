/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Another sampling rate by a windowed sinc, for audio_resample and decoders of sounds. There is no
 * low-pass when the rate falls, as in DALI. */
#ifndef HR_OPS_AUDIO_RESAMPLE_H
#define HR_OPS_AUDIO_RESAMPLE_H

#include "headrace/operator.h"

enum { HR_RESAMPLE_PHASES = 32, HR_RESAMPLE_LANES = 8 };

typedef struct hr_resampler {
    int32_t lobes;  /* on each side */
    int32_t stride; /* taps of a phase: 2 * lobes, and zeros up to a multiple of LANES */
    float *phases;  /* HR_RESAMPLE_PHASES + 1 rows */
} hr_resampler;

/* `quality`: 0 to 100. The memory is the caller's: hr_free(resampler->phases). */
hr_status hr__resampler_init(hr_resampler *resampler, double quality, hr_error *error);
/* The number of frames after resampling. */
int64_t hr__resampled(int64_t frames, double in_rate, double out_rate);
/* Resamples one of `channels` interleaved channels to `count` frames; `dst` is interleaved, too. */
hr_status hr__resample(const hr_resampler *resampler, const float *src, int64_t frames,
                       int32_t channels, int32_t channel, double step, float *dst, int64_t count,
                       hr_arena *arena, hr_error *error);

#endif
