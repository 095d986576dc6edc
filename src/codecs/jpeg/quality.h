/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The tables of quantisers that a quality stands for. */
#pragma once

#include "headrace/operator.h"
#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"

/* The tables of annex K of the standard for luma and chroma, in zigzag order. */
static const uint8_t hr_jpeg_annex_k[2][64] = {
    {16, 11, 12,  14,  12,  10, 16, 14,  13,  14,  18,  17,  16, 19,  24,  40,
     26, 24, 22,  22,  24,  49, 35, 37,  29,  40,  58,  51,  61, 60,  57,  51,
     56, 55, 64,  72,  92,  78, 64, 68,  87,  69,  55,  56,  80, 109, 81,  87,
     95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99},
    {17, 18, 18, 24, 21, 24, 47, 26, 26, 47, 99, 66, 56, 66, 99, 99, 99, 99, 99, 99, 99, 99,
     99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
     99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};

/* The table of luma or chroma at a quality, as libjpeg scales it, in zigzag order. */
static inline void hr_jpeg_quality_table(uint8_t table[64], int chroma, int32_t quality)
{
    int32_t q = HR_MAX(1, HR_MIN(quality, 100)), scale = q < 50 ? 5000 / q : 200 - 2 * q;
    for (int i = 0; i < 64; i++) {
        int32_t scaled = (hr_jpeg_annex_k[chroma][i] * scale + 50) / 100;
        table[i] = (uint8_t)HR_MAX(1, HR_MIN(scaled, 255));
    }
}

/* The quantisers of a table in zigzag order. */
static inline void hr_jpeg_quantiser_make(hr_jpeg_quantiser *q, const uint8_t table[64])
{
    static const uint8_t natural[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};
    for (int i = 0; i < 64; i++) {
        int at = natural[i];
        hr_jpeg_quantiser_of(table[i], &q->half[at], &q->factor[at], &q->scale[at]);
    }
}
