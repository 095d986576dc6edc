/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* SHA-256 (FIPS 180-4), and HMAC with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HR_SHA256_SIZE = 32, HR_SHA256_BLOCK = 64, HR_SHA256_TEXT = 2 * HR_SHA256_SIZE + 1 };

typedef struct hr_sha256 {
    uint32_t h[HR_SHA256_SIZE / 4];
    uint8_t block[HR_SHA256_BLOCK];
    size_t used;    /* bytes in `block` */
    uint64_t total; /* bytes so far */
} hr_sha256;

void hr_sha256_init(hr_sha256 *s);
void hr_sha256_add(hr_sha256 *s, const void *data, size_t size);
void hr_sha256_end(hr_sha256 *s, uint8_t out[HR_SHA256_SIZE]);
void hr_sha256_hex(const uint8_t bytes[HR_SHA256_SIZE], char hex[HR_SHA256_TEXT]);

void hr_sha256_of(const void *data, size_t size, uint8_t out[HR_SHA256_SIZE]);
void hr_sha256_text(const void *data, size_t size, char out[HR_SHA256_TEXT]); /* in hexadecimal */
void hr_hmac_sha256(const void *key, size_t key_size, const void *data, size_t size,
                    uint8_t out[HR_SHA256_SIZE]);
