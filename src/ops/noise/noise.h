/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Noise on the CPU and on the GPU: the memos that infer leaves for both, and what one draw makes of
 * an element. Which draw belongs to which element is said in kernels/noise.h. */
#pragma once

#include "core/core.h"
#include "core/rng_inline.h"
#include "kernels/kernels.h"
#include "kernels/noise.h"
#include "ops/random/gauss.h"

/* Describes output 0 like input 0. Fails unless it has an integer type or FLOAT. */
hr_status hr__noise_infer(hr_op_call *c, hr_error *error);

/* Makes n elements of `out`, from element `at` on, of those of the input and n draws. */
typedef void (*hr_noise_fn)(const hr_op_call *c, const uint32_t *bits, size_t at, size_t n);
/* Calls `make` tile by tile for `count` elements, with the draws of the tile. */
void hr__noise_tiles(const hr_op_call *c, size_t count, hr_noise_fn make);

/* ---- noise.gaussian ---- */

typedef struct hr_noise_gaussian {
    float mean, stddev;
} hr_noise_gaussian;

/* ---- noise.shot ---- */

typedef struct hr_noise_shot {
    float factor;
} hr_noise_shot;

#define HR_POISSON_SHORT 60.0 /* up to this mean, probabilities are added from 0 on */
#define HR_POISSON_LONG 2e4   /* up to this mean, from the most probable number on */

/* The draw as a number between 0 and 1, neither included. */
HR_SHARED double noise_unit(uint32_t bits)
{
    return (bits + 0.5) * 0x1p-32;
}

/* The smallest number whose distribution function is above u. */
HR_SHARED double poisson_short(double mean, double u)
{
    double p = mathx_exp(-mean), sum = p, k = 0.0;

    while (u >= sum && k < 255.0) {
        k += 1.0;
        p *= mean / k;
        sum += p;
    }
    return k;
}

/* Probabilities are taken from u in the order of their distance from the most probable number, of
 * which the first follows from Stirling's series. */
HR_SHARED double poisson_long(double mean, double u)
{
    const double m = floor(mean), far = 12.0 * sqrt(mean) + 60.0;
    const double series = 1.0 / (12.0 * m) - 1.0 / (360.0 * m * m * m);
    double up =
        mathx_exp(m * mathx_log(mean / m) - (mean - m) - 0.5 * mathx_log(2.0 * HR_PI * m) - series);
    double down = up;

    u -= up;
    for (double j = 1.0; u >= 0.0 && j < far; j += 1.0) {
        up *= mean / (m + j);
        u -= up;
        if (u < 0.0)
            return m + j;
        if (j > m)
            continue;
        down *= (m - j + 1.0) / mean;
        u -= down;
        if (u < 0.0)
            return m - j;
    }
    return m;
}

/* A number of the Poisson distribution with this mean, from one draw. */
HR_SHARED double poisson_of(double mean, uint32_t bits)
{
    if (!(mean > 0.0 && mean < 0x1p127))
        return 0.0;
    if (mean <= HR_POISSON_SHORT)
        return poisson_short(mean, noise_unit(bits));
    if (mean <= HR_POISSON_LONG)
        return poisson_long(mean, noise_unit(bits));
    double z = gauss_of(noise_unit(bits));
    double k = floor(mean + sqrt(mean) * z + (z * z - 1.0) / 6.0 + 0.5);
    return k > 0.0 ? k : 0.0;
}

/* An element with noise, before it is rounded. A factor of 0 gives 0, as in DALI. */
HR_SHARED float shot_of(const hr_noise_shot *m, float value, uint32_t bits)
{
    float k = (float)poisson_of((double)(value / m->factor), bits);

    return k > 0.0f ? k * m->factor : 0.0f;
}

/* ---- noise.salt_and_pepper ---- */

/* A pixel has `channels` elements, `channel_step` apart. */
typedef struct hr_salt_pepper {
    uint64_t salt_below, noise_below; /* draws below the first are salt, below the second pepper */
    uint64_t salt, pepper;            /* elements, in the low bytes */
    int64_t pixels, channels, pixel_step, channel_step;
} hr_salt_pepper;
