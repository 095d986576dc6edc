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

__device__ __forceinline__ uint32_t step_end(uint32_t begin, uint32_t end, uint32_t step)
{
    return step + 1 == HR_JPEG_STEPS ? end : min(begin + (step + 1) * HR_JPEG_STEP, end);
}

// Symbol by symbol; `state` is kept in registers by whoever inlines this.
template <int TABLES> struct follower {
    const hr_jpeg_shared<TABLES> *shared;
    const hr_jpeg_table *tables;
    uint32_t blocks; // in an MCU
    hr_jpeg_bits bits;
    uint32_t z, c, both; // both: tables of block c
    uint32_t count;

    __device__ __forceinline__ follower(const hr_jpeg_shared<TABLES> *s, const hr_jpeg_table *t,
                                        const hr_jpeg_device_image *image, hr_jpeg_state state)
        : shared(s), tables(t), blocks(hr_jpeg_blocks_in_mcu(image)), z(state.z), c(state.c),
          both(s->tables[state.c]), count(0)
    {
        hr_jpeg_open(&bits, image->scan, state.bit);
    }

    __device__ __forceinline__ void symbol()
    {
        uint32_t table = z == 0 ? both & 0xFFFF : both >> 16;
        uint32_t e = hr_jpeg_look(shared, tables, table, hr_jpeg_peek(&bits));
        hr_jpeg_skip(&bits, e & 63);
        z += e >> 24;
        if (z >= 64) {
            z = 0;
            count++;
            c = c + 1 == blocks ? 0 : c + 1;
            both = shared->tables[c];
        }
    }

    __device__ __forceinline__ hr_jpeg_state state() const
    {
        hr_jpeg_state s = {bits.bit, z, c};
        return s;
    }
};

// The first phase: a subsequence from its beginning, as if a block of the first kind began there.
template <int TABLES>
__device__ void guess(const hr_jpeg_shared<TABLES> *shared, const hr_jpeg_table *tables,
                      const hr_jpeg_device_image *image, hr_jpeg_range r, uint32_t *trace)
{
    hr_jpeg_state state = {r.begin, 0, 0};
    follower<TABLES> f(shared, tables, image, state);
    uint32_t step = 0, boundary = step_end(r.begin, r.end, 0);
    while (step < HR_JPEG_STEPS) {
        f.symbol();
        while (f.bits.bit >= boundary && step < HR_JPEG_STEPS) {
            hr_jpeg_state now = f.state();
            trace[step] = hr_jpeg_pack(&now, boundary, f.count);
            f.count = 0;
            step++;
            boundary = step_end(r.begin, r.end, step);
        }
    }
}

// Who follows the truth: where the next step to take begins, and the state there.
struct task {
    uint32_t step; // of all steps of the image
    uint32_t entry;
};

struct tasks {
    task list[2][THREADS];
    uint32_t count[2];
};

// Takes one step. False when the trace is met or the segment ends.
template <int TABLES>
__device__ bool follow(const hr_jpeg_shared<TABLES> *shared, const hr_jpeg_table *tables,
                       const hr_jpeg_device_image *image, uint32_t limit, uint32_t *trace, task *t)
{
    uint32_t sub = t->step / HR_JPEG_STEPS, step = t->step % HR_JPEG_STEPS;
    hr_jpeg_range r = hr_jpeg_range_of(image, sub);
    uint32_t begin = step == 0 ? r.begin : step_end(r.begin, r.end, step - 1);
    uint32_t boundary = step_end(r.begin, r.end, step);
    uint32_t old = trace[t->step];
    follower<TABLES> f(shared, tables, image, hr_jpeg_unpack(t->entry, begin));
    while (f.bits.bit < boundary)
        f.symbol();
    hr_jpeg_state now = f.state();
    uint32_t entry = hr_jpeg_pack(&now, boundary, f.count);
    trace[t->step] = entry;
    if (((entry ^ old) & HR_JPEG_STATE) == 0)
        return false;
    t->step++;
    t->entry = entry;
    return step + 1 < HR_JPEG_STEPS ||
           (sub + 1 < limit && sub + 1 < image->segments[r.segment + 1].first);
}

