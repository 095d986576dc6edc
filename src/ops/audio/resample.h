/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Another sampling rate by a windowed sinc, for audio_resample and decoders of sounds. When the
 * rate falls, there is a low-pass only if it is asked for: DALI has none. */
#pragma once

#include "headrace/operator.h"
#include "kernels/kernels.h"
#include "kernels/sinc.h"

typedef struct hr_resampler {
    hr_sinc_filter sinc;
    float *memory; /* of its tables */
} hr_resampler;

/* `quality`: 0 to 100. The memory is the caller's: hr_free(resampler->memory). */
hr_status hr__resampler_init(hr_resampler *resampler, double quality, hr_error *error);
/* The number of frames after resampling. */
int64_t hr__resampled(int64_t frames, double in_rate, double out_rate);
/* The filter for outputs that are `step` frames apart: with `lowpass`, that of the resampler,
 * `step` times as wide if that is more than 1. It may be in the arena. */
hr_status hr__resampler_filter(const hr_resampler *resampler, bool lowpass, double step,
                               hr_arena *arena, hr_sinc_filter *filter, hr_error *error);
/* Resamples one of `channels` interleaved channels to `count` frames, which are `step` frames of
 * the source apart; `dst` is interleaved, too. */
hr_status hr__resample(const hr_sinc_filter *filter, const hr_kernels *k, const float *src,
                       int64_t frames, int32_t channels, int32_t channel, double step, float *dst,
                       int64_t count, hr_arena *arena, hr_error *error);
