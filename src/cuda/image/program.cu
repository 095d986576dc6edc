// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Image programs in batches: a launch for each kind of program that the batch has. A block works on
// a tile of one program; which one, it finds in a table that is an argument of the kernel.
#include "cuda/error.cuh"
#include "cuda/image/fixed.cuh"
#include "cuda/image/float.cuh"
#include "cuda/image/pixels.cuh"
#include "cuda/runtime.cuh"

namespace
{

enum { KINDS = HR_DEVICE_KIND_FLOAT + 1, PROGRAMS_MAX = 960 }; // of a launch: arguments have 4 KB

// Blocks first[i] .. first[i + 1] - 1 work on the program `base` + i.
struct Share {
    const hr_device_program *programs;
    int count;
    uint32_t first[PROGRAMS_MAX + 1];
};

__device__ const hr_device_program *find_program(const Share &share, int *tile)
{
    uint32_t block = blockIdx.x;
    // Mostly all have the same number of tiles.
    int low = (int)(block / share.first[1 < share.count ? 1 : share.count]), high = share.count;
    if (share.first[1] == 0 || low >= share.count || block < share.first[low] ||
        block >= share.first[low + 1]) {
        low = 0;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (share.first[middle] <= block)
                low = middle;
            else
                high = middle;
        }
    }
    *tile = (int)(block - share.first[low]);
    return share.programs + low;
}

extern __shared__ __align__(16) uint8_t shared[];

