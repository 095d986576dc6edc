/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The keyed hash: every level against the definition written out plainly, and that contents are
 * told apart by every bit of them, by their size and by the key. */
#include "test.h"

#include "kernels/kernels.h"

#include <stdbool.h>
#include <stdlib.h>

enum { LARGEST = 3 * HR_HASH_BLOCK + 100 };
#define PRIME (((uint64_t)1 << 61) - 1)

static uint64_t state = 88172645463325252u;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1Du;
}

static hr_hash_key key;
static uint8_t data[LARGEST + 64];

static void fill(void)
{
    for (size_t i = 0; i < HR_HASH_WORDS; i++)
        key.word[i] = rnd();
    key.word[HR_HASH_WORDS - 2] %= PRIME;
    key.word[HR_HASH_WORDS - 1] %= PRIME;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)rnd();
}

static bool same(hr_hash a, hr_hash b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

/* ---- the definition ---- */

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t sum = 0; /* by doubling, so that nothing overflows */
    for (; b > 0; b >>= 1) {
        if (b & 1)
            sum = (sum + a) % PRIME;
        a = (a + a) % PRIME;
    }
    return sum;
}

static uint64_t plain(const uint8_t *p, size_t size, int pass)
{
    uint64_t r = key.word[HR_HASH_WORDS - 2 + pass], h = 1;
    h = (times(h, r) + (size >> 32)) % PRIME;
    h = (times(h, r) + (size & UINT32_MAX)) % PRIME;
    for (size_t block = 0; block <= size / HR_HASH_BLOCK; block++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < HR_HASH_BLOCK; i += 8) {
            uint32_t w[2] = {0, 0};
            uint64_t k = key.word[i / 8 + (pass ? HR_HASH_STRIPE / 8 : 0)];
            size_t at = block * HR_HASH_BLOCK + i;
            if (at / HR_HASH_STRIPE * HR_HASH_STRIPE >= size)
                break; /* the last stripe is filled with zeros, but none is added */
            for (size_t b = 0; b < 8; b++)
                if (at + b < size)
                    w[b / 4] |= (uint32_t)p[at + b] << 8 * (b % 4);
            sum += (uint64_t)(w[0] + (uint32_t)k) * (uint32_t)(w[1] + (uint32_t)(k >> 32));
        }
        h = (times(h, r) + (sum >> 32)) % PRIME;
        h = (times(h, r) + (sum & UINT32_MAX)) % PRIME;
    }
    return h;
}

static const hr_cpu_level wanted[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};

TEST(levels_follow_the_definition)
{
    static const size_t sizes[] = {0,    1,    7,    8,    63,   64,   65,   4095,
                                   4096, 4097, 4160, 8191, 8192, 8200, 12345};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        fill();
        const uint8_t *p = data + rnd() % 60;
        hr_hash want = {{plain(p, sizes[s], 0), plain(p, sizes[s], 1)}};
        for (int i = 0; i < 3; i++)
            CHECK(same(hr_kernels_get(wanted[i])->hash(&key, p, sizes[s]), want));
    }
}

/* The copy is exact, writes nothing else, and has the hash of the data. */
TEST(copies_on_the_way)
{
    static const size_t sizes[] = {0, 1, 63, 64, 100, 4095, 4096, 4160, 8192, 8200, 12345};
    static _Alignas(HR_HASH_STRIPE) uint8_t to[LARGEST + 64];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        fill();
        const uint8_t *p = data + rnd() % 60;
        for (int i = 0; i < 3; i++) {
            const hr_kernels *k = hr_kernels_get(wanted[i]);
            memset(to, 0xA5, sizeof to);
            CHECK(same(k->hash_copy(&key, p, sizes[s], to), k->hash(&key, p, sizes[s])));
            CHECK(memcmp(to, p, sizes[s]) == 0);
            for (size_t b = sizes[s]; b < sizes[s] + 64; b++)
                CHECK(to[b] == 0xA5);
        }
    }
}

TEST(every_bit_counts)
{
    const hr_kernels *k = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    size_t size = HR_HASH_BLOCK + 77;
    fill();
    hr_hash h = k->hash(&key, data, size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        hr_hash other = k->hash(&key, data, size);
        CHECK(other.word[0] != h.word[0] && other.word[1] != h.word[1]);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

TEST(order_size_and_key_count)
{
    const hr_kernels *k = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    fill();
    memset(data, 0, sizeof data);
    hr_hash h = k->hash(&key, data, 200);
    CHECK(!same(h, k->hash(&key, data, 201)));
    CHECK(!same(h, k->hash(&key, data, 200 + HR_HASH_BLOCK)));
    data[0] = 1;
    hr_hash first = k->hash(&key, data, 200);
    data[0] = 0;
    data[8] = 1;
    CHECK(!same(first, k->hash(&key, data, 200)));
    data[8] = 0;
    data[64] = 1;
    CHECK(!same(first, k->hash(&key, data, 200)));
    data[64] = 0;
    key.word[3]++;
    CHECK(!same(h, k->hash(&key, data, 200)));
}

TEST_MAIN
