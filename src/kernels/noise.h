/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random numbers for the elements of a tensor, in tiles of 1024 elements that 256 consecutive
 * blocks of draws make: draw `lane` of block i belongs to element 256 * lane + i of its tile, so
 * that vectors on a CPU and neighbouring threads on a GPU work on neighbouring elements. nvcc
 * compiles this header, too. */
#pragma once

#include "core/bits.h"
#include "core/shared.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define HR_NOISE_BLOCKS 256
#define HR_NOISE_TILE 1024

/* The element of draw 0 of a block; that of the next draw is HR_NOISE_BLOCKS further. */
HR_SHARED int64_t noise_element(int64_t block)
{
    return block / HR_NOISE_BLOCKS * HR_NOISE_TILE + block % HR_NOISE_BLOCKS;
}

/* Natural logarithm of a normal number in (0, 1]. The mantissa is between sqrt(1/2) and sqrt(2). */
HR_SHARED float noise_log(float x)
{
    const int32_t bits = (int32_t)bits_of_f32(x), from = bits - 0x3f3504f3;
    const int32_t whole = from >> 23;
    const float m = bits_as_f32((uint32_t)bits - ((uint32_t)whole << 23));
    const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    float p = 2.0f / 9.0f;

    p = p * z + 2.0f / 7.0f;
    p = p * z + 2.0f / 5.0f;
    p = p * z + 2.0f / 3.0f;
    p = p * z + 2.0f;
    return p * s + (float)whole * 0x1.62e43p-1f;
}

/* Two independent normal numbers from two draws (Box and Muller 1958). The direction is an angle
 * within 45 degrees of an axis, which the last two bits choose. */
HR_SHARED void noise_normal(uint32_t a, uint32_t b, float *x, float *y)
{
    const float u = ((float)(int32_t)(a >> 1) + 0.5f) * 0x1p-31f;
    const float r = sqrtf(-2.0f * noise_log(u));
    const float t = (float)(int32_t)b * (0x1p-31f * 0x1.921fb6p-1f), z = t * t;
    float s = 1.0f / 362880.0f, c = 1.0f / 40320.0f;

    s = s * z - 1.0f / 5040.0f;
    s = s * z + 1.0f / 120.0f;
    s = s * z - 1.0f / 6.0f;
    s = s * z * t + t;
    c = c * z - 1.0f / 720.0f;
    c = c * z + 1.0f / 24.0f;
    c = c * z - 0.5f;
    c = c * z + 1.0f;
    c = bits_as_f32(bits_of_f32(c) ^ (b & 2) << 30);
    *x = r * (b & 1 ? s : c);
    *y = r * (b & 1 ? c : s);
}

/* An element with noise, before it is rounded. */
HR_SHARED float noise_added(float value, float noise, float mean, float stddev)
{
    return value + (mean + stddev * noise);
}
