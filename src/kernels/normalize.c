/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Storing u8 pixels as (v - mean[c]) * mul[c] in float32: a subtraction, then a multiplication,
 * each rounded. */
#include "kernels/half.h"
#include "kernels/level.h"

void HR_LEVELED(hr__norm_u8_chw_f32)(float *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    size_t step = (size_t)channels;
    for (size_t c = 0; c < step; c++) {
        float *restrict out = dst + c * plane;
        const uint8_t *restrict from = src + c;
        float sub = mean[c], by = mul[c];
        if (mirror)
            for (size_t i = 0; i < n; i++)
                out[i] = ((float)from[(n - 1 - i) * step] - sub) * by;
        else
            for (size_t i = 0; i < n; i++)
                out[i] = ((float)from[i * step] - sub) * by;
    }
}

void HR_LEVELED(hr__norm_u8_chw_f16)(uint16_t *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    size_t step = (size_t)channels;
    for (size_t c = 0; c < step; c++) {
        uint16_t *restrict out = dst + c * plane;
        const uint8_t *restrict from = src + c;
        for (size_t i = 0; i < n; i++) {
            size_t at = mirror ? n - 1 - i : i;
            out[i] = half_from_float(((float)from[at * step] - mean[c]) * mul[c]);
        }
    }
}

void HR_LEVELED(hr__norm_u8_hwc_f32)(float *dst, int32_t out_channels, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror)
{
    size_t step = (size_t)channels, out_step = (size_t)out_channels;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = src + (mirror ? n - 1 - i : i) * step;
        float *out = dst + i * out_step;
        for (size_t c = 0; c < step; c++)
            out[c] = ((float)from[c] - mean[c]) * mul[c];
        for (size_t c = step; c < out_step; c++)
            out[c] = 0.0f;
    }
}
