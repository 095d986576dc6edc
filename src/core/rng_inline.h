/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The generator of core/rng.h for the CPU and the GPU. */
#pragma once

#include "core/rng.h"
#include "core/shared.h"

HR_SHARED void rng_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Draws 4 * block .. 4 * block + 3 of a generator. */
HR_SHARED void rng_block(const hr_rng *rng, uint64_t block, uint32_t bits[4])
{
    const uint32_t *from = rng->counter;
    const uint32_t counter[4] = {from[0] + (uint32_t)block, from[1], from[2], from[3]};

    rng_philox(rng->key, counter, bits);
}

/* High 64 bits of a * b. */
HR_SHARED uint64_t rng_multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (uint32_t)mid;
    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

HR_SHARED int64_t rng_scale(uint64_t bits, int64_t n)
{
    return (int64_t)rng_multiply_high(bits, (uint64_t)n); /* biased by at most n / 2^64 */
}
