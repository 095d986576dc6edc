/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Counter-based random numbers. The key is the node's; the counter is (block of four draws, index
 * low, index high, epoch), so that no two samples share a block. */
#include "core/rng.h"

void hr_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
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
        return hr_mix((uint64_t)explicit_seed, UINT64_C(1) << 32); /* no node has that number */
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

/* High 64 bits of a * b. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (uint32_t)mid;
    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

int64_t hr_rng_scale(uint64_t bits, int64_t n)
{
    return (int64_t)multiply_high(bits, (uint64_t)n); /* unequal by at most n / 2^64 */
}

int64_t hr_rng_below(const hr_rng *rng, uint64_t k, int64_t n)
{
    return hr_rng_scale((uint64_t)hr_rng_u32(rng, k) << 32 | hr_rng_u32(rng, k + 1), n);
}

#define PERMUTE_ROUNDS 8

int64_t hr_permute(uint64_t key, int64_t n, int64_t i)
{
    /* The network permutes 2^(2 * half) >= n numbers, fewer than 4n: on average at most four walks.
     */
    unsigned half = 1;
    while (half < 32 && (UINT64_C(1) << 2 * half) < (uint64_t)n)
        half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    const uint64_t base = mix_one(key); /* keys that follow one another share no rounds */
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
