/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A keyed hash that tells the contents of files apart at the speed of memory. Whoever does not know
 * the key can make two contents of the same hash only by luck: below 2^-60 a pair. */
#ifndef HR_KERNELS_HASH_H
#define HR_KERNELS_HASH_H

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

#endif
