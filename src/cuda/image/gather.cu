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
    if (i >= 0)
        gather_tile<STORE>(share.programs + i, number, threadIdx.x, blockDim.x);
}

#define GATHER(store)                                                                              \
    {                                                                                              \
        run_gather<store>, HR_DEVICE_KIND_GATHER, store, -1                                        \
    }
const Work gathers[] = {HR_IMAGE_STORES(GATHER), {}};

} // namespace image
