// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Shared by the kernels of this folder. The steps of a batch: the coefficients of all code-blocks
// (tier 1), their scaling, the wavelet level by level, pixels.
#ifndef HR_CUDA_JPEG2000_DECODE_CUH
#define HR_CUDA_JPEG2000_DECODE_CUH

#include "codecs/jpeg2000/device.h"
#include "cuda/launch.cuh"

namespace jpeg2000
{

typedef hr_jpeg2000_device_image Image;
typedef hr_jpeg2000_device_block Block;
typedef hr_jpeg2000_device_part Part;

// v / 2^shift, rounded up.
static __host__ __device__ __forceinline__ uint32_t up(uint32_t v, uint32_t shift)
{
    return (uint32_t)(((uint64_t)v + (1u << shift) - 1) >> shift);
}

static __host__ __device__ __forceinline__ uint32_t divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

cudaError_t decode_blocks(const Image *host, const Image *device, int count, cudaStream_t stream);
cudaError_t scale_blocks(const Image *host, const Image *device, int count, cudaStream_t stream);
cudaError_t join_bands(const Image *host, const Image *device, int count, cudaStream_t stream);
cudaError_t write_pixels(const Image *host, const Image *device, int count, cudaStream_t stream);

} // namespace jpeg2000

#endif
