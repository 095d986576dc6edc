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
    __shared__ __align__(16) uint32_t points[has_points(STORE) ? POINTS_WORDS : 4];
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i < 0)
        return;
    if constexpr (has_points(STORE)) {
        load_points(share.programs + i, points, threadIdx.x, blockDim.x);
        __syncthreads();
    }
    gather_tile<STORE>(share.programs + i, number, points, threadIdx.x, blockDim.x);
}

#define GATHER(store)                                                                              \
    {                                                                                              \
        run_gather<store>, HR_DEVICE_KIND_GATHER, store, -1                                        \
    }
const Work gathers[] = {HR_IMAGE_STORES(GATHER), GATHER(HR_DEVICE_STORE_COLOR), {}};

} // namespace image
