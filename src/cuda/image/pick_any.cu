// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// PICK: any types; and fill.
#include "cuda/image/pick_kernel.cuh"

namespace image
{

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_fill(const __grid_constant__ Share share)
{
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i >= 0)
        fill_tile(share.programs + i, number, threadIdx.x, blockDim.x);
}

const Work pick_any[] = {
    HR_IMAGE_PICK(HR_DEVICE_STORE_ANY), {run_fill, HR_DEVICE_KIND_NONE, -1, -1}, {}};

} // namespace image
