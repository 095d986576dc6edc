// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// What the kernels of image programs need of the compiler, for nvcc and for host compilers.
#pragma once

#include <stdint.h>

#if defined(__CUDACC__)
#define HR_MEMBER                                                                                  \
    __host__ __device__ __forceinline__ // for members of a class: compiled for both, as HR_SHARED
#else
#define HR_MEMBER inline

struct alignas(8) uint2 {
    uint32_t x, y;
};

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

static inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return {x, y};
}

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}
#endif

#if defined(__CUDA_ARCH__)
#define HR_UNROLL _Pragma("unroll")
#define HR_UNROLL_FOUR _Pragma("unroll 4")
#define HR_UNROLL_NOT _Pragma("unroll 1")
#else
#define HR_UNROLL
#define HR_UNROLL_FOUR
#define HR_UNROLL_NOT
#endif
