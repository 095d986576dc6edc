// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The kernels of FIXED for one number of channels, which take a compiler's minute each.
#include "cuda/image/fixed.cuh"
#include "cuda/image/launch.cuh"

namespace image
{

extern __shared__ __align__(16) uint8_t shared[];

// Five blocks per multiprocessor: as many as shared memory allows. Points need more registers.
template <int C, int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, has_points(STORE) ? 4 : 5)
    run_fixed(const __grid_constant__ Share share)
{
    __shared__ __align__(16) uint32_t points[has_points(STORE) ? POINTS_WORDS : 4];
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i < 0)
        return;
    FixedTile<C, STORE> tile;
    tile.begin(share.programs + i, taps_of(share, i), number, shared, points);
    tile.load_taps(threadIdx.x, blockDim.x);
    __syncthreads();
    tile.filter_columns(threadIdx.x, blockDim.x);
    __syncthreads();
    tile.filter_pixels(threadIdx.x, blockDim.x);
}

#define HR_IMAGE_FIXED(channels, store)                                                            \
    {                                                                                              \
        run_fixed<channels, store>, HR_DEVICE_KIND_FIXED, store, channels                          \
    }

} // namespace image
