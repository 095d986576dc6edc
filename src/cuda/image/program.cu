// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Runs a batch of image programs, with one launch per kind of program. A block works on one tile of
// one program; a table in the kernel's arguments maps blocks to programs.
#include "cuda/error.cuh"
#include "cuda/image/fixed.cuh"
#include "cuda/image/float.cuh"
#include "cuda/image/gather.cuh"
#include "cuda/image/pixels.cuh"
#include "cuda/runtime.cuh"

namespace
{

enum {
    PROGRAMS_MAX = 480, // per launch: kernel arguments are limited to 4 KB
    TAPS_UNIT = 4       // words: alignment of a program's taps
};

// Blocks first[i] .. first[i + 1] - 1 work on program i. Its taps, if any, are at
// taps + taps_at[i] * TAPS_UNIT.
struct Share {
    const hr_device_program *programs;
    uint32_t *taps;
    int count;
    uint32_t first[PROGRAMS_MAX + 1], taps_at[PROGRAMS_MAX];
};

// The program that a block works on, or -1, and the tile.
__device__ int find_program(const Share &share, int *tile)
{
    if (gridDim.y > 1) { // one row of blocks per program, as long as the largest program needs
        *tile = (int)blockIdx.x;
        uint32_t tiles = share.first[blockIdx.y + 1] - share.first[blockIdx.y];
        return blockIdx.x < tiles ? (int)blockIdx.y : -1;
    }
    int low = 0, high = share.count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (share.first[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle;
    }
    *tile = (int)(blockIdx.x - share.first[low]);
    return low;
}

__device__ uint32_t *taps_of(const Share &share, int i)
{
    return share.taps + (size_t)share.taps_at[i] * TAPS_UNIT;
}

extern __shared__ __align__(16) uint8_t shared[];

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_taps(const __grid_constant__ Share share)
{
    int number, i = find_program(share, &number);
    if (i < 0)
        return;
    int64_t output = (int64_t)number * HR_DEVICE_THREADS + threadIdx.x;
    make_taps(share.programs + i, taps_of(share, i), output);
}

// Five blocks per multiprocessor: as many as shared memory allows. Points need more registers.
template <int C, int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, STORE == HR_DEVICE_STORE_POINTS ? 3 : 5)
    run_fixed(const __grid_constant__ Share share)
{
    int number;
    int i = find_program(share, &number);
    if (i < 0)
        return;
    FixedTile<C, STORE> tile;
    tile.begin(share.programs + i, taps_of(share, i), number, shared);
    tile.load_taps(threadIdx.x, blockDim.x);
    __syncthreads();
    tile.filter_columns(threadIdx.x, blockDim.x);
    __syncthreads();
    tile.filter_pixels(threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_float(const __grid_constant__ Share share)
{
    int number;
    int i = find_program(share, &number);
    if (i < 0)
        return;
    const hr_device_program *p = share.programs + i;
    FloatTile tile;
    tile.begin(p, taps_of(share, i), number, shared, threadIdx.x);
    while (tile.next_rows()) {
        for (int first = 0; first < p->channels; first += HR_DEVICE_GROUP) {
            int n = HR_MIN(HR_DEVICE_GROUP, p->channels - first);
            tile.begin_group();
            for (int from = tile.first_column; from < tile.end_column; from += p->tiles.span) {
                int count = HR_MIN(p->tiles.span, tile.end_column - from);
                tile.filter_columns(from, count, first, n, threadIdx.x, blockDim.x);
                __syncthreads();
                tile.add_columns(from, count, n);
                __syncthreads();
            }
            tile.store(first, n);
        }
    }
}

template <int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, STORE == HR_DEVICE_STORE_POINTS ? 3 : 6)
    run_pick(const __grid_constant__ Share share)
{
    int number;
    int i = find_program(share, &number);
    if (i >= 0)
        pick_tile<STORE>(share.programs + i, number, threadIdx.x, blockDim.x);
}

template <int STORE>
__global__ void __launch_bounds__(HR_DEVICE_THREADS, 4)
    run_gather(const __grid_constant__ Share share)
{
    int number;
    int i = find_program(share, &number);
    if (i >= 0)
        gather_tile<STORE>(share.programs + i, number, threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(HR_DEVICE_THREADS) run_fill(const __grid_constant__ Share share)
{
    int number;
    int i = find_program(share, &number);
    if (i >= 0)
        fill_tile(share.programs + i, number, threadIdx.x, blockDim.x);
}

// ---- launches ----

typedef void (*Kernel)(const Share);

// A kernel and the programs that it runs; see is_for.
struct Work {
    Kernel kernel;
    int kind, store, channels; // -1: any
};

#define FIXED(channels, store)                                                                     \
    {                                                                                              \
        run_fixed<channels, store>, HR_DEVICE_KIND_FIXED, store, channels                          \
    }
#define STORES(of)                                                                                 \
    of(HR_DEVICE_STORE_U8), of(HR_DEVICE_STORE_F16), of(HR_DEVICE_STORE_F32),                      \
        of(HR_DEVICE_STORE_POINTS), of(HR_DEVICE_STORE_ANY)
#define FIXED_1(store) FIXED(1, store)
#define FIXED_2(store) FIXED(2, store)
#define FIXED_3(store) FIXED(3, store)
#define FIXED_4(store) FIXED(4, store)
#define PICK(store)                                                                                \
    {                                                                                              \
        run_pick<store>, HR_DEVICE_KIND_PICK, store, -1                                            \
    }
#define GATHER(store)                                                                              \
    {                                                                                              \
        run_gather<store>, HR_DEVICE_KIND_GATHER, store, -1                                        \
    }

const Work works[] = {
    STORES(FIXED_1),
    STORES(FIXED_2),
    STORES(FIXED_3),
    STORES(FIXED_4),
    STORES(PICK),
    STORES(GATHER),
    {run_float, HR_DEVICE_KIND_FLOAT, -1, -1},
    {run_fill, HR_DEVICE_KIND_NONE, -1, -1},
};

// KIND_NONE is the kernel for fill, which any program may have.
bool is_for(const Work *work, const hr_device_program *p)
{
    if (work->kind == HR_DEVICE_KIND_NONE)
        return p->fill_tiles > 0;
    return p->kind == work->kind && (work->store < 0 || p->store == work->store) &&
           (work->channels < 0 || p->channels == work->channels);
}

bool has_taps(const Work *work)
{
    return work->kind == HR_DEVICE_KIND_FIXED || work->kind == HR_DEVICE_KIND_FLOAT;
}

struct Launch {
    Share share;
    unsigned threads;
    size_t shared, taps; // bytes; units
};

uint32_t tiles_of(const Work *work, const hr_device_program *p)
{
    if (!is_for(work, p))
        return 0;
    return (uint32_t)(work->kind == HR_DEVICE_KIND_NONE ? p->fill_tiles : p->tiles.count);
}

// Extends the launch to the threads, shared memory and taps of this program.
void widen(Launch *launch, const Work *work, const hr_device_program *p, int i)
{
    unsigned wide = HR_DEVICE_THREADS;
    if (work->kind == HR_DEVICE_KIND_FIXED)
        wide = HR_MAX((unsigned)(p->tiles.width + 31) / 32 * 32, 128u);
    launch->threads = HR_MAX(launch->threads, wide);
    if (!has_taps(work))
        return;
    launch->shared = HR_MAX(launch->shared, (size_t)p->tiles.shared);
    launch->share.taps_at[i] = (uint32_t)launch->taps;
    launch->taps += (size_t)HR_DIVIDE_UP(taps_size(p), TAPS_UNIT);
}

// Adds as many of the programs as fit into one launch; returns their number.
int fill_launch(Launch *launch, const Work *work, const hr_device_program *programs, int count)
{
    *launch = {};
    int n = 0;
    for (; n < count && n < PROGRAMS_MAX; n++) {
        uint32_t tiles = tiles_of(work, programs + n), sum = launch->share.first[n] + tiles;
        if (sum > INT32_MAX)
            break;
        launch->share.first[n + 1] = sum;
        if (tiles > 0)
            widen(launch, work, programs + n, n);
    }
    launch->share.count = n;
    return n;
}

// With one row of blocks per program, a block finds its program without a search. If the programs'
// sizes differ so much that most blocks would be idle, all blocks are in one row.
dim3 grid_of(const Share *share)
{
    uint32_t total = share->first[share->count], most = 0;
    for (int i = 0; i < share->count; i++)
        most = HR_MAX(most, share->first[i + 1] - share->first[i]);
    bool rows = share->count > 1 && (uint64_t)most * share->count <= (uint64_t)total * 3;
    return rows ? dim3(most, (unsigned)share->count) : dim3(total);
}

hr_status start(hr_cuda_launch *l, Kernel kernel, const Share *share, unsigned threads,
                size_t shared_bytes, hr_error *error)
{
    void *arguments[] = {(void *)share};
    HR_CUDA_TRY(cudaLaunchKernel((const void *)kernel, grid_of(share), dim3(threads), arguments,
                                 shared_bytes, (cudaStream_t)l->stream));
    return HR_STATUS_OK;
}

// Makes the taps of a launch's programs in scratch memory.
hr_status start_taps(hr_cuda_launch *l, Launch *launch, const Work *work,
                     const hr_device_program *programs, hr_error *error)
{
    void *memory;
    HR_TRY(l->scratch(l, launch->taps * TAPS_UNIT * sizeof(uint32_t), &memory, error));
    launch->share.taps = (uint32_t *)memory;
    Share share = launch->share;
    for (int i = 0; i < share.count; i++) {
        int64_t outputs = (int64_t)programs[i].view_w + programs[i].view_h;
        uint32_t blocks = (uint32_t)HR_DIVIDE_UP(outputs, HR_DEVICE_THREADS);
        share.first[i + 1] = share.first[i] + (is_for(work, programs + i) ? blocks : 0);
    }
    return start(l, run_taps, &share, HR_DEVICE_THREADS, 0, error);
}

hr_status run_work(hr_cuda_launch *l, const Work *work, const hr_device_program *host,
                   const hr_device_program *device, int count, hr_error *error)
{
    for (int from = 0, n; from < count; from += n) {
        Launch launch;
        n = fill_launch(&launch, work, host + from, count - from);
        launch.share.programs = device + from;
        if (launch.share.first[n] == 0)
            continue;
        if (has_taps(work))
            HR_TRY(start_taps(l, &launch, work, host + from, error));
        HR_TRY(start(l, work->kernel, &launch.share, launch.threads, launch.shared, error));
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
