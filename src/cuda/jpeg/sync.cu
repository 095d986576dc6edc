// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Finds the decoder's state at the beginning of every subsequence, without what came before: every
// thread decodes its own from a guess and leaves a trace, its state and the blocks that ended at
// every step. A wrong guess falls in with the truth after some hundred or thousand bits. So in a
// second phase the true ends of subsequences are followed into the next one until they meet the
// trace there, overwriting it. All followers go step by step, each in a place of its own, and those
// that are left are packed into few warps: the work is what was decoded wrongly and no more.
#include "cuda/jpeg/decode.cuh"
#include "cuda/jpeg/scan.cuh"

namespace
{

constexpr int THREADS = HR_JPEG_GROUP;
constexpr uint32_t WARP = 32;

__device__ __forceinline__ uint32_t step_end(uint32_t begin, uint32_t end, uint32_t step)
{
    return step + 1 == HR_JPEG_STEPS ? end : min(begin + (step + 1) * HR_JPEG_STEP, end);
}

// Goes through the scan without looking at values.
struct follower {
    hr_jpeg_lookup lookup;
    uint32_t blocks; // in an MCU
    hr_jpeg_bits bits;
    uint32_t z, c, both; // both: tables of block c
    uint32_t count;

    __device__ __forceinline__ follower(const hr_jpeg_lookup &l, const hr_jpeg_device_image *image,
                                        hr_jpeg_state state)
        : lookup(l), blocks(hr_jpeg_blocks_in_mcu(image)), z(state.z), c(state.c),
          both(hr_jpeg_tables_of(&l, state.c)), count(0)
    {
        hr_jpeg_open(&bits, image->scan, state.bit);
    }

    __device__ __forceinline__ void take(hr_jpeg_window *w, uint32_t e)
    {
        hr_jpeg_skip(&bits, w, e & 63);
        z += e >> 24;
    }

    // Some symbols of a block, none that begins at the boundary or behind it.
    __device__ __forceinline__ void row(uint32_t boundary)
    {
        hr_jpeg_window w = hr_jpeg_window_of(&bits);
        uint32_t e = 0, limit = hr_jpeg_limit(&bits, boundary);
        if (z == 0)
            take(&w, hr_jpeg_look(&lookup, both & 0xFFFF, w.v0));
#pragma unroll
        for (int k = 0; k < HR_JPEG_ROW; k++) {
            bool more = z < 64 && bits.used < limit;
            e = hr_jpeg_fast(&lookup, both >> 16, w.v0);
            e = more ? e : 0;
            take(&w, e);
        }
        if (e == 0 && z < 64 && bits.used < limit)
            take(&w, hr_jpeg_look(&lookup, both >> 16, w.v0));
        if (z >= 64) {
            z = 0;
            count++;
            c = c + 1 == blocks ? 0 : c + 1;
            both = hr_jpeg_tables_of(&lookup, c);
        }
        hr_jpeg_turn(&bits);
    }

    __device__ __forceinline__ uint32_t bit() const
    {
        return hr_jpeg_bit(&bits);
    }

    __device__ __forceinline__ uint32_t entry(uint32_t boundary) const
    {
        hr_jpeg_state s = {bit(), z, c};
        return hr_jpeg_pack(&s, boundary, count);
    }
};

// The first phase: a subsequence from its beginning, as if a block of the first kind began there.
__device__ __forceinline__ void guess(const hr_jpeg_lookup &lookup,
                                      const hr_jpeg_device_image *image, hr_jpeg_range r,
                                      uint32_t *trace)
{
    hr_jpeg_state state = {r.begin, 0, 0};
    follower f(lookup, image, state);
    uint32_t step = 0, boundary = step_end(r.begin, r.end, 0);
    while (step < HR_JPEG_STEPS) {
        f.row(boundary);
        while (f.bit() >= boundary && step < HR_JPEG_STEPS) {
            trace[step] = f.entry(boundary);
            f.count = 0;
            step++;
            boundary = step_end(r.begin, r.end, step);
        }
    }
}

// Who follows the truth: the next step, of all steps of the image, and the state at its beginning.
struct task {
    uint32_t step;
    uint32_t entry;
};

struct tasks {
    task list[THREADS];
    uint32_t count;
};

// A task at work.
struct walk {
    follower f;
    uint32_t step, begin, end, boundary; // where its subsequence lies, and the step ends
    uint32_t last, segment_end;          // the first subsequence not to go to; of the segment

