/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "core/sha256.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = HR_SHA256_BLOCK, ROUNDS = 64, WORDS = HR_SHA256_SIZE / 4 };

static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void sha256_block(uint32_t h[WORDS], const uint8_t *bytes)
{
    uint32_t w[ROUNDS], v[WORDS];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
               (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[i - 7] +
               (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof(v));
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t one = v[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + constants[i] + w[i];
        uint32_t two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
                       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, (WORDS - 1) * sizeof(v[0]));
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < WORDS; i++)
        h[i] += v[i];
}

void hr_sha256_init(hr_sha256 *s)
{
    static const uint32_t start[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(s, 0, sizeof(*s));
    memcpy(s->h, start, sizeof(start));
}

void hr_sha256_add(hr_sha256 *s, const void *data, size_t size)
{
    const uint8_t *at = data;
    s->total += size;
    while (size > 0) {
        size_t n = BLOCK - s->used < size ? BLOCK - s->used : size;
        memcpy(s->block + s->used, at, n);
        s->used += n;
        at += n;
        size -= n;
        if (s->used == BLOCK) {
            sha256_block(s->h, s->block);
            s->used = 0;
        }
    }
}

void hr_sha256_end(hr_sha256 *s, uint8_t out[HR_SHA256_SIZE])
{
    uint64_t bits = s->total * 8;
    uint8_t one = 0x80, zero = 0, length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    hr_sha256_add(s, &one, 1);
    while (s->used != BLOCK - sizeof(length))
        hr_sha256_add(s, &zero, 1);
    hr_sha256_add(s, length, sizeof(length));
    for (int i = 0; i < HR_SHA256_SIZE; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - i % 4 * 8));
}

void hr_sha256_of(const void *data, size_t size, uint8_t out[HR_SHA256_SIZE])
{
    hr_sha256 s;
    hr_sha256_init(&s);
    hr_sha256_add(&s, data, size);
    hr_sha256_end(&s, out);
}

void hr_sha256_hex(const uint8_t bytes[HR_SHA256_SIZE], char hex[HR_SHA256_TEXT])
{
    for (int i = 0; i < HR_SHA256_SIZE; i++)
        sprintf(hex + (size_t)(2 * i), "%02x", bytes[i]);
}

void hr_sha256_text(const void *data, size_t size, char out[HR_SHA256_TEXT])
{
    uint8_t hash[HR_SHA256_SIZE];
    hr_sha256_of(data, size, hash);
    hr_sha256_hex(hash, out);
}

void hr_hmac_sha256(const void *key, size_t key_size, const void *data, size_t size,
                    uint8_t out[HR_SHA256_SIZE])
{
    uint8_t block[BLOCK] = {0}, inner[HR_SHA256_SIZE];
    hr_sha256 s;
    if (key_size > BLOCK)
        hr_sha256_of(key, key_size, block);
    else if (key_size > 0)
        memcpy(block, key, key_size);
    for (int i = 0; i < BLOCK; i++)
        block[i] ^= 0x36;
    hr_sha256_init(&s);
    hr_sha256_add(&s, block, BLOCK);
    hr_sha256_add(&s, data, size);
    hr_sha256_end(&s, inner);
    for (int i = 0; i < BLOCK; i++)
        block[i] ^= 0x36 ^ 0x5c;
    hr_sha256_init(&s);
    hr_sha256_add(&s, block, BLOCK);
    hr_sha256_add(&s, inner, sizeof(inner));
    hr_sha256_end(&s, out);
}
