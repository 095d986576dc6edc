/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* audio_resample: shared by the CPU and the GPU. Samples become floats by audio_resample_load, and
 * after resampling (kernels/sinc.h) audio_resample_scale and the rounding of `cast` make samples of
 * them. Signed integers and floats span -1 .. 1, unsigned integers 0 .. 1. From signed to unsigned
 * and back, silence becomes the middle of the range. */
#pragma once

#include "core/shared.h"
#include "headrace/operator.h"
#include "kernels/sinc.h"

typedef struct audio_resample_args {
    int32_t dtype;                  /* -1: that of the input */
    float in_rate, out_rate, scale; /* NaN: not given */
    float quality;
    int64_t out_length; /* -1: not given */
    int32_t lowpass;
} audio_resample_args;

/* How a sample of the batch is resampled. */
typedef struct audio_resampling {
    hr_sinc_filter sinc;
    double step;             /* samples of the input from one output to the next */
    float in_most, out_most; /* the largest sample of the types, 1 for floats */
    bool from_signed, to_signed;
} audio_resampling;

/* `v`: a sample as a number; `most`: the largest one of its type, 1 for floats. */
HR_SHARED float audio_resample_load(float v, float most, bool from_signed, bool to_signed)
{
    float x = v * (1.0f / most);
    if (from_signed == to_signed)
        return x;
    return from_signed ? (x + 1.0f) * 0.5f : x * 2.0f - 1.0f;
}

HR_SHARED float audio_resample_scale(float x, float most)
{
    return x * most;
}
