/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* equalize: shared by the CPU and the GPU. */
#pragma once

#include "core/shared.h"
#include "headrace/operator.h"

#define HR_EQUALIZE_LEVELS 256

/* The images and channels of the input: `outer` blocks of `pixels` x `channels`. */
typedef struct hr_equalize {
    size_t outer, pixels, channels;
} hr_equalize;

/* The smallest value that occurs. */
HR_SHARED int32_t equalize_first(const uint32_t *count)
{
    int32_t first = 0;
    while (first < HR_EQUALIZE_LEVELS - 1 && count[first] == 0)
        first++;
    return first;
}

/* What a value becomes. `sum`: how many pixels have a value from first + 1 to this one. */
HR_SHARED uint8_t equalize_value(int32_t first, uint32_t first_count, uint32_t pixels, uint32_t sum)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: no fractions are left next to it */
    if (first_count == pixels)
        return (uint8_t)first; /* one value only: it stays */
    float v = (float)sum * (255.0f / (float)(pixels - first_count));
    float rounded = (v < 255.0f ? v : 255.0f) + magic; /* ties to even */
    return (uint8_t)(rounded - magic);
}
