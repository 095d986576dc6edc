// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// A module like libheadrace_cuda.so whose device is this processor. Every allocation is separate,
// so that a sanitizer sees accesses beyond it. Threads run one at a time and are switched at
// barriers and around atomic operations. Their order, and that of blocks, is random (from a seed):
// if a barrier is missing, some order gives other results.
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include <vector>

#include "cuda_runtime.h"

#include "core/block.h"
#include "cuda/runtime.cuh"

dim3 threadIdx, blockIdx, gridDim;

namespace
{

constexpr size_t STACK = 1 << 16;

enum state { READY, WAITING, ENDED };

struct place {
    ucontext_t context;
    jmp_buf at;
    bool left; // `at` is where to go on, otherwise `context`
};

struct fiber {
    place now;
    state is;
    bool made; // it waits for the next block
};

place scheduler;
std::vector<fiber> fibers;
std::vector<char> stacks;
const std::function<void()> *body;
unsigned current;

// 0: threads and blocks run in the order of their numbers.
uint32_t seed, drawn;
uint32_t rounds_now, rounds_most;

uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)drawn * below >> 32);
}

// The numbers below `count` in random order.
std::vector<unsigned> order_of(unsigned count)
{
    std::vector<unsigned> order(count);
    for (unsigned i = 0; i < count; i++) {
        unsigned k = seed ? draw(i + 1) : i;
        order[i] = order[k];
        order[k] = i;
    }
    return order;
}

// Goes on at `to`. swapcontext makes a system call, but the address sanitizer knows it, and does
// not know jumps to other stacks.
void go(place *from, place *to)
{
#ifdef HR_ASAN
    swapcontext(&from->context, &to->context);
#else
    from->left = true;
    if (_setjmp(from->at) != 0)
        return;
    if (to->left)
        _longjmp(to->at, 1);
    setcontext(&to->context);
#endif
}

void leave(state is)
{
    fibers[current].is = is;
    go(&fibers[current].now, &scheduler);
}

void run_fiber()
{
    for (;;) {
        (*body)();
        leave(ENDED);
    }
}

void start(unsigned thread)
{
    fiber *f = &fibers[thread];
    f->is = READY;
    if (f->made)
        return;
    f->made = true;
    getcontext(&f->now.context);
    f->now.context.uc_stack.ss_sp = &stacks[thread * STACK];
    f->now.context.uc_stack.ss_size = STACK;
    f->now.left = false;
    makecontext(&f->now.context, run_fiber, 0);
}

// Runs all threads until each of them waits at a barrier or has ended.
void run_to_barrier(unsigned threads)
{
    for (bool ready = true; ready;) {
        ready = false;
        for (unsigned t : order_of(threads))
            if (fibers[t].is == READY) {
                current = t;
                threadIdx = dim3(t);
                go(&scheduler, &fibers[t].now);
                ready |= fibers[t].is == READY;
            }
    }
}

void run_block(unsigned threads)
{
    rounds_now = 0;
    for (unsigned t = 0; t < threads; t++)
        start(t);
    for (bool alive = true; alive;) {
        run_to_barrier(threads);
        alive = false;
        for (unsigned t = 0; t < threads; t++)
            if (fibers[t].is == WAITING) {
                fibers[t].is = READY;
                alive = true;
            }
    }
    rounds_most = std::max(rounds_most, rounds_now);
}

hr_status alloc_memory(size_t size, void **out)
{
    *out = NULL;
    if (posix_memalign(out, 256, size ? size : 1) != 0)
        return HR_STATUS_NO_MEMORY;
    memset(*out, 0xA5, size);
    return HR_STATUS_OK;
}

