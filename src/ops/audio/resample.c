/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The window is a table with 32 points from one input sample to the next, between which weights are
 * interpolated. All taps of an output have the same place between two points, so the table is
 * stored by phases: the weights of an output are a mean of two rows. */
#include "ops/audio/resample.h"

#include <math.h>
#include <string.h>

/* As in DALI, positions are exact at the beginning of a block and added up in single precision from
 * there on. */
enum { MOST_TAPS = 128, BLOCK = 256 };

hr_status hr__resampler_init(hr_resampler *r, double quality, hr_error *error)
{
    r->lobes = (int32_t)hr_round(0.007 * quality * quality - 0.09 * quality + 3);
    const int32_t taps = 2 * r->lobes, points = HR_RESAMPLE_PHASES * taps + 1;
    r->stride = HR_DIVIDE_UP(taps, HR_RESAMPLE_LANES) * HR_RESAMPLE_LANES;
    r->phases = hr_calloc((HR_RESAMPLE_PHASES + 1) * (size_t)r->stride, sizeof(*r->phases), error);
    if (!r->phases)
        return HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < points; i++) {
        double at = i - (points - 1) * 0.5, x = HR_PI * at / HR_RESAMPLE_PHASES;
        double envelope = 0.5 * (1 + hr_cos(HR_PI * at * 2 / points));
        float weight = (float)((at == 0 ? 1 : hr_sin(x) / x) * envelope);
        int32_t phase = i % HR_RESAMPLE_PHASES, tap = i / HR_RESAMPLE_PHASES;
        if (tap < taps)
            r->phases[phase * r->stride + tap] = weight;
        if (phase == 0 && tap > 0)
            r->phases[HR_RESAMPLE_PHASES * r->stride + tap - 1] = weight;
    }
    return HR_STATUS_OK;
}

int64_t hr__resampled(int64_t frames, double in_rate, double out_rate)
{
    double count = -floor(-((double)frames * out_rate / in_rate));
    return count < 9e18 ? (int64_t)count : INT64_MAX;
}

/* The sum of `stride` samples with the weights at `place` of the way from row `a` to row `b`. */
static float weighted(const float *restrict a, const float *restrict b, float place,
                      const float *restrict src, int32_t stride)
{
    float sum[HR_RESAMPLE_LANES] = {0};
    for (int32_t j = 0; j < stride; j += HR_RESAMPLE_LANES)
        for (int32_t k = 0; k < HR_RESAMPLE_LANES; k++)
            sum[k] += src[j + k] * (a[j + k] + place * (b[j + k] - a[j + k]));
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

hr_status hr__resample(const hr_resampler *r, const float *src, int64_t frames, int32_t channels,
                       int32_t channel, double step, float *dst, int64_t count, hr_arena *arena,
                       hr_error *error)
{
    const int64_t before = r->lobes, behind = MOST_TAPS + HR_RESAMPLE_LANES;
    float *padded =
        hr_arena_alloc(arena, (size_t)(before + frames + behind) * sizeof(*padded), error);
    if (!padded)
        return HR_STATUS_NO_MEMORY;
    memset(padded, 0, (size_t)before * sizeof(*padded));
    for (int64_t i = 0; i < frames; i++)
        padded[before + i] = src[i * channels + channel];
    memset(padded + before + frames, 0, (size_t)behind * sizeof(*padded));
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        const double whole = floor((double)begin * step);
        float at = (float)((double)begin * step - whole);
        for (int64_t n = begin; n < HR_MIN(begin + BLOCK, count); n++, at += (float)step) {
            double next = -floor(-(double)at), phase = (next - (double)at) * HR_RESAMPLE_PHASES;
            double row = floor(phase), first = HR_MIN(whole + next, (double)frames);
            const float *a = r->phases + (int32_t)row * r->stride;
            dst[n * channels + channel] = weighted(a, a + r->stride, (float)(phase - row),
                                                   padded + (int64_t)first, r->stride);
        }
    }
    return HR_STATUS_OK;
}
