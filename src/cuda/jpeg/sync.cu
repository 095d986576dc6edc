// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Finds the decoder's state at the beginning of every subsequence. In the first phase each thread
// decodes one subsequence from a guessed state and records a trace: its state, and how many blocks
// ended, after every step. A wrong guess usually converges to the true state within some thousand
// bits. In the second phase the true end state of each subsequence is followed into the next one,
// overwriting the trace, until it agrees with the trace. All followers take one step per round, and
// those that remain are packed into few warps.
#include "cuda/jpeg/decode.cuh"
#include "cuda/jpeg/scan.cuh"

namespace
{

constexpr int THREADS = 256; // one subsequence each
constexpr uint32_t WARP = 32;
constexpr int PAIRS = 5; // look-ups of a row; a batch takes 1.04 of the time with 3, 1.01 with 4

// An entry of an AC table in shared memory covers one or two symbols. From the lowest byte: bits of
// both; bits of the first; how far the first advances the position in the block; how far both do.
// Selectors of __byte_perm: both symbols, the first alone, or nothing.
enum { TAKE_BOTH = 0x3210, TAKE_FIRST = 0x2111, TAKE_NONE = 0x4444 };

// The first symbol of a pair has fewer bits than the index, and advances by at most 16.
enum { FIRST_BITS = HR_JPEG_DEVICE_FAST_BITS - 1, FIRST_MOVE = 16 };

__device__ __forceinline__ uint32_t pair_of(const uint32_t *fast, uint32_t i)
{
    uint32_t first = fast[i], bits = first & 63, move = first >> 24;
    uint32_t alone = move << 16 | bits << 8;
    if (move >= HR_JPEG_END || bits > FIRST_BITS)
        return first == 0 ? 0 : alone | move << 24 | bits;
    uint32_t second = fast[(i << bits) & (HR_JPEG_DEVICE_FAST_SIZE - 1)];
    bool known = bits + (second >> 8 & 31) <= HR_JPEG_DEVICE_FAST_BITS; // its code is in the index
    bool fits = bits + (second & 63) < 32;                              // a row shifts by less
    second = known && fits ? second : 0;
    return alone | (move + (second >> 24)) << 24 | (bits + (second & 63));
}

// Turns AC tables into tables of pairs.
template <int TABLES>
__device__ void pair_up(hr_jpeg_shared<TABLES> *s, const hr_jpeg_device_image *image)
{
    constexpr int OWN = HR_JPEG_DEVICE_FAST_SIZE / THREADS;
    for (int t = image->dc_count; t < image->dc_count + image->ac_count; t++) {
        uint32_t *fast = s->fast + t * HR_JPEG_DEVICE_FAST_SIZE, pairs[OWN];
        for (int k = 0; k < OWN; k++)
            pairs[k] = pair_of(fast, threadIdx.x + (uint32_t)(k * THREADS));
        __syncthreads();
        for (int k = 0; k < OWN; k++)
            fast[threadIdx.x + (uint32_t)(k * THREADS)] = pairs[k];
    }
    __syncthreads();
}

// The thread blocks of an image; none if the state is known at the beginning of each subsequence.
HR_JPEG_HD uint32_t groups_of(const hr_jpeg_device_image *image)
{
    return image->subs > image->segment_count ? HR_DIVIDE_UP(image->subs, THREADS) : 0;
}

__device__ __forceinline__ uint32_t step_end(uint32_t begin, uint32_t end, uint32_t step)
{
    return step + 1 == HR_JPEG_STEPS ? end : min(begin + (step + 1) * HR_JPEG_STEP, end);
}

// Decodes symbols without their values.
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

    // Some symbols of a block that begin before the boundary.
    __device__ __forceinline__ void row(uint32_t boundary)
    {
        hr_jpeg_window w = hr_jpeg_window_of(&bits);
        uint32_t e = 0, limit = hr_jpeg_limit(&bits, boundary);
        if (z == 0)
            take(&w, hr_jpeg_look(&lookup, both & 0xFFFF, w.v0));
#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
            bool more = z < 64 && bits.used < limit;
            bool second = z < 64 - FIRST_MOVE && bits.used + FIRST_BITS < limit;
            uint32_t bytes = second ? TAKE_BOTH : more ? TAKE_FIRST : TAKE_NONE;
            e = __byte_perm(hr_jpeg_fast(&lookup, both >> 16, w.v0), 0, bytes);
            take(&w, e);
        }
        if (e == 0 && z < 64 && bits.used < limit)
            take(&w, hr_jpeg_slow(lookup.tables + (both >> 16) / HR_JPEG_DEVICE_FAST_BYTES, w.v0));
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

// The first phase: decodes a subsequence as if an MCU began at its first bit.
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

// A follower that waits to run: its next step, counted over the image, and the state there.
struct task {
    uint32_t step;
    uint32_t entry;
};

struct tasks {
    task list[THREADS];
    uint32_t count;
};

// A follower that runs.
struct walk {
    follower f;
    uint32_t step, begin, end, boundary; // of its subsequence; of its step
    uint32_t last,
        segment_end; // the first subsequence that it must not enter; the end of the segment

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

