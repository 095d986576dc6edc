// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Launches of the decoders' kernels. The tests' emulator replaces HR_CUDA_LAUNCH.
#pragma once

#include "cuda/tiles.cuh"

#ifndef HR_CUDA_LAUNCH
#define HR_CUDA_LAUNCH(kernel, grid, block, stream, ...)                                           \
    kernel<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__)
#endif

namespace tiles
{

// Launches a kernel over the tiles of `count` records, whose copies for the host and for the device
// these are, in one row of blocks. `tiles_of(record)`: the tiles of one, less than 2^31. `more`: the
// kernel's further arguments.
template <typename Record, typename TilesOf, typename... More>
cudaError_t launch(void (*kernel)(const Record *, const Share, More...), const Record *host,
                   const Record *device, int count, unsigned threads, cudaStream_t stream,
                   TilesOf tiles_of, More... more)
{
    for (int from = 0, n; from < count; from += n) {
        Share share;
        const Record *records = device + from;
        n = fill(&share, count - from, [=](int i) { return tiles_of(&host[from + i]); });
        uint32_t all = share.first[share.count];
        if (all > 0)
            HR_CUDA_LAUNCH(kernel, all, threads, stream, records, share, more...);
    }
    return cudaGetLastError();
}

} // namespace tiles
