/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random numbers that are the same in every run. */
#pragma once

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static inline uint32_t rnd(void)
{
    return (uint32_t)(random_bits() >> 16);
}

static inline int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(rnd() % (uint32_t)(high - low + 1));
}
