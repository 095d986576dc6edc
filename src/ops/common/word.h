/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Words in arguments, such as names of algorithms, in upper or lower case. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool hr__same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 0x20) != (*b | 0x20))
            return false;
    return *a == *b;
}

/* The number of a word in a list of `count`; -1 if it is not there. */
static inline int32_t hr__find_word(const char *word, const char *const *list, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (hr__same_word(word, list[i]))
            return i;
    return -1;
}
