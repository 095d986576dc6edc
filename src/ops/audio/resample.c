/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/audio/resample.h"

#include <math.h>
#include <string.h>

hr_status hr__resampler_init(hr_resampler *r, double quality, hr_error *error)
{
    const int32_t lobes = (int32_t)hr_round(0.007 * quality * quality - 0.09 * quality + 3);
    const int32_t taps = 2 * lobes, points = HR_SINC_PHASES * taps + 1;
    const int32_t stride = HR_DIVIDE_UP(taps, HR_SINC_LANES) * HR_SINC_LANES;
    const size_t row = (size_t)stride, rows = HR_SINC_PHASES;
    float *phases = r->memory = hr_calloc((2 * rows + 1) * row, sizeof(*phases), error);
    HR_TRY_ALLOC(phases);
    float *steps = phases + (rows + 1) * row;
    for (int32_t i = 0; i < points; i++) {
        double at = i - (points - 1) * 0.5, x = HR_PI * at / HR_SINC_PHASES;
        double envelope = 0.5 * (1 + hr_cos(HR_PI * at * 2 / points));
        float weight = (float)((at == 0 ? 1 : hr_sin(x) / x) * envelope);
        int32_t phase = i % HR_SINC_PHASES, tap = i / HR_SINC_PHASES;
        if (tap < taps)
            phases[phase * stride + tap] = weight;
        if (phase == 0 && tap > 0)
            phases[HR_SINC_PHASES * stride + tap - 1] = weight;
    }
    for (size_t i = 0; i < rows * row; i++)
        steps[i] = phases[i + row] - phases[i];
    r->sinc = (hr_sinc_filter){lobes, stride, phases, steps};
    return HR_STATUS_OK;
}

int64_t hr__resampled(int64_t frames, double in_rate, double out_rate)
{
    double count = -floor(-((double)frames * out_rate / in_rate));
    return count < 9e18 ? (int64_t)count : INT64_MAX;
}

hr_status hr__resample(const hr_resampler *r, const hr_kernels *k, const float *src, int64_t frames,
                       int32_t channels, int32_t channel, double step, float *dst, int64_t count,
                       hr_arena *arena, hr_error *error)
{
    const int64_t before = r->sinc.lobes, behind = HR_SINC_MOST_TAPS + HR_SINC_LANES;
    float *padded =
        hr_arena_alloc(arena, (size_t)(before + frames + behind) * sizeof(*padded), error);
    HR_TRY_ALLOC(padded);
    memset(padded, 0, (size_t)before * sizeof(*padded));
    if (channels == 1)
        memcpy(padded + before, src, (size_t)frames * sizeof(*padded));
    else
        for (int64_t i = 0; i < frames; i++)
            padded[before + i] = src[i * channels + channel];
    memset(padded + before + frames, 0, (size_t)behind * sizeof(*padded));
    const hr_sinc_signal in = {padded, frames, step};
    k->sinc(dst + channel, (size_t)channels, &r->sinc, &in, count);
    return HR_STATUS_OK;
}
