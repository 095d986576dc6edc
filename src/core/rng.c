/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Counter-based random numbers. The key is the node's. The counter is (group of four draws, low and
 * high half of the index, epoch), so no two samples share random numbers. */
#include "core/rng_inline.h"

void hr_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    rng_philox(key, counter, out);
}

/* A bijection of 64 bits that spreads every bit: multiply, shift, xor, with odd constants. */
static uint64_t mix_one(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x;
}

uint64_t hr_mix(uint64_t a, uint64_t b)
{
    return mix_one(mix_one(a + 0x9E3779B97F4A7C15u) ^ (b + 0xBB67AE8584CAA73Bu));
}

uint64_t hr_rng_node_seed(int64_t pipeline_seed, int32_t node, int64_t explicit_seed)
{
    if (explicit_seed >= 0)
        return hr_mix((uint64_t)explicit_seed, UINT64_C(1) << 32); /* no node has this number */
    return hr_mix((uint64_t)pipeline_seed, (uint32_t)node);
}

hr_rng hr_rng_make(uint64_t node_seed, int64_t index, uint32_t epoch, uint32_t repeat)
{
    uint64_t key = repeat ? hr_mix(node_seed, repeat) : node_seed;
    uint64_t i = (uint64_t)index;
    return (hr_rng){
        .key = {(uint32_t)key, (uint32_t)(key >> 32)},
        .counter = {0, (uint32_t)i, (uint32_t)(i >> 32), epoch},
    };
}

uint32_t hr_rng_u32(const hr_rng *rng, uint64_t k)
{
    uint32_t counter[4] = {rng->counter[0] + (uint32_t)(k / 4), rng->counter[1], rng->counter[2],
                           rng->counter[3]};
    uint32_t out[4];
    hr_philox(rng->key, counter, out);
    return out[k % 4];
}

double hr_rng_unit(const hr_rng *rng, uint64_t k)
{
    return hr_rng_u32(rng, k) * 0x1p-32;
}

int64_t hr_rng_scale(uint64_t bits, int64_t n)
{
    return rng_scale(bits, n);
}

int64_t hr_rng_below(const hr_rng *rng, uint64_t k, int64_t n)
{
    uint32_t bits[8];
    rng_block(rng, k / 4, bits);
    if (k % 4 == 3)
        rng_block(rng, k / 4 + 1, bits + 4);
    return rng_scale((uint64_t)bits[k % 4] << 32 | bits[k % 4 + 1], n);
}

#define PERMUTE_ROUNDS 8

int64_t hr_permute(uint64_t key, int64_t n, int64_t i)
{
    /* The network permutes 2^(2 * half) >= n numbers, fewer than 4n: at most four rounds on
     * average. */
    unsigned half = 1;
    while (half < 32 && (UINT64_C(1) << 2 * half) < (uint64_t)n)
        half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    const uint64_t base = mix_one(key); /* so that consecutive keys share no rounds */
    uint64_t x = (uint64_t)i;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < PERMUTE_ROUNDS; round++) {
            uint64_t next = left ^ (hr_mix(base + round, right) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}
