// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Shared by the kernels of this folder. The steps of a batch: the coefficients of all code-blocks
// (tier 1), their scaling, the wavelet level by level, pixels.
#pragma once

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

// Memory of images that are decoded together: as much for each as the largest one needs.
struct Memory {
    const Image *first; // on the device
    char *base;
    size_t slot;

    __device__ char *of(const Image *image) const
    {
        return base + (size_t)(image - first) * slot;
    }

    // Coefficients and samples: floats with the 9/7 wavelet.
    template <typename T> __device__ T *plane(const Image *image) const
    {
        return (T *)of(image);
    }

    // Samples whose rows are joined, but not their columns.
    template <typename T> __device__ T *spare(const Image *image) const
    {
        return (T *)(of(image) + hr_jpeg2000_device_plane(image));
    }

    __device__ uint16_t *flags(const Image *image) const
    {
        return (uint16_t *)(of(image) + 2 * hr_jpeg2000_device_plane(image));
    }
};

// The images of a launch.
struct Batch {
    const Image *host, *device;
    int count;
    cudaStream_t stream;
    Memory memory;
};

cudaError_t decode_blocks(const Batch &b);
cudaError_t scale_blocks(const Batch &b);
cudaError_t join_bands(const Batch &b);
cudaError_t write_pixels(const Batch &b);

} // namespace jpeg2000