// All tasks of the first list to their ends.
template <int TABLES>
__device__ void follow_all(const hr_jpeg_shared<TABLES> *shared, const hr_jpeg_table *tables,
                           const hr_jpeg_device_image *image, uint32_t limit, uint32_t *trace,
                           tasks *q)
{
    for (int now = 0;; now ^= 1) {
        __syncthreads(); // the list and the trace are written
        uint32_t count = q->count[now];
        if (count == 0)
            break;
        if (threadIdx.x == 0)
            q->count[now ^ 1] = 0;
        __syncthreads();
        if (threadIdx.x < count) {
            task t = q->list[now][threadIdx.x];
            if (follow(shared, tables, image, limit, trace, &t))
                q->list[now ^ 1][atomicAdd(&q->count[now ^ 1], 1u)] = t;
        }
    }
}

// Into the list: the beginning of a subsequence, from what the trace says now.
__device__ void add_task(tasks *q, uint32_t sub, const uint32_t *trace)
{
    task t = {sub * HR_JPEG_STEPS, trace[sub * HR_JPEG_STEPS - 1]};
    q->list[0][atomicAdd(&q->count[0], 1u)] = t;
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
    hr_jpeg_share(&shared, image, tables);
    if (threadIdx.x == 0)
        q.count[0] = 0;
    __syncthreads();
    hr_jpeg_range r;
    r.known = true;
    if (mine) {
        r = hr_jpeg_range_of(image, sub);
        guess(&shared, tables, image, r, trace + (size_t)sub * HR_JPEG_STEPS);
    }
    __syncthreads();
    if (mine && !r.known && threadIdx.x > 0)
        add_task(&q, sub, trace);
    follow_all(&shared, tables, image, min(group + THREADS, image->subs), trace, &q);
}

// The same between groups, a thread block an image.
template <int TABLES> __global__ void __launch_bounds__(THREADS) join(hr_jpeg_batch b)
{
    __shared__ hr_jpeg_shared<TABLES> shared;
    __shared__ tasks q;
    const hr_jpeg_device_image *image = &b.images[blockIdx.x];
    const hr_jpeg_table *tables = b.tables + (size_t)blockIdx.x * HR_JPEG_TABLES_MAX;
    uint32_t *trace = b.trace + (size_t)b.work[blockIdx.x].sub * HR_JPEG_STEPS;
    uint32_t groups = b.work[blockIdx.x + 1].sync - b.work[blockIdx.x].sync;
    if (groups < 2)
        return;
    hr_jpeg_share(&shared, image, tables);
    for (uint32_t first = 1; first < groups; first += THREADS) {
        if (threadIdx.x == 0)
            q.count[0] = 0;
        __syncthreads();
        uint32_t group = first + threadIdx.x, sub = group * THREADS;
        if (group < groups && !hr_jpeg_range_of(image, sub).known)
            add_task(&q, sub, trace);
        follow_all(&shared, tables, image, image->subs, trace, &q);
    }
}

// Blocks that end before each subsequence, a thread block an image.
__global__ void __launch_bounds__(THREADS) count_blocks(hr_jpeg_batch b)
{
    __shared__ uint32_t sums[THREADS];
    const hr_jpeg_work *work = &b.work[blockIdx.x];
    uint32_t t = threadIdx.x, subs = work[1].sub - work[0].sub, sum = 0;
    if (work[1].sync == work[0].sync)
        return;
    for (uint32_t base = 0; base < subs; base += THREADS) {
        const uint32_t *trace = b.trace + (size_t)(work->sub + base + t) * HR_JPEG_STEPS;
        uint32_t count = 0;
        for (int k = 0; base + t < subs && k < HR_JPEG_STEPS; k++)
            count += trace[k] >> HR_JPEG_COUNT_SHIFT;
        __syncthreads();
        sums[t] = count;
        __syncthreads();
        for (uint32_t d = 1; d < THREADS; d *= 2) {
            uint32_t before = t >= d ? sums[t - d] : 0;
            __syncthreads();
            sums[t] += before;
            __syncthreads();
        }
        if (base + t < subs)
            b.counted[work->sub + base + t] = sum + sums[t] - count;
        sum += sums[THREADS - 1];
    }
}

template <int TABLES>
void launch(const hr_jpeg_batch *b, uint32_t blocks, cudaStream_t stream)
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
    HR_CUDA_LAUNCH(count_blocks, b->count, THREADS, stream, *b);
    return cudaGetLastError();
}
