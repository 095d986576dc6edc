/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A keyed hash that distinguishes the contents of files at the speed of memory. Without the key,
 * two contents collide only by chance, with a probability below 2^-60 per pair. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    HR_HASH_STRIPE = 64,
    HR_HASH_BLOCK = 4096,
    /* random words, the last two below 2^61 - 1 */
    HR_HASH_WORDS = (HR_HASH_BLOCK + HR_HASH_STRIPE) / 8 + 2
};

typedef struct hr_hash_key {
    uint64_t word[HR_HASH_WORDS];
} hr_hash_key;

typedef struct hr_hash {
    uint64_t word[2]; /* both below 2^61 - 1 */
} hr_hash;
