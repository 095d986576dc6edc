// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Launches of the decoders' kernels. The tests' emulator replaces HR_CUDA_LAUNCH.
#ifndef HR_CUDA_LAUNCH_CUH
#define HR_CUDA_LAUNCH_CUH

#include "cuda/tiles.cuh"

#ifndef HR_CUDA_LAUNCH
#define HR_CUDA_LAUNCH(kernel, grid, block, stream, ...)                                           \
    kernel<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__)
#endif

namespace tiles
{

// Launches a kernel over the tiles of all records, in one row of blocks.
template <typename Record>
cudaError_t launch(void (*kernel)(const Record *, const Share), const Record *records,
                   const Share &share, unsigned threads, cudaStream_t stream)
{
    uint32_t all = share.first[share.count];
    if (all > 0)
        HR_CUDA_LAUNCH(kernel, all, threads, stream, records, share);
    return cudaGetLastError();
}

} // namespace tiles

#endif
