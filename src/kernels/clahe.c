/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows for clahe. */
#include "kernels/clahe.h"
#include "kernels/lab.h"
#include "kernels/level.h"

void HR_LEVELED(hr__lab_of_rgb)(const hr_lab_tables *t, const uint8_t *restrict src,
                                uint8_t *restrict l, uint8_t *restrict a, uint8_t *restrict b,
                                size_t n)
{
    for (size_t i = 0; i < n; i++)
        lab_of_rgb(t, src + 3 * i, &l[i], &a[i], &b[i]);
}

static void planes_of_lab(const hr_lab_tables *t, uint8_t *restrict red, uint8_t *restrict green,
                          uint8_t *restrict blue, const uint8_t *restrict l,
                          const uint8_t *restrict a, const uint8_t *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lab_to_rgb(t, l[i], a[i], b[i], &red[i], &green[i], &blue[i]);
}

void HR_LEVELED(hr__lab_to_rgb)(const hr_lab_tables *t, uint8_t *const rgb[3],
                                const uint8_t *const lab[3], size_t n)
{
    planes_of_lab(t, rgb[0], rgb[1], rgb[2], lab[0], lab[1], lab[2], n);
}

void HR_LEVELED(hr__blend_tables)(uint8_t *restrict dst, const uint8_t *restrict src, size_t n,
                                  const uint32_t *restrict quads, const float *restrict right,
                                  float down)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = clahe_blend(quads[src[i]], right[i], down);
}
