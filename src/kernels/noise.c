/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Tiles of random numbers. Loops have a constant length and no branches, so that they become
 * vectors. */
#include "kernels/noise.h"
#include "core/rng_inline.h"
#include "core/rounding.h"
#include "kernels/level.h"

void HR_LEVELED(hr__random_tile)(uint32_t *restrict bits, const struct hr_rng *rng, uint64_t block)
{
    const uint32_t first = rng->counter[0] + (uint32_t)block;
    const uint32_t d1 = rng->counter[1], d2 = rng->counter[2], d3 = rng->counter[3];
    const uint32_t key0 = rng->key[0], key1 = rng->key[1];

    for (uint32_t i = 0; i < HR_NOISE_BLOCKS; i++) {
        const uint32_t key[2] = {key0, key1}, counter[4] = {first + i, d1, d2, d3};
        uint32_t out[4];
        rng_philox(key, counter, out);
        bits[i] = out[0];
        bits[i + HR_NOISE_BLOCKS] = out[1];
        bits[i + 2 * HR_NOISE_BLOCKS] = out[2];
        bits[i + 3 * HR_NOISE_BLOCKS] = out[3];
    }
}

void HR_LEVELED(hr__normal_tile)(float *restrict noise, const uint32_t *restrict bits)
{
    for (int half = 0; half < 2; half++, noise += HR_NOISE_TILE / 2, bits += HR_NOISE_TILE / 2)
        for (int i = 0; i < HR_NOISE_BLOCKS; i++)
            noise_normal(bits[i], bits[i + HR_NOISE_BLOCKS], &noise[i],
                         &noise[i + HR_NOISE_BLOCKS]);
}

void HR_LEVELED(hr__add_noise_u8)(uint8_t *restrict dst, const uint8_t *restrict src,
                                  const float *restrict noise, size_t n, float mean, float stddev)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = round_byte(noise_added((float)src[i], noise[i], mean, stddev));
}
