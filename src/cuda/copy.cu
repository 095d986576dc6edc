// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Many pieces copied in one launch: a block works on one piece at a time.
#include "cuda/error.cuh"
#include "cuda/runtime.cuh"

namespace
{

constexpr int THREADS = 256;

template <typename T> __device__ void copy_as(char *dst, const char *src, size_t size)
{
    size_t n = size / sizeof(T);
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n;
         i += (size_t)gridDim.x * THREADS)
        ((T *)dst)[i] = ((const T *)src)[i];
    if (blockIdx.x == 0)
        for (size_t i = n * sizeof(T) + threadIdx.x; i < size; i += THREADS)
            dst[i] = src[i];
}

__global__ void __launch_bounds__(THREADS) copy_pieces(const hr_cuda_copy *pieces, int count)
{
    for (int i = blockIdx.y; i < count; i += gridDim.y) {
        hr_cuda_copy piece = pieces[i];
        char *dst = (char *)piece.dst;
        const char *src = (const char *)piece.src;
        uintptr_t both = (uintptr_t)dst | (uintptr_t)src;
        if (both % 16 == 0)
            copy_as<uint4>(dst, src, piece.size);
        else if (both % 4 == 0)
            copy_as<uint32_t>(dst, src, piece.size);
        else
            copy_as<char>(dst, src, piece.size);
    }
}

} // namespace

hr_status hr_cuda_copy_all(hr_cuda_launch *l, hr_staged copies, int32_t count, hr_error *error)
{
    size_t most = 0;
    for (int32_t i = 0; i < count; i++) {
        size_t size = ((const hr_cuda_copy *)copies.host)[i].size;
        most = size > most ? size : most;
    }
    if (most == 0)
        return HR_STATUS_OK;
    size_t wide = (most / 16 + THREADS * 8 - 1) / (THREADS * 8);
    dim3 grid((unsigned)(wide < 1    ? 1
                         : wide > 64 ? 64
                                     : wide),
              (unsigned)(count < 65535 ? count : 65535));
    copy_pieces<<<grid, THREADS, 0, (cudaStream_t)l->stream>>>((const hr_cuda_copy *)copies.device,
                                                               count);
    HR_CUDA_TRY(cudaGetLastError());
    return HR_STATUS_OK;
}
