// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// GATHER.
#include "cuda/image/gather.cuh"
#include "cuda/image/launch.cuh"

namespace image
{

template <int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, 4)
    run_gather(const __grid_constant__ Share share)
{
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i < 0)
        return;
    const hr_device_program *p = share.programs + i;
    if constexpr (STORE == HR_DEVICE_STORE_ANY) {
        gather_runs(p, number, threadIdx.x, blockDim.x);
    } else {
        __shared__ __align__(16) uint32_t points[has_points(STORE) ? POINTS_WORDS : 4];
        __shared__ GatherPositions positions;
        if constexpr (has_points(STORE))
            load_points(p, points, threadIdx.x, blockDim.x);
        gather_tile<STORE>(p, number, &positions, points, [](const auto &tile) {
            tile.find(threadIdx.x, blockDim.x);
            __syncthreads();
            tile.make(threadIdx.x, blockDim.x);
            if (tile.has_rows()) {
                __syncthreads();
                tile.store_rows(threadIdx.x, blockDim.x);
            }
        });
    }
}

#define GATHER(store)                                                                              \
    {                                                                                              \
        run_gather<store>, HR_DEVICE_KIND_GATHER, store, -1                                        \
    }
const Work gathers[] = {HR_IMAGE_STORES(GATHER), GATHER(HR_DEVICE_STORE_COLOR), {}};

} // namespace image
