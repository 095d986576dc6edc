/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The construction of UMAC (RFC 4418). Blocks are compressed by NH: the sum of products of
 * neighbouring words, each added to a word of the key. Two contents collide with probability 2^-32;
 * doing this twice with shifted keys gives 2^-64. The sums of the blocks are the coefficients of a
 * polynomial modulo 2^61 - 1. Words are little endian on every machine. */
#include "kernels/hash.h"

#include "kernels/level.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef struct sums {
    uint64_t v[2];
} sums;

#if defined(HR_LEVEL_v4)

typedef __m512i vec;
#define VEC_LOAD(p) _mm512_loadu_si512((const void *)(p))
#define VEC_STREAM(p, v) _mm512_stream_si512((void *)(p), v)
#define VEC_ZERO() _mm512_setzero_si512()
#define VEC_ADD32 _mm512_add_epi32
#define VEC_ADD64 _mm512_add_epi64
#define VEC_MUL(x) _mm512_mul_epu32(x, _mm512_srli_epi64(x, 32))

#elif defined(HR_LEVEL_v3)

typedef __m256i vec;
#define VEC_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VEC_STREAM(p, v) _mm256_stream_si256((void *)(p), v)
#define VEC_ZERO() _mm256_setzero_si256()
#define VEC_ADD32 _mm256_add_epi32
#define VEC_ADD64 _mm256_add_epi64
#define VEC_MUL(x) _mm256_mul_epu32(x, _mm256_srli_epi64(x, 32))

#elif defined(__SSE2__)

typedef __m128i vec;
#define VEC_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define VEC_STREAM(p, v) _mm_stream_si128((void *)(p), v)
#define VEC_ZERO() _mm_setzero_si128()
#define VEC_ADD32 _mm_add_epi32
#define VEC_ADD64 _mm_add_epi64
#define VEC_MUL(x) _mm_mul_epu32(x, _mm_srli_epi64(x, 32))

#endif

#ifdef VEC_LOAD

enum { LANES = sizeof(vec) / 8, PARTS = HR_HASH_STRIPE / (int)sizeof(vec) };

static inline uint64_t sum_lanes(const vec *v)
{
    uint64_t lane[PARTS * LANES], sum = 0;
    memcpy(lane, v, sizeof lane);
    for (int i = 0; i < PARTS * LANES; i++)
        sum += lane[i];
    return sum;
}

static inline sums compress(const uint8_t *p, size_t stripes, const uint64_t *key, uint8_t *to)
{
    vec a[PARTS], b[PARTS], k[PARTS];
    for (int i = 0; i < PARTS; i++) {
        a[i] = b[i] = VEC_ZERO();
        k[i] = VEC_LOAD(key + i * LANES);
    }
    for (size_t s = 0; s < stripes; s++, p += HR_HASH_STRIPE) {
        key += HR_HASH_STRIPE / 8;
        for (int i = 0; i < PARTS; i++) {
            vec d = VEC_LOAD(p + (size_t)i * sizeof(vec));
            if (to)
                VEC_STREAM(to + (size_t)i * sizeof(vec), d);
            vec x = VEC_ADD32(d, k[i]);
            k[i] = VEC_LOAD(key + i * LANES);
            vec y = VEC_ADD32(d, k[i]);
            a[i] = VEC_ADD64(a[i], VEC_MUL(x));
            b[i] = VEC_ADD64(b[i], VEC_MUL(y));
        }
        to = to ? to + HR_HASH_STRIPE : NULL;
    }
    return (sums){{sum_lanes(a), sum_lanes(b)}};
}

#else

static inline uint32_t get_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t product(const uint8_t *p, uint64_t key)
{
    uint32_t low = get_le32(p) + (uint32_t)key, high = get_le32(p + 4) + (uint32_t)(key >> 32);
    return (uint64_t)low * high;
}

static inline sums compress(const uint8_t *p, size_t stripes, const uint64_t *key, uint8_t *to)
{
    sums s = {{0, 0}};
    if (to)
        memcpy(to, p, stripes * HR_HASH_STRIPE);
    for (size_t i = 0; i < stripes * HR_HASH_STRIPE / 8; i++, p += 8) {
        s.v[0] += product(p, key[i]);
        s.v[1] += product(p, key[i + HR_HASH_STRIPE / 8]);
    }
    return s;
}

#endif

#define PRIME (((uint64_t)1 << 61) - 1)

/* h * r + v; h and r below the prime, v below 2^32. */
static inline uint64_t step(uint64_t h, uint64_t r, uint64_t v)
{
    __extension__ typedef unsigned __int128 wide;
    wide x = (wide)h * r + v;
    uint64_t low = ((uint64_t)x & PRIME) + (uint64_t)(x >> 61);
    return low >= PRIME ? low - PRIME : low;
}

static inline void add_words(hr_hash *h, const hr_hash_key *key, sums s)
{
    for (int i = 0; i < 2; i++) {
        uint64_t r = key->word[HR_HASH_WORDS - 2 + i];
        h->word[i] = step(h->word[i], r, s.v[i] >> 32);
        h->word[i] = step(h->word[i], r, s.v[i] & UINT32_MAX);
    }
}

/* `to`: NULL, or where the bytes are copied to, aligned to HR_HASH_STRIPE. */
static inline hr_hash hash(const hr_hash_key *key, const uint8_t *p, size_t size, uint8_t *to)
{
    hr_hash h = {{1, 1}};
    add_words(&h, key, (sums){{size, size}});
    for (const uint8_t *start = p; size >= HR_HASH_BLOCK;
         p += HR_HASH_BLOCK, size -= HR_HASH_BLOCK) {
        uint8_t *streamed = p > start ? to : NULL;
        if (to && p == start) /* it has the headers, which will be read from there */
            memcpy(to, p, HR_HASH_BLOCK);
        add_words(&h, key, compress(p, HR_HASH_BLOCK / HR_HASH_STRIPE, key->word, streamed));
        to = to ? to + HR_HASH_BLOCK : NULL;
    }
    size_t stripes = size / HR_HASH_STRIPE, rest = size % HR_HASH_STRIPE;
    sums s = compress(p, stripes, key->word, to);
    uint8_t last[HR_HASH_STRIPE] = {0};
    if (rest > 0) {
        memcpy(last, p + stripes * HR_HASH_STRIPE, rest);
        sums t = compress(last, 1, key->word + stripes * HR_HASH_STRIPE / 8, NULL);
        s.v[0] += t.v[0];
        s.v[1] += t.v[1];
        if (to)
            memcpy(to + stripes * HR_HASH_STRIPE, last, rest);
    }
    add_words(&h, key, s);
    return h;
}

hr_hash HR_LEVELED(hr__hash)(const hr_hash_key *key, const void *data, size_t size)
{
    return hash(key, data, size, NULL);
}

hr_hash HR_LEVELED(hr__hash_copy)(const hr_hash_key *key, const void *data, size_t size, void *to)
{
    hr_hash h = hash(key, data, size, to);
#ifdef __SSE2__
    _mm_sfence();
#endif
    return h;
}
