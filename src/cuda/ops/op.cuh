// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// What operators on the device share. A file in this folder is an operator, or a family of
// operators with the same kernels. It defines a record (what the threads of a sample need to know)
// with a member `element` (the work of one thread) and ends with a line HR_CUDA_OP(ID, "name", run)
// for each operator; an ID is used once. The records of all samples are staged, and one launch
// processes the batch.
//
// A host compiler compiles these files, too. There, whatever replaces the stream calls `element`
// for one element after the other (tests/gpu).
#pragma once

#include "core/error.h"
#include "cuda/image/unroll.cuh"
#include "cuda/ops/ops.h"
#include "device/module.h"

#include <cstring>

#if defined(__CUDACC__)
#include "cuda/error.cuh"
#include "cuda/tiles.cuh"
#define HR_DEVICE __device__
#else
#include <cstring>
#include <functional>
#include <memory>
#define HR_DEVICE
// Queues a kernel on the launch's stream.
hr_status hr_cuda_queue(hr_cuda_launch *l, std::function<void()> kernel, hr_error *error);
#endif

#define HR_CUDA_OP(id, fn_name, fn_run)                                                            \
    extern "C" const hr_cuda_op hr_cuda_op_##id = {fn_name, fn_run}

namespace op
{

constexpr int THREADS = 256;
constexpr int EACH = 4;

#if defined(__CUDACC__)
// __restrict__: records do not change, so their fields stay in registers while elements are stored.
template <typename Record, int per, int blocks>
__global__ void __launch_bounds__(THREADS, blocks)
    each(const Record *__restrict__ records, const __grid_constant__ tiles::Share share)
{
    int tile, r = tiles::find(share, &tile);
    if (r < 0)
        return;
    const Record &record = records[r];
    int64_t first = (int64_t)tile * (THREADS * per) + threadIdx.x, n = record.count;
    for (int k = 0; k < per; k++)
        if (first + k * THREADS < n)
            record.element(first + k * THREADS);
}

template <typename Record>
__global__ void __launch_bounds__(THREADS)
    blocks(const Record *__restrict__ records, const __grid_constant__ tiles::Share share)
{
    __shared__ typename Record::Shared shared;
    int tile, r = tiles::find(share, &tile);
    if (r < 0)
        return;
    const Record &record = records[r];
    HR_UNROLL
    for (int k = 0; k < record.phases(); k++) {
        if (k > 0)
            __syncthreads();
        record.phase(k, tile, &shared, (int)threadIdx.x);
    }
}

// Launches `kernel` over the tiles of all records.
template <typename Record, typename TilesOf>
hr_status launch_tiles(hr_cuda_launch *l, void (*kernel)(const Record *, const tiles::Share),
                       const Record *records, int32_t count, TilesOf tiles_of, hr_error *error)
{
    for (int32_t from = 0, n; from < count; from += n) {
        tiles::Share share;
        n = tiles::fill(&share, count - from, [&](int i) { return tiles_of(from + i); });
        if (share.first[n] == 0)
            continue;
        kernel<<<tiles::grid(share), THREADS, 0, (cudaStream_t)l->stream>>>(records + from, share);
        HR_CUDA_TRY(cudaGetLastError());
    }
    return HR_STATUS_OK;
}
#endif

// Processes elements 0 .. count - 1 of every record. A thread processes `per` of them, if there are
// that many. `blocks`: for how many per multiprocessor there must be registers; 0: the compiler
// decides.
template <typename Record, int per = EACH, int blocks = 0>
hr_status launch(hr_cuda_launch *l, hr_staged records, int32_t n, hr_error *error)
{
    const Record *at = (const Record *)records.device;
#if defined(__CUDACC__)
    const Record *host = (const Record *)records.host;
    return launch_tiles(
        l, each<Record, per, blocks>, at, n,
        [=](int32_t i) { return HR_DIVIDE_UP(host[i].count, THREADS * per); }, error);
#else
    return hr_cuda_queue(
        l,
        [=] {
            for (int32_t r = 0; r < n; r++)
                for (int64_t i = 0; i < at[r].count; i++)
                    at[r].element(i);
        },
        error);
#endif
}

#if !defined(__CUDACC__)
template <typename Record> void run_block(const Record &record, int32_t tile)
{
    std::unique_ptr<typename Record::Shared> shared(new typename Record::Shared);
    memset((void *)shared.get(), 0x5a, sizeof(*shared));
    for (int k = 0; k < record.phases(); k++)
        for (int thread = 0; thread < THREADS; thread++)
            record.phase(k, tile, shared.get(), thread);
}
#endif

// For threads that share memory: processes blocks 0 .. tiles - 1 of every record. A record has a
// type `Shared` and members `phases()` and `phase(k, tile, shared, thread)`; all threads of a block
// finish a phase before the next one begins.
template <typename Record>
hr_status launch_blocks(hr_cuda_launch *l, hr_staged records, int32_t n, hr_error *error)
{
    const Record *at = (const Record *)records.device;
#if defined(__CUDACC__)
    const Record *host = (const Record *)records.host;
    return launch_tiles(
        l, blocks<Record>, at, n, [=](int32_t i) { return host[i].tiles; }, error);
#else
    return hr_cuda_queue(
        l,
        [=] {
            for (int32_t r = 0; r < n; r++)
                for (int32_t tile = 0; tile < at[r].tiles; tile++)
                    run_block(at[r], tile);
        },
        error);
#endif
}

// Adds to a counter that other threads of the block, or of the launch, add to, too.
HR_DEVICE static inline void add_to(uint32_t *counter, uint32_t v)
{
#if defined(__CUDACC__)
    atomicAdd(counter, v);
#else
    *counter += v;
#endif
}

// The same, and returns what it was.
HR_DEVICE static inline uint32_t take_from(uint32_t *counter, uint32_t v)
{
#if defined(__CUDACC__)
    return atomicAdd(counter, v);
#else
    *counter += v;
    return *counter - v;
#endif
}

HR_DEVICE static inline void add_to(uint64_t *counter, uint64_t v)
{
#if defined(__CUDACC__)
    atomicAdd((unsigned long long *)counter, (unsigned long long)v);
#else
    *counter += v;
#endif
}

// Raises or lowers a number that other threads raise or lower, too.
template <typename T> HR_DEVICE static inline void raise_to(T *most, T v)
{
#if defined(__CUDACC__)
    atomicMax(most, v);
#else
    *most = v > *most ? v : *most;
#endif
}

template <typename T> HR_DEVICE static inline void lower_to(T *least, T v)
{
#if defined(__CUDACC__)
    atomicMin(least, v);
#else
    *least = v < *least ? v : *least;
#endif
}

// What the thread has written is seen by threads that see what it writes afterwards.
HR_DEVICE static inline void fence()
{
#if defined(__CUDACC__)
    __threadfence();
#endif
}

// Stages the records of all calls. `make(record, call, staging, error)` fills a sample's record.
template <typename Record, typename Make>
hr_status stage(hr_op_call *calls, int32_t n, hr_staging *staging, Make make, hr_staged *records,
                hr_error *error)
{
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(Record), records, error));
    for (int32_t i = 0; i < n; i++)
        HR_TRY(make((Record *)records->host + i, &calls[i], staging, error));
    return staging->flush(staging, error);
}

