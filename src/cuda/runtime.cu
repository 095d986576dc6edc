// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Memory, streams and events. Every call names its device. The calling thread's current device is
// restored afterwards.
#include "cuda/error.cuh"
#include "cuda/ops/flow_session.cuh"
#include "cuda/runtime.cuh"
#include "cuda/using.cuh"

#include <atomic>

#include <dlfcn.h>
#include <pthread.h>

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

// A device for which pinned memory was allocated. Any device with a context can free it.
std::atomic<int32_t> pinned_for{0};

// Each device has a pool of our own: the default pool belongs to the process, and other libraries
// may have changed its settings. A pool is created with the first stream and never destroyed: the
// driver crashed when memory was allocated after a pool had been destroyed while some of its memory
// was still in use. When the last stream is destroyed, the pool returns its unused memory to the
// driver.
struct Pool {
    cudaMemPool_t handle;
    int64_t streams;
};
constexpr int32_t POOLS_MAX = 64; // devices; further ones use their default pool
Pool pools[POOLS_MAX];
pthread_rwlock_t pools_lock = PTHREAD_RWLOCK_INITIALIZER;

// While streams exist, the pool returns nothing to the driver: a batch needs the memory that the
// previous one released.
cudaError_t make_pool(int32_t device, cudaMemPool_t *out)
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    uint64_t keep = UINT64_MAX;
    cudaError_t code = cudaMemPoolCreate(out, &properties);
    if (code != cudaSuccess)
        return code;
    code = cudaMemPoolSetAttribute(*out, cudaMemPoolAttrReleaseThreshold, &keep);
    if (code != cudaSuccess)
        (void)cudaMemPoolDestroy(*out);
    return code;
}

cudaError_t take_pool(int32_t device)
{
    if (device >= POOLS_MAX)
        return cudaSuccess;
    cudaError_t code = cudaSuccess;
    pthread_rwlock_wrlock(&pools_lock);
    if (!pools[device].handle)
        code = make_pool(device, &pools[device].handle);
    if (code == cudaSuccess)
        pools[device].streams++;
    pthread_rwlock_unlock(&pools_lock);
    return code;
}

// Returns whether this was the last stream.
bool drop_pool(int32_t device)
{
    if (device >= POOLS_MAX)
        return false;
    pthread_rwlock_wrlock(&pools_lock);
    bool last = --pools[device].streams == 0;
    if (last)
        (void)cudaMemPoolTrimTo(pools[device].handle, 0);
    pthread_rwlock_unlock(&pools_lock);
    return last;
}

cudaError_t alloc_memory(int32_t device, cudaStream_t stream, size_t size, void **out)
{
    pthread_rwlock_rdlock(&pools_lock);
    bool ours = device < POOLS_MAX && pools[device].handle;
    cudaError_t code = ours ? cudaMallocFromPoolAsync(out, size, pools[device].handle, stream)
                            : cudaMallocAsync(out, size, stream);
    pthread_rwlock_unlock(&pools_lock);
    return code;
}

} // namespace

void *hr_cuda_current_context()
{
    void *context = NULL;
    if (driver().get)
        (void)driver().get(&context);
    return context;
}

void hr_cuda_restore_context(void *before)
{
    if (driver().set && hr_cuda_current_context() != before)
        (void)driver().set(before);
}

Using::Using(int32_t device)
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

Using::~Using()
{
    if (switched)
        (void)driver().set(before);
}

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
    HR_CUDA_TRY(alloc_memory(device, (cudaStream_t)stream, size ? size : 1, out));
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
    HR_CUDA_TRY(take_pool(device));
    cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (code != cudaSuccess)
        (void)drop_pool(device);
    HR_CUDA_TRY(code);
    *out = stream;
    return HR_STATUS_OK;
}

void hr_cuda_stream_destroy(int32_t device, void *stream)
{
    Using use(device);
    (void)cudaStreamSynchronize((cudaStream_t)stream);
    (void)cudaStreamDestroy((cudaStream_t)stream);
    if (drop_pool(device))
        hr_cuda_flow_drop_kept(device);
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
