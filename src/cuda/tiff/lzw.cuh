// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Codes of TIFF's LZW. How many bits a code has follows from its number since the table was
// cleared, so the lanes of a warp read one code each.
#pragma once

#include <cuda_runtime.h>

#include <stdint.h>

namespace lzw
{

enum : uint32_t {
    CLEAR = 256,
    END,
    FIRST,
    STRINGS = 4096 - FIRST // that the table holds
};

static __device__ __forceinline__ uint32_t beyond(uint32_t number, uint32_t last)
{
    return number > last ? number - last : 0;
}

// Of the code with this number since the table was cleared: its first bit, counted from there ...
static __device__ __forceinline__ uint32_t place_of(uint32_t number)
{
    return 9 * number + beyond(number, 512 - FIRST) + beyond(number, 1024 - FIRST) +
           beyond(number, 2048 - FIRST);
}

// ... and its bits.
static __device__ __forceinline__ uint32_t width_of(uint32_t number)
{
    return 9 + (number >= 512 - FIRST) + (number >= 1024 - FIRST) + (number >= 2048 - FIRST);
}

// Bits of a block, most significant bit first.
struct Bits {
    const uint32_t *words;
    uint32_t count;

    // Bits at..at + width - 1; `outside` if the data ends before.
    __device__ uint32_t get(uint32_t at, uint32_t width, uint32_t outside) const
    {
        if (at > count || width > count - at)
            return outside;
        uint32_t high = __byte_perm(__ldg(words + at / 32), 0, 0x0123);
        uint32_t low = __byte_perm(__ldg(words + at / 32 + 1), 0, 0x0123);
        return __funnelshift_l(low, high, at % 32) >> (32 - width);
    }

    // The code with this number, of those since the bit `from`.
    __device__ uint32_t code(uint32_t from, uint32_t number) const
    {
        return get(from + place_of(number), width_of(number), END);
    }
};

} // namespace lzw