template <typename Record, int blocks = 0, typename Make>
hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, Make make,
              hr_error *error)
{
    hr_staged records;
    HR_TRY(stage<Record>(calls, n, staging, make, &records, error));
    return launch<Record, EACH, blocks>(l, records, n, error);
}

// Replaces a list of n elements by its copy on the device.
template <typename T>
hr_status stage_list(const T **list, int64_t n, hr_staging *staging, hr_error *error)
{
    const void *device;
    HR_TRY(staging->constant(staging, *list, (size_t)n * sizeof(T), &device, error));
    *list = (const T *)device;
    return HR_STATUS_OK;
}

// Removes the last digit, in base `n`, from *i and returns it. 64-bit divisions are expensive.
HR_DEVICE static inline int64_t digit(int64_t *i, int64_t n)
{
    int64_t whole = *i;
    if (n == 1)
        return 0;
    *i = (whole | n) >> 32 ? whole / n : (int64_t)((uint32_t)whole / (uint32_t)n);
    return whole - *i * n;
}

// The elements of a tensor. Its size was checked when its memory was allocated.
static inline int64_t count(const hr_tensor *t)
{
    int64_t n = 1;
    for (int32_t d = 0; d < t->shape.ndim; d++)
        n *= t->shape.extent[d];
    return n;
}

} // namespace op
