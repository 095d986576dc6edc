/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random numbers: the vectors published with Random123, and the properties that the library relies
 * on. */
#include "core/rng.h"
#include "test.h"

#include <stdlib.h>

TEST(philox_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        hr_philox(cases[i].key, cases[i].counter, out);
        CHECK(memcmp(out, cases[i].want, sizeof out) == 0);
    }
}

TEST(draws_are_philox_blocks)
{
    hr_rng rng = hr_rng_make(0x299f31d0a4093822u, 0x13198a2e85a308d3, 0x03707344, 0);
    uint32_t counter[4] = {0, 0x85a308d3, 0x13198a2e, 0x03707344};
    const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    for (uint64_t k = 0; k < 40; k++) {
        uint32_t out[4];
        counter[0] = (uint32_t)(k / 4);
        hr_philox(key, counter, out);
        CHECK(hr_rng_u32(&rng, k) == out[k % 4]);
        CHECK(hr_rng_unit(&rng, k) == out[k % 4] / 4294967296.0);
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A difference in seed, node, index, epoch or repeat gives other numbers. */
TEST(samples_are_apart)
{
    enum { SIDE = 6, N = SIDE * SIDE * SIDE * SIDE * SIDE };
    static uint64_t draws[N];
    int n = 0;
    for (int64_t seed = 0; seed < SIDE; seed++)
        for (int32_t node = 0; node < SIDE; node++)
            for (int64_t index = 0; index < SIDE; index++)
                for (uint32_t rest = 0; rest < SIDE * SIDE; rest++) {
                    hr_rng rng = hr_rng_make(hr_rng_node_seed(seed, node, -1), index, rest / SIDE,
                                             rest % SIDE);
                    draws[n++] = (uint64_t)hr_rng_u32(&rng, 0) << 32 | hr_rng_u32(&rng, 1);
                }
    qsort(draws, N, sizeof *draws, compare_u64);
    for (int i = 1; i < N; i++)
        CHECK(draws[i] != draws[i - 1]);
}

TEST(explicit_seeds_replace_the_node)
{
    CHECK(hr_rng_node_seed(1, 2, 5) == hr_rng_node_seed(9, 7, 5));
    CHECK(hr_rng_node_seed(1, 2, 5) != hr_rng_node_seed(1, 2, 6));
    CHECK(hr_rng_node_seed(1, 2, -1) != hr_rng_node_seed(1, 3, -1));
    for (int node = 0; node < 100; node++)
        CHECK(hr_rng_node_seed(5, node, -1) != hr_rng_node_seed(0, 0, 5));
}

/* 99.99 % of a chi-square with 63 degrees of freedom. */
#define CHI_63 114.0

static double chi_square(const int *bins, int count, double expected)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (bins[i] - expected) * (bins[i] - expected) / expected;
    return sum;
}

TEST(units_are_uniform)
{
    int low[64] = {0}, first[64] = {0}, below[64] = {0};
    hr_rng rng = hr_rng_make(hr_rng_node_seed(12, 3, -1), 7, 0, 0);
    for (int i = 0; i < 64000; i++) {
        double u = hr_rng_unit(&rng, (uint64_t)i);
        CHECK(u >= 0 && u < 1);
        low[(int)(u * 64)]++;
        hr_rng other = hr_rng_make(hr_rng_node_seed(12, 3, -1), i, 0, 0);
        first[(int)(hr_rng_unit(&other, 0) * 64)]++;
        below[hr_rng_below(&other, 2, 64)]++;
    }
    CHECK(chi_square(low, 64, 1000) < CHI_63);
    CHECK(chi_square(first, 64, 1000) < CHI_63);
    CHECK(chi_square(below, 64, 1000) < CHI_63);
}

TEST(below_stays_below)
{
    static const int64_t sizes[] = {1, 2, 3, 1000, INT32_MAX, INT64_MAX / 3 * 2, INT64_MAX};
    hr_rng rng = hr_rng_make(1, 2, 3, 4);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t largest = 0;
        for (uint64_t k = 0; k < 200; k++) {
            int64_t v = hr_rng_below(&rng, k * 2, sizes[s]);
            CHECK(v >= 0 && v < sizes[s]);
            largest = v > largest ? v : largest;
        }
        CHECK(largest >= sizes[s] / 10 * 9 || sizes[s] == 1);
    }
}

