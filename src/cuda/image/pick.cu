// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// PICK, and fill.
#include "cuda/image/launch.cuh"
#include "cuda/image/pixels.cuh"

namespace image
{

template <int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, STORE == HR_DEVICE_STORE_POINTS ? 3 : 6)
    run_pick(const __grid_constant__ Share share)
{
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i >= 0)
        pick_tile<STORE>(share.programs + i, number, threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_fill(const __grid_constant__ Share share)
{
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i >= 0)
        fill_tile(share.programs + i, number, threadIdx.x, blockDim.x);
}

#define PICK(store)                                                                                \
    {                                                                                              \
        run_pick<store>, HR_DEVICE_KIND_PICK, store, -1                                            \
    }
const Work picks[] = {HR_IMAGE_STORES(PICK), {run_fill, HR_DEVICE_KIND_NONE, -1, -1}, {}};

} // namespace image