    // Runs one step. Returns false if the result agrees with the trace or the last subsequence is
    // finished.
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

// Runs all followers of the list, for at most `rounds` rounds. When half of them have finished, the
// others are packed into fewer warps; until then a follower stays with its thread. Returns how many
// rounds are left; 0: some followers have not finished.
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

// Adds a follower that begins with subsequence `sub`, in the state that the trace contains now.
__device__ void add_task(tasks *q, uint32_t sub, const uint32_t *trace)
{
    task t = {sub * HR_JPEG_STEPS, trace[sub * HR_JPEG_STEPS - 1]};
    q->list[atomicAdd(&q->count, 1u)] = t;
}

// Counts the blocks that end before each subsequence. Only differences within a segment are used.
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

template <int TABLES>
__global__ void __launch_bounds__(THREADS)
    synchronise(hr_jpeg_batch b, const __grid_constant__ hr_jpeg_tiles share)
{
    __shared__ hr_jpeg_shared<TABLES> shared;
    __shared__ tasks q;
    int tile;
    uint32_t i = b.from + (uint32_t)tiles::find(share, &tile);
    const hr_jpeg_device_image *image = &b.images[i];
    const hr_jpeg_table *tables = b.tables + (size_t)i * HR_JPEG_TABLES_MAX;
    uint32_t *trace = b.trace + (size_t)b.work[i].sub * HR_JPEG_STEPS;
    uint32_t group = (uint32_t)tile * THREADS, sub = group + threadIdx.x;
    bool mine = sub < image->subs;
    hr_jpeg_share<THREADS>(&shared, image, tables);
    if (threadIdx.x == 0)
        q.count = 0;
    __syncthreads();
    pair_up(&shared, image);
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
    // one round for each step of the group: no more can be needed
    follow_all(lookup, image, min(group + THREADS, image->subs), trace, &q, UINT32_MAX);
    if (groups_of(image) == 1)
        count_blocks(b.counted + b.work[i].sub, trace, image->subs);
}

// The same across groups. Identical blocks decode alike, whichever block of the MCU a follower
// takes them for, so it may never agree with the trace. The host decodes such images.
template <int TABLES>
__device__ void join_groups(const hr_jpeg_batch *b, uint32_t i, uint32_t groups, uint32_t *trace)
{
    __shared__ hr_jpeg_shared<TABLES> shared;
    __shared__ tasks q;
    const hr_jpeg_device_image *image = &b->images[i];
    const hr_jpeg_table *tables = b->tables + (size_t)i * HR_JPEG_TABLES_MAX;
    hr_jpeg_share<THREADS>(&shared, image, tables);
    __syncthreads();
    pair_up(&shared, image);
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

// One thread block per image; there is nothing to do for those of one group.
template <int TABLES> __global__ void __launch_bounds__(THREADS) join(hr_jpeg_batch b)
{
    const hr_jpeg_work *work = &b.work[blockIdx.x];
    uint32_t groups = groups_of(&b.images[blockIdx.x]);
    uint32_t *trace = b.trace + (size_t)work->sub * HR_JPEG_STEPS;
    if (groups <= 1)
        return;
    join_groups<TABLES>(&b, blockIdx.x, groups, trace);
    count_blocks(b.counted + work->sub, trace, work[1].sub - work[0].sub);
}

template <int TABLES> void launch(const hr_jpeg_batch *b, cudaStream_t stream)
{
    uint32_t most = 0;
    hr_jpeg_launch(synchronise<TABLES>, b, THREADS, stream, groups_of);
    for (uint32_t i = b->from; i < b->to; i++)
        most = max(most, groups_of(&b->host[i]));
    if (most > 1)
        HR_CUDA_LAUNCH(join<TABLES>, b->count, THREADS, stream, *b);
}

} // namespace

cudaError_t hr__jpeg_synchronise(const hr_jpeg_batch *b, int tables, cudaStream_t stream)
{
    if (tables <= 4)
        launch<4>(b, stream);
    else
        launch<HR_JPEG_TABLES_MAX>(b, stream);
    return cudaGetLastError();
}
