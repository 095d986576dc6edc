// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Searches in ascending lists.
#pragma once

#include <cuda_runtime.h>

#include <stdint.h>

// The last i from `low` up to `high`, exclusive, with at(i) <= value; `low` if there is none.
template <typename Index, typename At>
static __host__ __device__ __forceinline__ Index hr_last_at_most(Index low, Index high,
                                                                 uint32_t value, At at)
{
    while (high - low > 1) {
        Index middle = (low + high) / 2;
        if (at(middle) <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}
