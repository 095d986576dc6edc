/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* clahe: one pixel between four tiles. */
#pragma once

#include "core/shared.h"

#include <stdint.h>

/* `quad`: what the tables of the tiles above (left, right) and below make of the pixel. */
HR_SHARED uint8_t clahe_blend(uint32_t quad, float right, float down)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: no fractions are left next to it */
    float a = (float)(int32_t)(quad & 255), b = (float)(int32_t)(quad >> 8 & 255);
    float c = (float)(int32_t)(quad >> 16 & 255), d = (float)(int32_t)(quad >> 24);
    float left = 1.0f - right, up = 1.0f - down;
    float v = (a * left + b * right) * up + (c * left + d * right) * down;
    return (uint8_t)(int32_t)((v + magic) - magic);
}
