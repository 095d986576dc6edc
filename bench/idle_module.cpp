// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// libheadrace_idlecuda.so: a CUDA module that does nothing at once. What a pipeline costs with it is the work of the host:
// bench/bench_gpu_host.py. Device addresses are made up, so outputs must not be read.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "codecs/jpeg/device.h"
#include "cuda/ops/flow_session.cuh"
#include "cuda/ops/op.cuh"
#include "cuda/ops/ops.h"
#include "cuda/runtime.cuh"

static std::atomic<uintptr_t> next_address{uintptr_t(1) << 48}; // no address of a process

static std::atomic<int64_t> calls;

extern "C" HR_API int64_t hr_idle_calls(void)
{
    return calls.load();
}

static hr_status work()
{
    calls.fetch_add(1, std::memory_order_relaxed);
    return HR_STATUS_OK;
}

// Device memory where the JPEG decoder would have noted entries of indices: it notes none.
static thread_local uintptr_t noted;

static hr_status jpeg_decode(hr_cuda_launch *, hr_staged records, int32_t count, hr_error *)
{
    auto *images = (const hr_jpeg_device_image *)records.host;
    noted = 0;
    for (int32_t i = count - 1; i >= 0; i--)
        noted = images[i].entries ? (uintptr_t)images[i].entries : noted;
    return work();
}

static hr_status other_decode(hr_cuda_launch *, hr_staged, int32_t, hr_error *)
{
    return work();
}

static hr_status copy(int32_t, void *, void *to, const void *from, size_t size, hr_error *)
{
    if (noted && from == (const void *)noted)
        memset(to, 0xff, size);
    return work();
}

static hr_status device_count(int32_t *count, hr_error *)
{
    *count = 1;
    return HR_STATUS_OK;
}

static hr_status device_query(int32_t, hr_cuda_info *out, hr_error *)
{
    *out = {"Idle", 9, 0, 132, size_t(1) << 36, "0000:01:00.0"};
    return HR_STATUS_OK;
}

static hr_status host_alloc(int32_t, size_t size, void **out, hr_error *)
{
    return posix_memalign(out, 4096, size) ? HR_STATUS_NO_MEMORY : HR_STATUS_OK;
}

static hr_status alloc(int32_t, void *, size_t size, void **out, hr_error *)
{
    *out = (void *)next_address.fetch_add((size + 255) / 256 * 256);
    return work();
}

static void free_nothing(int32_t, void *, void *)
{
}

static hr_status create(void **out)
{
    *out = (void *)next_address.fetch_add(256);
    return HR_STATUS_OK;
}

static const hr_cuda_module_def *module_make()
{
    static const hr_cuda_decoder jpeg = {"jpeg", jpeg_decode};
    static const hr_cuda_decoder jpeg2000 = {"jpeg2000", other_decode};
    static const hr_cuda_decoder tiff = {"tiff", other_decode};
    static const hr_cuda_decoder *const decoders[] = {&jpeg, &jpeg2000, &tiff, nullptr};
    static hr_cuda_module_def m = {};
    m.abi = HR_CUDA_ABI_VERSION;
    m.struct_size = sizeof(m);
    m.device_count = device_count;
    m.device_query = device_query;
    m.host_alloc = host_alloc;
    m.host_free = free;
    m.alloc = alloc;
    m.free = free_nothing;
    m.stream_create = [](int32_t, void **out, hr_error *) { return create(out); };
    m.stream_destroy = [](int32_t, void *) {};
    m.event_create = [](int32_t, bool, void **out, hr_error *) { return create(out); };
    m.event_destroy = [](int32_t, void *) {};
    m.event_record = m.event_await = [](int32_t, void *, void *, hr_error *) { return work(); };
    m.event_wait = [](int32_t, void *, hr_error *) { return HR_STATUS_OK; };
    m.event_done = [](int32_t, void *, bool *done, hr_error *) {
        *done = true;
        return HR_STATUS_OK;
    };
    m.event_elapsed = [](void *, void *, float *ms, hr_error *) {
        *ms = 0;
        return HR_STATUS_OK;
    };
    m.copy = copy;
    m.zero = [](int32_t, void *, void *, size_t, hr_error *) { return work(); };
    m.use = [](int32_t, hr_error *) { return HR_STATUS_OK; };
    m.current = []() -> void * { return nullptr; };
    m.restore = [](void *) {};
    m.copy_all = hr_cuda_copy_all;
    m.program_run = hr_cuda_program_run;
    m.ops = hr_cuda_ops;
    m.decoders = decoders;
    return &m;
}

extern "C" flow_entry hr_cuda_flow_entry(void)
{
    return NULL;
}

hr_status hr_cuda_flow_context(int32_t *, void **, hr_error *)
{
    return HR_STATUS_NOT_IMPLEMENTED;
}

const hr_cuda_module_def *hr_cuda_module(void)
{
    static const hr_cuda_module_def *module = module_make();
    return module;
}

hr_status hr_cuda_queue(hr_cuda_launch *, std::function<void()>, hr_error *)
{
    return work();
}

hr_status hr_cuda_copy_all(hr_cuda_launch *, hr_staged, int32_t, hr_error *)
{
    return work();
}

hr_status hr_cuda_program_run(hr_cuda_launch *, hr_staged, int32_t, hr_error *)
{
    return work();
}
