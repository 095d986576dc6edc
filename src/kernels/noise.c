/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Tiles of random numbers. Loops have a constant length and no branches, so that they become
 * vectors. */
#include "kernels/noise.h"
#include "core/rng_inline.h"
#include "core/rounding.h"
#include "kernels/level.h"

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Blocks in lanes of 64 bits, of which the low half is used: the multiplication reads only that. */
#if defined(HR_LEVEL_v4)
#define LANES 8
typedef __m512i lanes;
#define MULTIPLY(a, b) _mm512_mul_epu32(a, b)
#define XOR(a, b) _mm512_xor_si512(a, b)
#define HIGH(a) _mm512_srli_epi64(a, 32)
#define EVERY(x) _mm512_set1_epi64(x)
#define COUNT_UP(x) _mm512_add_epi32(EVERY(x), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0))
#define STORE(to, a) _mm256_storeu_si256((__m256i *)(void *)(to), _mm512_cvtepi64_epi32(a))
#else
#define LANES 4
typedef __m256i lanes;
#define MULTIPLY(a, b) _mm256_mul_epu32(a, b)
#define XOR(a, b) _mm256_xor_si256(a, b)
#define HIGH(a) _mm256_srli_epi64(a, 32)
#define EVERY(x) _mm256_set1_epi64x(x)
#define COUNT_UP(x) _mm256_add_epi32(EVERY(x), _mm256_set_epi64x(3, 2, 1, 0))
#define STORE(to, a)                                                                               \
    _mm_storeu_si128((__m128i *)(void *)(to), _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(  \
                                                  a, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6))))
#endif

/* rng_philox of LANES consecutive blocks. */
static inline void blocks_at(uint32_t *bits, const struct hr_rng *rng, uint32_t first)
{
    lanes c0 = COUNT_UP((int64_t)first), c1 = EVERY((int64_t)rng->counter[1]);
    lanes c2 = EVERY((int64_t)rng->counter[2]), c3 = EVERY((int64_t)rng->counter[3]);
    uint32_t k0 = rng->key[0], k1 = rng->key[1];

    for (int round = 0; round < 10; round++) {
        lanes p0 = MULTIPLY(c0, EVERY(0xD2511F53)), p1 = MULTIPLY(c2, EVERY(0xCD9E8D57));
        c0 = XOR(XOR(HIGH(p1), c1), EVERY((int64_t)k0));
        c2 = XOR(XOR(HIGH(p0), c3), EVERY((int64_t)k1));
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    STORE(bits, c0);
    STORE(bits + HR_NOISE_BLOCKS, c1);
    STORE(bits + 2 * HR_NOISE_BLOCKS, c2);
    STORE(bits + 3 * HR_NOISE_BLOCKS, c3);
}

#else

#define LANES 1
static inline void blocks_at(uint32_t *bits, const struct hr_rng *rng, uint32_t first)
{
    const uint32_t counter[4] = {first, rng->counter[1], rng->counter[2], rng->counter[3]};
    uint32_t out[4];

    rng_philox(rng->key, counter, out);
    for (int lane = 0; lane < 4; lane++)
        bits[lane * HR_NOISE_BLOCKS] = out[lane];
}

#endif

void HR_LEVELED(hr__random_tile)(uint32_t *bits, const struct hr_rng *rng, uint64_t block)
{
    const uint32_t first = rng->counter[0] + (uint32_t)block;

    for (uint32_t i = 0; i < HR_NOISE_BLOCKS; i += LANES)
        blocks_at(bits + i, rng, first + i);
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
