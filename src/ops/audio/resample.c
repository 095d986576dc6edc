/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/audio/resample.h"

#include <math.h>
#include <string.h>

/* Times as wide: 32 to 512 KiB of weights for a quality of 50. */
#define MOST_WIDER 256.0

static int32_t stride_of(int32_t lobes)
{
    return HR_DIVIDE_UP(2 * lobes, HR_SINC_LANES) * HR_SINC_LANES;
}

/* Floats of the tables. */
static size_t size_of(int32_t lobes)
{
    return (2 * (size_t)HR_SINC_PHASES + 1) * (size_t)stride_of(lobes);
}

/* Fills the tables, which are all zeros, with a sinc of `width` samples on each side; its lobes are
 * `wider` samples wide. */
static hr_sinc_filter fill_tables(float *phases, int32_t lobes, double width, double wider)
{
    const int32_t taps = 2 * lobes, points = HR_SINC_PHASES * taps + 1, stride = stride_of(lobes);
    const double window = 2 * HR_SINC_PHASES * width + 1;
    const size_t row = (size_t)stride, rows = HR_SINC_PHASES;
    float *steps = phases + (rows + 1) * row;
    for (int32_t i = 0; i < points; i++) {
        double at = i - (points - 1) * 0.5, x = HR_PI * at / HR_SINC_PHASES / wider;
        double envelope = 0.5 * (1 + hr_cos(HR_PI * at * 2 / window));
        float weight = (float)((at == 0 ? 1 : hr_sin(x) / x) * envelope / wider);
        int32_t phase = i % HR_SINC_PHASES, tap = i / HR_SINC_PHASES;
        if (2 * at <= -window || 2 * at >= window)
            weight = 0;
        if (tap < taps)
            phases[phase * stride + tap] = weight;
        if (phase == 0 && tap > 0)
            phases[HR_SINC_PHASES * stride + tap - 1] = weight;
    }
    for (size_t i = 0; i < rows * row; i++)
        steps[i] = phases[i + row] - phases[i];
    return (hr_sinc_filter){lobes, stride, phases, steps};
}

hr_status hr__resampler_init(hr_resampler *r, double quality, hr_error *error)
{
    const int32_t lobes = (int32_t)hr_round(0.007 * quality * quality - 0.09 * quality + 3);
    if (!(r->memory = hr_calloc(size_of(lobes), sizeof(*r->memory), error)))
        return HR_STATUS_NO_MEMORY;
    r->sinc = fill_tables(r->memory, lobes, lobes, 1);
    return HR_STATUS_OK;
}

hr_status hr__resampler_filter(const hr_resampler *r, bool lowpass, double step, hr_arena *arena,
                               hr_sinc_filter *filter, hr_error *error)
{
    *filter = r->sinc;
    if (!lowpass || !(step > 1))
        return HR_STATUS_OK;
    if (step > MOST_WIDER)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "the rate falls to 1 / %g; with `lowpass`, 1 / %g is the least", step,
                       MOST_WIDER);
    const double width = r->sinc.lobes * step;
    const int32_t lobes = (int32_t)-floor(-width);
    float *memory = hr_arena_alloc(arena, size_of(lobes) * sizeof(*memory), error);
    HR_TRY_ALLOC(memory);
    memset(memory, 0, size_of(lobes) * sizeof(*memory));
    *filter = fill_tables(memory, lobes, width, step);
    return HR_STATUS_OK;
}

int64_t hr__resampled(int64_t frames, double in_rate, double out_rate)
{
    double count = -floor(-((double)frames * out_rate / in_rate));
    return count < 9e18 ? (int64_t)count : INT64_MAX;
}

hr_status hr__resample(const hr_sinc_filter *f, const hr_kernels *k, const float *src,
                       int64_t frames, int32_t channels, int32_t channel, double step, float *dst,
                       int64_t count, hr_arena *arena, hr_error *error)
{
    const int64_t before = f->lobes, behind = f->stride + HR_SINC_LANES;
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
    k->sinc(dst + channel, (size_t)channels, f, &in, count);
    return HR_STATUS_OK;
}
