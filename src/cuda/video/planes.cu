// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Kernels that write pixels of videos.
#include "cuda/video/planes.cuh"

namespace
{

constexpr int32_t COLUMNS = 64, ROWS = 4; // of a thread block

__global__ void picture_kernel(video::Picture picture)
{
    int32_t x = (int32_t)(blockIdx.x * COLUMNS + threadIdx.x);
    int32_t y = (int32_t)(blockIdx.y * ROWS + threadIdx.y);
    if (x < picture.width && y < picture.height)
        video::put_pixel(picture, y, x);
}

__global__ void fill_kernel(uint8_t *dst, size_t bytes, uchar3 color)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bytes)
        dst[i] = i % 3 == 0 ? color.x : i % 3 == 1 ? color.y : color.z;
}

uint32_t divide_up(size_t a, size_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

} // namespace

cudaError_t video::put_picture(const Picture &picture, cudaStream_t stream)
{
    dim3 blocks(divide_up((size_t)picture.width, COLUMNS), divide_up((size_t)picture.height, ROWS));
    picture_kernel<<<blocks, dim3(COLUMNS, ROWS), 0, stream>>>(picture);
    return cudaGetLastError();
}

cudaError_t video::fill(uint8_t *dst, size_t pixels, const uint8_t color[3], cudaStream_t stream)
{
    const size_t bytes = 3 * pixels, threads = 256;
    if (bytes > 0)
        fill_kernel<<<divide_up(bytes, threads), threads, 0, stream>>>(
            dst, bytes, make_uchar3(color[0], color[1], color[2]));
    return cudaGetLastError();
}
