/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/sha1.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 80, WORDS = 5 };

static uint32_t rotated(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static void add_block(uint32_t h[WORDS], const uint8_t *bytes)
{
    static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[ROUNDS], v[WORDS];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
               (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
    for (int i = 16; i < ROUNDS; i++)
        w[i] = rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(v, h, sizeof(v));
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t b = v[1], c = v[2], d = v[3];
        uint32_t mixed = i < 20              ? (b & c) | (~b & d)
                         : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
                                             : b ^ c ^ d;
        uint32_t first = rotated(v[0], 5) + mixed + v[4] + constants[i / 20] + w[i];
        v[4] = d;
        v[3] = c;
        v[2] = rotated(b, 30);
        v[1] = v[0];
        v[0] = first;
    }
    for (int i = 0; i < WORDS; i++)
        h[i] += v[i];
}

void hr_sha1_hex(const void *data, size_t size, char hex[2 * HR_SHA1_SIZE + 1])
{
    uint32_t h[WORDS] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const uint8_t *bytes = data;
    uint8_t last[2 * BLOCK] = {0};
    size_t whole = size / BLOCK * BLOCK, rest = size - whole;
    size_t padded = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    for (size_t i = 0; i < whole; i += BLOCK)
        add_block(h, bytes + i);
    if (rest > 0)
        memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[padded - 1 - i] = (uint8_t)((uint64_t)size * 8 >> (8 * i));
    for (size_t i = 0; i < padded; i += BLOCK)
        add_block(h, last + i);
    for (int i = 0; i < WORDS; i++)
        sprintf(hex + (size_t)(8 * i), "%08x", h[i]);
}
