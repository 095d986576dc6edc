// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Memory, streams and events. Every call names its device: the thread that calls may be using
// another one, which it finds again afterwards.
#include "cuda/error.cuh"
#include "cuda/runtime.cuh"

#include <atomic>

#include <dlfcn.h>

namespace
{

// The driver's context of the calling thread; CUresult and CUcontext.
struct Driver {
    int (*get)(void **context);
    int (*set)(void *context);
};

Driver load_driver()
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return {lib ? (int (*)(void **))dlsym(lib, "cuCtxGetCurrent") : NULL,
            lib ? (int (*)(void *))dlsym(lib, "cuCtxSetCurrent") : NULL};
}

const Driver &driver()
{
    static const Driver found = load_driver();
    return found;
}

// The calling thread's device, for the time of a call. Behind it the thread has the context that it
// had, or none: cudaSetDevice would make one on a device that nobody may want to use, which takes
// hundreds of megabytes there.
class Using
{
  public:
    explicit Using(int32_t device)
    {
        int now;
        bool known = driver().get && driver().set && driver().get(&before) == 0;
        code = cudaGetDevice(&now);
        // without a context the runtime may remember a device that calls do not go to
        if (code != cudaSuccess || (now == device && (before || !known)))
            return;
        switched = known;
        code = cudaSetDevice(device);
    }
    ~Using()
    {
        if (switched)
            (void)driver().set(before);
    }
    cudaError_t code;

  private:
    bool switched = false;
    void *before = NULL;
};

// A device that pinned memory was allocated for: any that has a context can free it.
std::atomic<int32_t> pinned_for{0};

// The device's pool gives nothing back to the driver until it is destroyed: a batch needs
// the memory that the one before it gave up.
cudaError_t keep_memory(int32_t device)
{
    cudaMemPool_t pool;
    cudaError_t code = cudaDeviceGetDefaultMemPool(&pool, device);
    uint64_t keep = UINT64_MAX, now = 0;
    if (code == cudaSuccess)
        code = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &now);
    if (code == cudaSuccess && now != keep)
        code = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
    return code;
}

} // namespace

hr_status hr_cuda_use(int32_t device, hr_error *error)
{
    HR_CUDA_TRY(cudaSetDevice(device));
    return HR_STATUS_OK;
}

hr_status hr_cuda_host_alloc(int32_t device, size_t size, void **out, hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaHostAlloc(out, size, cudaHostAllocPortable));
    pinned_for.store(device, std::memory_order_relaxed);
    return HR_STATUS_OK;
}

void hr_cuda_host_free(void *memory)
{
    Using use(pinned_for.load(std::memory_order_relaxed));
    (void)cudaFreeHost(memory);
}

hr_status hr_cuda_alloc(int32_t device, void *stream, size_t size, void **out, hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaMallocAsync(out, size ? size : 1, (cudaStream_t)stream));
    return HR_STATUS_OK;
}

void hr_cuda_free(int32_t device, void *stream, void *memory)
{
    Using use(device);
    (void)cudaFreeAsync(memory, (cudaStream_t)stream);
}

hr_status hr_cuda_stream_create(int32_t device, void **out, hr_error *error)
{
    Using use(device);
    cudaStream_t stream;
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(keep_memory(device));
    HR_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    *out = stream;
    return HR_STATUS_OK;
}

void hr_cuda_stream_destroy(int32_t device, void *stream)
{
    Using use(device);
    (void)cudaStreamSynchronize((cudaStream_t)stream);
    (void)cudaStreamDestroy((cudaStream_t)stream);
}

hr_status hr_cuda_event_create(int32_t device, bool timed, void **out, hr_error *error)
{
    Using use(device);
    cudaEvent_t event;
    unsigned flags = cudaEventBlockingSync | (timed ? 0 : cudaEventDisableTiming);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaEventCreateWithFlags(&event, flags));
    *out = event;
    return HR_STATUS_OK;
}

void hr_cuda_event_destroy(int32_t device, void *event)
{
    Using use(device);
    (void)cudaEventDestroy((cudaEvent_t)event);
}

hr_status hr_cuda_event_record(int32_t device, void *event, void *stream, hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream));
    return HR_STATUS_OK;
}

hr_status hr_cuda_event_await(int32_t device, void *event, void *stream, hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0));
    return HR_STATUS_OK;
}

hr_status hr_cuda_event_wait(int32_t device, void *event, hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaEventSynchronize((cudaEvent_t)event));
    return HR_STATUS_OK;
}

hr_status hr_cuda_event_done(int32_t device, void *event, bool *done, hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    cudaError_t code = cudaEventQuery((cudaEvent_t)event);
    *done = code == cudaSuccess;
    if (code != cudaErrorNotReady)
        HR_CUDA_TRY(code);
    return HR_STATUS_OK;
}

hr_status hr_cuda_event_elapsed(void *from, void *to, float *ms, hr_error *error)
{
    HR_CUDA_TRY(cudaEventElapsedTime(ms, (cudaEvent_t)from, (cudaEvent_t)to));
    return HR_STATUS_OK;
}

hr_status hr_cuda_copy_async(int32_t device, void *stream, void *dst, const void *src, size_t size,
                             hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaMemcpyAsync(dst, src, size, cudaMemcpyDefault, (cudaStream_t)stream));
    return HR_STATUS_OK;
}

hr_status hr_cuda_zero(int32_t device, void *stream, void *dst, size_t size, hr_error *error)
{
    Using use(device);
    HR_CUDA_TRY(use.code);
    HR_CUDA_TRY(cudaMemsetAsync(dst, 0, size, (cudaStream_t)stream));
    return HR_STATUS_OK;
}
