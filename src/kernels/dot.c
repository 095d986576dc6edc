/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Sums of products. Partial sums are added in one order at all levels. */
#include "kernels/level.h"

float HR_LEVELED(hr__dot_f32)(const float *restrict a, const float *restrict b, size_t n)
{
    float sum[HR_DOT_LANES] = {0};
    for (size_t i = 0; i < n; i += HR_DOT_LANES)
        for (int l = 0; l < HR_DOT_LANES; l++)
            sum[l] += a[i + (size_t)l] * b[i + (size_t)l];
    for (int width = HR_DOT_LANES / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            sum[l] += sum[l + width];
    return sum[0];
}
