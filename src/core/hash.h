/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* FNV-1a, for keys of tables that nobody attacks. For others: kernels/hash.h (keyed), sha256.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HR_FNV1A UINT64_C(0xcbf29ce484222325) /* the hash of nothing */

static inline uint64_t hr_fnv1a(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
    return hash;
}
