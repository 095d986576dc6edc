// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Enough of CUDA to run kernels on the processor, so that they can be tested without a GPU and with
// sanitizers. The threads of a block take turns on one thread, from one __syncthreads to the next.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};

struct alignas(8) uint2 {
    uint32_t x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(16) int4 {
    int32_t x, y, z, w;
};

extern dim3 threadIdx, blockIdx, gridDim;

typedef void *cudaStream_t;
typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorCallRequiresNewerDriver = 36,
    cudaErrorNotSupported = 801
} cudaError_t;

static inline const char *cudaGetErrorString(cudaError_t)
{
    return "emulated";
}
static inline const char *cudaGetErrorName(cudaError_t)
{
    return "emulated";
}
static inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t size, cudaStream_t)
{
    memset(p, value, size);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int,
                                          cudaStream_t)
{
    memcpy(to, from, size);
    return cudaSuccess;
}
enum { cudaMemcpyHostToDevice };

using std::max;
using std::min;

static inline uint32_t __ldg(const uint32_t *p)
{
    return *p;
}
static inline uint2 __ldg(const uint2 *p)
{
    return *p;
}
static inline uint4 __ldg(const uint4 *p)
{
    return *p;
}
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t s)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++)
        r |= (uint32_t)(both >> (8 * (s >> (4 * i) & 7)) & 255) << (8 * i);
    return r;
}
static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline int __popc(uint32_t v)
{
    return __builtin_popcount(v);
}
void hr_emulate_elsewhere(); // other threads may run
static inline uint32_t atomicMin(uint32_t *p, uint32_t v)
{
    hr_emulate_elsewhere();
    uint32_t old = *p;
    *p = v < old ? v : old;
    hr_emulate_elsewhere();
    return old;
}
static inline uint32_t atomicAdd(uint32_t *p, uint32_t v)
{
    hr_emulate_elsewhere();
    uint32_t old = *p;
    *p += v;
    hr_emulate_elsewhere();
    return old;
}

static inline int __clz(int v)
{
    return v == 0 ? 32 : __builtin_clz((unsigned)v);
}
static inline int __float2int_rn(float v)
{
    return (int)lrintf(v);
}
static inline int __ffs(int v)
{
    return __builtin_ffs(v);
}

void __syncthreads();
int __syncthreads_count(int predicate);
void hr_emulate(dim3 grid, unsigned threads, const std::function<void()> &kernel);

// Functions of a warp, for kernels with one warp per block, of which all threads take part: a
// barrier of the block is one of the warp.
static inline void __syncwarp()
{
    __syncthreads();
}
template <typename T> T __shfl_sync(unsigned, T v, unsigned lane)
{
    static T values[32];
    values[threadIdx.x] = v;
    __syncthreads();
    T result = values[lane % 32];
    __syncthreads();
    return result;
}
template <typename T> T __shfl_up_sync(unsigned mask, T v, unsigned d)
{
    return __shfl_sync(mask, v, threadIdx.x >= d ? threadIdx.x - d : threadIdx.x);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    static unsigned all;
    (void)mask;
    all = threadIdx.x == 0 ? 0 : all;
    __syncthreads();
    all |= predicate ? 1u << threadIdx.x : 0;
    __syncthreads();
    unsigned result = all;
    __syncthreads();
    return result;
}

#define HR_CUDA_LAUNCH(kernel, grid, block, stream, ...)                                           \
    ((void)(stream), hr_emulate((grid), (block), [=] { kernel(__VA_ARGS__); }))
