// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// FLOAT, and the taps of all filters.
#include "cuda/image/float.cuh"
#include "cuda/image/launch.cuh"

namespace image
{

extern __shared__ __align__(16) uint8_t shared[];

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_taps(const __grid_constant__ Share share)
{
    int number, i = tiles::find(share.tiles, &number);
    if (i < 0)
        return;
    int64_t output = (int64_t)number * HR_DEVICE_THREADS + threadIdx.x;
    make_taps(share.programs + i, taps_of(share, i), output);
}

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_float(const __grid_constant__ Share share)
{
    int number;
    int i = tiles::find(share.tiles, &number);
    if (i < 0)
        return;
    const hr_device_program *p = share.programs + i;
    FloatTile tile;
    tile.begin(p, taps_of(share, i), number, shared, threadIdx.x);
    while (tile.next_rows()) {
        for (int first = 0; first < p->channels; first += HR_DEVICE_GROUP) {
            int n = HR_MIN(HR_DEVICE_GROUP, p->channels - first);
            for (int filter = 0; filter < tile.filters(); filter++) {
                tile.begin_filter(filter);
                for (int from = tile.first_column; from < tile.end_column; from += p->tiles.span) {
                    int count = HR_MIN(p->tiles.span, tile.end_column - from);
                    tile.filter_columns(from, count, first, n, threadIdx.x, blockDim.x);
                    __syncthreads();
                    tile.add_columns(from, count, n);
                    __syncthreads();
                }
                tile.end_filter(filter);
            }
            tile.store(first, n);
        }
    }
}

const Work floats[] = {{run_float, HR_DEVICE_KIND_FLOAT, -1, -1}, {}};
const Kernel make_all_taps = run_taps;

} // namespace image