    __device__ __forceinline__ walk(const hr_jpeg_lookup &lookup, const hr_jpeg_device_image *image,
                                    uint32_t limit, task t)
        : f(lookup, image, start(image, limit, t))
    {
    }

    __device__ __forceinline__ hr_jpeg_state start(const hr_jpeg_device_image *image,
                                                   uint32_t limit, task t)
    {
        uint32_t sub = t.step / HR_JPEG_STEPS, in_sub = t.step % HR_JPEG_STEPS;
        hr_jpeg_range r = hr_jpeg_range_of(image, sub);
        step = t.step;
        begin = r.begin;
        end = r.end;
        boundary = step_end(begin, end, in_sub);
        last = min(limit, image->segments[r.segment + 1].first);
        segment_end = image->segments[r.segment].end;
        return hr_jpeg_unpack(t.entry, in_sub == 0 ? begin : step_end(begin, end, in_sub - 1));
    }

    // Takes a step. False when the trace is met or there is nowhere to go.
    __device__ __forceinline__ bool advance(uint32_t *trace, uint32_t *entry)
    {
        uint32_t old = trace[step];
        f.count = 0;
        while (f.bit() < boundary)
            f.row(boundary);
        *entry = f.entry(boundary);
        trace[step++] = *entry;
        if (((*entry ^ old) & HR_JPEG_STATE) == 0)
            return false;
        uint32_t sub = step / HR_JPEG_STEPS, in_sub = step % HR_JPEG_STEPS;
        if (in_sub == 0) {
            if (sub >= last)
                return false;
            begin = end;
            end = min(begin + HR_JPEG_DEVICE_SUB, segment_end);
        }
        boundary = step_end(begin, end, in_sub);
        return true;
    }
};

// All tasks of the list to their ends, in at most `rounds` steps of each. When half of those at
// work are done, the others move together; until then a task stays with its thread. Returns the
// rounds that are left; 0 when there were too few.
__device__ uint32_t follow_all(const hr_jpeg_lookup &lookup, const hr_jpeg_device_image *image,
                               uint32_t limit, uint32_t *trace, tasks *q, uint32_t rounds)
{
    __syncthreads(); // the list and the trace are written
    uint32_t at_work = q->count;
    while (at_work > 0 && rounds > 0) {
        bool alive = threadIdx.x < at_work;
        task t = q->list[alive ? threadIdx.x : 0];
        walk w(lookup, image, limit, t);
        uint32_t left = at_work;
        do {
            if (alive)
                alive = w.advance(trace, &t.entry);
            left = (uint32_t)__syncthreads_count(alive); // and the list is read
            rounds--;
        } while (left > 0 && rounds > 0 && (at_work <= WARP || left > at_work / 2));
        if (threadIdx.x == 0)
            q->count = 0;
        __syncthreads();
        t.step = w.step;
        if (alive)
            q->list[atomicAdd(&q->count, 1u)] = t;
        __syncthreads();
        at_work = left;
    }
    return rounds;
}

// Into the list: the beginning of a subsequence, from what the trace says now.
__device__ void add_task(tasks *q, uint32_t sub, const uint32_t *trace)
{
    task t = {sub * HR_JPEG_STEPS, trace[sub * HR_JPEG_STEPS - 1]};
    q->list[atomicAdd(&q->count, 1u)] = t;
}

template <int TABLES> __global__ void __launch_bounds__(THREADS) synchronise(hr_jpeg_batch b)
{
    __shared__ hr_jpeg_shared<TABLES> shared;
    __shared__ tasks q;
    uint32_t i = hr_jpeg_find<&hr_jpeg_work::sync>(b.work, 0, b.count, blockIdx.x);
    const hr_jpeg_device_image *image = &b.images[i];
    const hr_jpeg_table *tables = b.tables + (size_t)i * HR_JPEG_TABLES_MAX;
    uint32_t *trace = b.trace + (size_t)b.work[i].sub * HR_JPEG_STEPS;
    uint32_t group = (blockIdx.x - b.work[i].sync) * THREADS, sub = group + threadIdx.x;
    bool mine = sub < image->subs;
    hr_jpeg_share<THREADS>(&shared, image, tables);
    if (threadIdx.x == 0)
        q.count = 0;
    __syncthreads();
    hr_jpeg_lookup lookup = hr_jpeg_lookup_of(&shared, tables);
    hr_jpeg_range r;
    r.known = true;
    if (mine) {
        r = hr_jpeg_range_of(image, sub);
        if (!r.alone)
            guess(lookup, image, r, trace + (size_t)sub * HR_JPEG_STEPS);
    }
    __syncthreads();
    if (mine && !r.known && threadIdx.x > 0)
        add_task(&q, sub, trace);
    // a round for each step of the group: it cannot need more
    follow_all(lookup, image, min(group + THREADS, image->subs), trace, &q, UINT32_MAX);
}

// The same between groups. Equal blocks decode alike from any of them, so that followers never meet
// the trace: then the image is left to the host.
template <int TABLES>
__device__ void join_groups(const hr_jpeg_batch *b, uint32_t i, uint32_t groups, uint32_t *trace)
{
    __shared__ hr_jpeg_shared<TABLES> shared;
    __shared__ tasks q;
    const hr_jpeg_device_image *image = &b->images[i];
    const hr_jpeg_table *tables = b->tables + (size_t)i * HR_JPEG_TABLES_MAX;
    hr_jpeg_share<THREADS>(&shared, image, tables);
    hr_jpeg_lookup lookup = hr_jpeg_lookup_of(&shared, tables);
    uint32_t rounds = HR_JPEG_ROUNDS;
    for (uint32_t first = 1; first < groups && rounds > 0; first += THREADS) {
        if (threadIdx.x == 0)
            q.count = 0;
        __syncthreads();
        uint32_t group = first + threadIdx.x, sub = group * THREADS;
        if (group < groups && !hr_jpeg_range_of(image, sub).known)
            add_task(&q, sub, trace);
        rounds = follow_all(lookup, image, image->subs, trace, &q, rounds);
    }
    if (rounds == 0 && threadIdx.x == 0)
        *image->status = 1;
}

// Blocks that end before each subsequence; differences within a segment are of use, those of lone
// subsequences count nothing.
__device__ void count_blocks(uint32_t *counted, const uint32_t *trace, uint32_t subs)
{
    __shared__ uint32_t sums[THREADS];
    uint32_t t = threadIdx.x, sum = 0, all;
    for (uint32_t base = 0; base < subs; base += THREADS) {
        uint32_t count = 0;
        for (int k = 0; base + t < subs && k < HR_JPEG_STEPS; k++)
            count += trace[(size_t)(base + t) * HR_JPEG_STEPS + k] >> HR_JPEG_COUNT_SHIFT;
        uint32_t before = hr_jpeg_sum_before<THREADS>(sums, count, &all);
        if (base + t < subs)
            counted[base + t] = sum + before;
        sum += all;
    }
}

// What takes all of an image, a thread block each.
template <int TABLES> __global__ void __launch_bounds__(THREADS) join(hr_jpeg_batch b)
{
    const hr_jpeg_work *work = &b.work[blockIdx.x];
    uint32_t groups = work[1].sync - work[0].sync;
    uint32_t *trace = b.trace + (size_t)work->sub * HR_JPEG_STEPS;
    if (groups == 0)
        return;
    if (groups > 1)
        join_groups<TABLES>(&b, blockIdx.x, groups, trace);
    count_blocks(b.counted + work->sub, trace, work[1].sub - work[0].sub);
}

template <int TABLES> void launch(const hr_jpeg_batch *b, uint32_t blocks, cudaStream_t stream)
{
    HR_CUDA_LAUNCH(synchronise<TABLES>, blocks, THREADS, stream, *b);
    HR_CUDA_LAUNCH(join<TABLES>, b->count, THREADS, stream, *b);
}

} // namespace

cudaError_t hr__jpeg_synchronise(const hr_jpeg_batch *b, uint32_t blocks, int tables,
                                 cudaStream_t stream)
{
    if (blocks == 0)
        return cudaSuccess;
    if (tables <= 4)
        launch<4>(b, blocks, stream);
    else
        launch<HR_JPEG_TABLES_MAX>(b, blocks, stream);
    return cudaGetLastError();
}