template <int C, int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, 5)
    run_fixed(const __grid_constant__ Share share)
{
    int number;
    const hr_device_program *p = find_program(share, &number);
    FixedTile<C, STORE> tile;
    tile.begin(p, number, shared);
    tile.make_taps(threadIdx.x, blockDim.x);
    __syncthreads();
    tile.filter_columns(threadIdx.x, blockDim.x);
    __syncthreads();
    tile.filter_pixels(threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_float(const __grid_constant__ Share share)
{
    int number;
    const hr_device_program *p = find_program(share, &number);
    FloatTile tile;
    tile.begin(p, number, shared, threadIdx.x);
    tile.make_taps(threadIdx.x, blockDim.x);
    __syncthreads();
    int end = tile.end_column();
    for (int first = 0; first < p->channels; first += HR_DEVICE_GROUP) {
        int n = HR_MIN(HR_DEVICE_GROUP, p->channels - first);
        tile.begin_group();
        for (int from = tile.first_column(); from < end; from += p->tiles.span) {
            int count = HR_MIN(p->tiles.span, end - from);
            tile.filter_columns(from, count, first, n, threadIdx.x, blockDim.x);
            __syncthreads();
            tile.add_columns(from, count, n);
            __syncthreads();
        }
        tile.store(first, n);
    }
}

template <int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_pick(const __grid_constant__ Share share)
{
    int number;
    const hr_device_program *p = find_program(share, &number);
    pick_tile<STORE>(p, number, threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_fill(const __grid_constant__ Share share)
{
    int number;
    const hr_device_program *p = find_program(share, &number);
    fill_tile(p, number, threadIdx.x, blockDim.x);
}

// ---- launches ----

typedef void (*Kernel)(const Share);

// A kernel and the programs that it is for.
struct Work {
    Kernel kernel;
    int kind, store, channels; // -1: any
};

const Work works[] = {
    {run_fixed<1, 0>, HR_DEVICE_KIND_FIXED, 0, 1}, {run_fixed<1, 1>, HR_DEVICE_KIND_FIXED, 1, 1},
    {run_fixed<1, 2>, HR_DEVICE_KIND_FIXED, 2, 1}, {run_fixed<1, 3>, HR_DEVICE_KIND_FIXED, 3, 1},
    {run_fixed<2, 0>, HR_DEVICE_KIND_FIXED, 0, 2}, {run_fixed<2, 1>, HR_DEVICE_KIND_FIXED, 1, 2},
    {run_fixed<2, 2>, HR_DEVICE_KIND_FIXED, 2, 2}, {run_fixed<2, 3>, HR_DEVICE_KIND_FIXED, 3, 2},
    {run_fixed<3, 0>, HR_DEVICE_KIND_FIXED, 0, 3}, {run_fixed<3, 1>, HR_DEVICE_KIND_FIXED, 1, 3},
    {run_fixed<3, 2>, HR_DEVICE_KIND_FIXED, 2, 3}, {run_fixed<3, 3>, HR_DEVICE_KIND_FIXED, 3, 3},
    {run_fixed<4, 0>, HR_DEVICE_KIND_FIXED, 0, 4}, {run_fixed<4, 1>, HR_DEVICE_KIND_FIXED, 1, 4},
    {run_fixed<4, 2>, HR_DEVICE_KIND_FIXED, 2, 4}, {run_fixed<4, 3>, HR_DEVICE_KIND_FIXED, 3, 4},
    {run_float, HR_DEVICE_KIND_FLOAT, -1, -1},     {run_pick<0>, HR_DEVICE_KIND_PICK, 0, -1},
    {run_pick<1>, HR_DEVICE_KIND_PICK, 1, -1},     {run_pick<2>, HR_DEVICE_KIND_PICK, 2, -1},
    {run_pick<3>, HR_DEVICE_KIND_PICK, 3, -1},     {run_fill, HR_DEVICE_KIND_NONE, -1, -1},
};

// NONE stands for fill, which any program may have.
bool is_for(const Work *work, const hr_device_program *p)
{
    if (work->kind == HR_DEVICE_KIND_NONE)
        return p->fill_tiles > 0;
    return p->kind == work->kind && (work->store < 0 || p->store == work->store) &&
           (work->channels < 0 || p->channels == work->channels);
}

struct Launch {
    Share share;
    unsigned threads;
    size_t shared;
};

void add_program(Launch *launch, const Work *work, const hr_device_program *p, int i)
{
    uint32_t tiles = 0;
    if (is_for(work, p)) {
        tiles = (uint32_t)(work->kind == HR_DEVICE_KIND_NONE ? p->fill_tiles : p->tiles.count);
        unsigned wide = (unsigned)(p->tiles.width + 31) / 32 * 32;
        if (work->kind == HR_DEVICE_KIND_FIXED) {
            launch->threads = HR_MAX(launch->threads, HR_MAX(wide, 128u));
            launch->shared = HR_MAX(launch->shared, (size_t)p->tiles.shared);
        } else {
            launch->threads = HR_DEVICE_THREADS;
            if (work->kind == HR_DEVICE_KIND_FLOAT)
                launch->shared = HR_MAX(launch->shared, (size_t)p->tiles.shared);
        }
    }
    launch->share.first[i + 1] = launch->share.first[i] + tiles;
}

// As many of the programs as fit one launch, from `from` on; returns how many.
int fill_launch(Launch *launch, const Work *work, const hr_device_program *programs, int count)
{
    *launch = {};
    int n = 0;
    for (; n < count && n < PROGRAMS_MAX; n++) {
        add_program(launch, work, programs + n, n);
        if (launch->share.first[n + 1] > INT32_MAX) {
            launch->share.first[n + 1] = 0;
            break;
        }
    }
    launch->share.count = n;
    return n;
}

hr_status run_work(hr_cuda_launch *l, const Work *work, const hr_device_program *host,
                   const hr_device_program *device, int count, hr_error *error)
{
    for (int from = 0, n; from < count; from += n) {
        Launch launch;
        n = fill_launch(&launch, work, host + from, count - from);
        launch.share.programs = device + from;
        uint32_t blocks = launch.share.first[n];
        if (blocks == 0)
            continue;
        void *arguments[] = {&launch.share};
        HR_CUDA_TRY(cudaLaunchKernel((const void *)work->kernel, dim3(blocks), dim3(launch.threads),
                                     arguments, launch.shared, (cudaStream_t)l->stream));
    }
    return HR_STATUS_OK;
}

} // namespace

hr_status hr_cuda_program_run(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error)
{
    const hr_device_program *host = (const hr_device_program *)programs.host;
    for (const Work &work : works) {
        bool wanted = false;
        for (int32_t i = 0; i < count && !wanted; i++)
            wanted = is_for(&work, host + i);
        if (wanted)
            HR_TRY(
                run_work(l, &work, host, (const hr_device_program *)programs.device, count, error));
    }
    return HR_STATUS_OK;
}