hr_status host_alloc(int32_t, size_t size, void **out, hr_error *)
{
    return alloc_memory(size, out);
}
hr_status device_alloc(int32_t, void *, size_t size, void **out, hr_error *)
{
    return alloc_memory(size, out);
}
void host_free(void *memory)
{
    free(memory);
}
void device_free(int32_t, void *, void *memory)
{
    free(memory);
}
hr_status device_count(int32_t *count, hr_error *)
{
    *count = 1;
    return HR_STATUS_OK;
}
hr_status device_query(int32_t, hr_cuda_info *out, hr_error *)
{
    *out = hr_cuda_info();
    out->multiprocessors = 1;
    return HR_STATUS_OK;
}
hr_status create(int32_t, void **out, hr_error *)
{
    *out = NULL;
    return HR_STATUS_OK;
}
hr_status create_event(int32_t, bool, void **out, hr_error *)
{
    *out = NULL;
    return HR_STATUS_OK;
}
void destroy(int32_t, void *)
{
}
hr_status two(int32_t, void *, void *, hr_error *)
{
    return HR_STATUS_OK;
}
hr_status one(int32_t, void *, hr_error *)
{
    return HR_STATUS_OK;
}
hr_status done(int32_t, void *, bool *out, hr_error *)
{
    *out = true;
    return HR_STATUS_OK;
}

hr_status elapsed(void *, void *, float *ms, hr_error *)
{
    *ms = 0;
    return HR_STATUS_OK;
}
hr_status copy(int32_t, void *, void *dst, const void *src, size_t size, hr_error *)
{
    memcpy(dst, src, size);
    return HR_STATUS_OK;
}
hr_status zero(int32_t, void *, void *dst, size_t size, hr_error *)
{
    memset(dst, 0, size);
    return HR_STATUS_OK;
}
hr_status use(int32_t, hr_error *)
{
    return HR_STATUS_OK;
}

} // namespace

void __syncthreads()
{
    leave(WAITING);
}

int __syncthreads_count(int predicate)
{
    static int sum, asked;
    sum += predicate != 0;
    rounds_now += asked++ == 0;
    __syncthreads();
    int all = sum;
    __syncthreads();
    sum = asked = 0;
    __syncthreads();
    return all;
}

void hr_emulate_elsewhere()
{
    if (seed && draw(4) == 0)
        leave(READY);
}

void hr_emulate(dim3 grid, unsigned threads, const std::function<void()> &kernel)
{
    if (fibers.size() < threads) {
        fibers.assign(threads, fiber());
        stacks.resize(threads * STACK);
    }
    body = &kernel;
    gridDim = grid;
    for (unsigned x : order_of(grid.x)) {
        blockIdx = dim3(x);
        run_block(threads);
    }
}

extern "C" void hr_emulator_seed(uint32_t to)
{
    seed = drawn = to;
}

extern "C" uint32_t hr_emulator_rounds(void)
{
    uint32_t most = rounds_most;
    rounds_most = 0;
    return most;
}

const hr_cuda_module_def *hr_cuda_module(void)
{
    static const hr_cuda_op *const ops[] = {NULL};
    static const hr_cuda_decoder jpeg = {"jpeg", hr_cuda_jpeg_decode};
    static const hr_cuda_decoder jpeg2000 = {"jpeg2000", hr_cuda_jpeg2000_decode};
    static const hr_cuda_decoder tiff = {"tiff", hr_cuda_tiff_decode};
    static const hr_cuda_decoder *const decoders[] = {&jpeg, &jpeg2000, &tiff, NULL};
    static hr_cuda_module_def m;
    m.abi = HR_CUDA_ABI_VERSION;
    m.struct_size = sizeof m;
    m.device_count = device_count;
    m.device_query = device_query;
    m.host_alloc = host_alloc;
    m.host_free = host_free;
    m.alloc = device_alloc;
    m.free = device_free;
    m.stream_create = create;
    m.stream_destroy = destroy;
    m.event_create = create_event;
    m.event_destroy = destroy;
    m.event_record = two;
    m.event_await = two;
    m.event_wait = one;
    m.event_done = done;
    m.event_elapsed = elapsed;
    m.copy = copy;
    m.zero = zero;
    m.use = use;
    m.current = []() -> void * { return nullptr; };
    m.restore = [](void *) {};
    m.ops = ops;
    m.decoders = decoders;
    return &m;
}
