/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Asks for memory before it is needed. */
#ifndef HR_CORE_PREFETCH_H
#define HR_CORE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

/* Fetches the `size` bytes behind the first `offset` at `from` into the cache. Nobody needs to own
 * them. */
static inline void hr_prefetch(const void *from, size_t offset, size_t size)
{
    const uintptr_t at = (uintptr_t)from + offset, line = 64;

    for (uintptr_t i = 0; i < size; i += line)
        __builtin_prefetch((const void *)(at + i));
}

#endif
