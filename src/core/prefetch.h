/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Asks for memory before it is needed. */
#pragma once

#include <stddef.h>

/* Fetches `size` bytes into the cache. */
static inline void hr_prefetch(const void *from, size_t size)
{
    const size_t line = 64;

    for (size_t i = 0; i < size; i += line)
        __builtin_prefetch((const char *)from + i);
}