TEST(permutation_of_small_sets)
{
    for (int n = 1; n <= 600; n++) {
        for (uint64_t key = 0; key < 3; key++) {
            char seen[600] = {0};
            for (int i = 0; i < n; i++) {
                int64_t p = hr_permute(key * 0x123456789abcdef1u, n, i);
                CHECK(p >= 0 && p < n && !seen[p]);
                seen[p] = 1;
            }
        }
    }
}

TEST(permutation_of_large_sets)
{
    static const int64_t sizes[] = {65536, 65537, 1281167};
    for (size_t s = 0; s < 3; s++) {
        int64_t n = s == 2 ? 200000 : sizes[s];
        uint64_t *seen = calloc((size_t)n, sizeof *seen);
        for (int64_t i = 0; i < n; i++)
            seen[i] = (uint64_t)hr_permute(99, sizes[s], i);
        qsort(seen, (size_t)n, sizeof *seen, compare_u64);
        bool distinct = seen[n - 1] < (uint64_t)sizes[s];
        for (int64_t i = 1; i < n; i++)
            distinct = distinct && seen[i] != seen[i - 1];
        free(seen);
        CHECK(distinct);
    }
    for (int64_t i = 0; i < 200; i++) {
        CHECK(hr_permute(5, INT64_MAX, INT64_MAX - 1 - i) >= 0);
        int64_t p = hr_permute(5, INT64_C(1) << 62, i);
        CHECK(p >= 0 && p < INT64_C(1) << 62);
    }
}

/* Over consecutive keys (epochs), an element is equally likely to be at every position, and
 * neighbours are separated. */
TEST(permutation_mixes)
{
    static int bins[64];
    for (uint64_t key = 0; key < 64000; key++)
        bins[hr_permute(key, 64, 5)]++;
    CHECK(chi_square(bins, 64, 1000) < CHI_63);
    int neighbours = 0, fixed = 0, same = 0;
    for (int64_t i = 0; i < 9999; i++) {
        int64_t a = hr_permute(7, 10000, i), b = hr_permute(7, 10000, i + 1);
        neighbours += a + 1 == b || b + 1 == a;
        fixed += a == i;
        same += a == hr_permute(8, 10000, i);
    }
    CHECK(neighbours < 15 && fixed < 10 && same < 10); /* about 2, 1 and 1 are expected */
    int orders[27] = {0};
    for (uint64_t key = 0; key < 60000; key++)
        orders[hr_permute(key, 3, 0) * 9 + hr_permute(key, 3, 1) * 3 + hr_permute(key, 3, 2)]++;
    for (int i = 0; i < 27; i++)
        CHECK(orders[i] == 0 || (orders[i] > 9500 && orders[i] < 10500));
}

TEST(mix_spreads_every_bit)
{
    int flips = 0;
    for (int bit = 0; bit < 64; bit++) {
        for (uint64_t x = 0; x < 100; x++) {
            uint64_t d = hr_mix(x, 1) ^ hr_mix(x ^ UINT64_C(1) << bit, 1);
            uint64_t e = hr_mix(1, x) ^ hr_mix(1, x ^ UINT64_C(1) << bit);
            flips += __builtin_popcountll(d) + __builtin_popcountll(e);
            CHECK(__builtin_popcountll(d) > 8 && __builtin_popcountll(e) > 8);
        }
    }
    CHECK(flips > 64 * 200 * 31 && flips < 64 * 200 * 33);
    CHECK(hr_mix(1, 2) != hr_mix(2, 1));
}

TEST_MAIN
