/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Samples of sounds, as they are stored in files, to floats from -1 to 1. */
#include <string.h>

#include "kernels/level.h"

/* The time goes into fetching the lines that are written, so they are asked for one block ahead. */
enum { BLOCK = 256, LINE = 16 };

static void fetch_next(const float *dst, size_t n)
{
    for (size_t i = 0; i < n; i += LINE)
        __builtin_prefetch(dst + BLOCK + i, 1, 3);
}

void HR_LEVELED(hr__sound_16)(float *restrict dst, const uint8_t *restrict src, size_t n)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t end = n - at < BLOCK ? n : at + BLOCK;
        fetch_next(dst + at, end - at);
        for (size_t i = at; i < end; i++) {
            int16_t v;
            memcpy(&v, src + sizeof(v) * i, sizeof(v));
            dst[i] = (float)v * 0x1p-15f;
        }
    }
}

void HR_LEVELED(hr__sound_32)(float *restrict dst, const uint8_t *restrict src, size_t n)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t end = n - at < BLOCK ? n : at + BLOCK;
        fetch_next(dst + at, end - at);
        for (size_t i = at; i < end; i++) {
            int32_t v;
            memcpy(&v, src + sizeof(v) * i, sizeof(v));
            dst[i] = (float)v * 0x1p-31f;
        }
    }
}
