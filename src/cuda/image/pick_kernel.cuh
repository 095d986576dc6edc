// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The kernels of PICK for one way of storing.
#include "cuda/image/launch.cuh"
#include "cuda/image/pixels.cuh"

namespace image
{

// Four blocks per multiprocessor hide the latency of memory.
template <int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, STORE == HR_DEVICE_STORE_ANY ? 3 : 4)
    run_pick(const __grid_constant__ Share share)
{
    __shared__ __align__(16) uint32_t points[has_points(STORE) ? POINTS_WORDS : 4];
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i < 0)
        return;
    const hr_device_program *p = share.programs + i;
    pick_tile<STORE>(p, number, points, threadIdx.x, blockDim.x, [&] {
        if constexpr (has_points(STORE)) {
            load_points(p, points, threadIdx.x, blockDim.x);
            __syncthreads();
        }
    });
}

#define HR_IMAGE_PICK(store)                                                                       \
    {                                                                                              \
        run_pick<store>, HR_DEVICE_KIND_PICK, store, -1                                            \
    }

} // namespace image
