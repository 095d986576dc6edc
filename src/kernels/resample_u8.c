/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fixed-point resampling of u8. The sums fit 32 bits: |coefficients| of an output sum to less than
 * 2^16. */
#include "kernels/level.h"

enum {
    V_SHIFT = HR_FIX_COEF_BITS - HR_FIX_ROW_BITS,
    H_SHIFT = HR_FIX_COEF_BITS + HR_FIX_ROW_BITS,
    BLOCK = 256 /* elements: the sums stay in the first cache level */
};

static int16_t saturate_i16(int32_t v)
{
    return (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
}

static uint8_t saturate_u8(int32_t v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void HR_LEVELED(hr__vfilter_u8)(int16_t *dst, const uint8_t *const *rows, const int16_t *coef,
                                int32_t taps, size_t n)
{
    int32_t sum[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < count; i++)
            sum[i] = 1 << (V_SHIFT - 1);
        for (int32_t k = 0; k < taps; k++) {
            const uint8_t *restrict row = rows[k] + at;
            int32_t c = coef[k];
            for (size_t i = 0; i < count; i++)
                sum[i] += c * row[i];
        }
        int16_t *restrict out = dst + at;
        for (size_t i = 0; i < count; i++)
            out[i] = saturate_i16(sum[i] >> V_SHIFT);
    }
}

size_t HR_LEVELED(hr__hfilter_table_size)(const hr_filter_fix *f, int32_t channels)
{
    (void)f;
    (void)channels;
    return 0;
}

void HR_LEVELED(hr__hfilter_table)(void *table, const hr_filter_fix *f, int32_t channels)
{
    (void)table;
    (void)f;
    (void)channels;
}

void HR_LEVELED(hr__hfilter_u8)(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                                int32_t channels)
{
    for (int32_t x = 0; x < f->out; x++) {
        const int16_t *from = src + (size_t)f->start[x] * (size_t)channels;
        const int16_t *coef = f->coef + (size_t)x * (size_t)f->stride;
        for (int32_t c = 0; c < channels; c++) {
            int32_t sum = 1 << (H_SHIFT - 1);
            for (int32_t k = 0; k < f->taps; k++)
                sum += coef[k] * from[k * channels + c];
            *dst++ = saturate_u8(sum >> H_SHIFT);
        }
    }
}
