// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The module's entry point, and queries about devices.
#include <cuda_runtime_api.h>

#include "cuda/error.cuh"
#include "cuda/ops/ops.h"
#include "cuda/runtime.cuh"
#include "cuda/using.cuh"

#ifdef HR_NVDEC
extern const hr_video_module_def hr_cuda_video; // video/nvdec.cu
#define VIDEO &hr_cuda_video
#else
#define VIDEO nullptr
#endif

static hr_status device_count(int32_t *count, hr_error *error)
{
    int n = 0;
    cudaError_t code = cudaGetDeviceCount(&n);
    if (code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError(); // clears the error; there are 0 devices
        n = 0;
    } else if (code != cudaSuccess) {
        return hr_cuda_fail(error, "cudaGetDeviceCount", code);
    }
    *count = n;
    return HR_STATUS_OK;
}

static hr_status device_query(int32_t device, hr_cuda_info *out, hr_error *error)
{
    cudaDeviceProp properties;
    HR_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
    snprintf(out->name, sizeof out->name, "%s", properties.name);
    out->major = properties.major;
    out->minor = properties.minor;
    out->multiprocessors = properties.multiProcessorCount;
    out->memory = properties.totalGlobalMem;
    HR_CUDA_TRY(cudaDeviceGetPCIBusId(out->pci, sizeof out->pci, device));
    return HR_STATUS_OK;
}

const hr_cuda_module_def *hr_cuda_module(void)
{
    static const hr_cuda_decoder jpeg = {"jpeg", hr_cuda_jpeg_decode};
    static const hr_cuda_decoder jpeg2000 = {"jpeg2000", hr_cuda_jpeg2000_decode};
    static const hr_cuda_decoder tiff = {"tiff", hr_cuda_tiff_decode};
    static const hr_cuda_decoder *const decoders[] = {&jpeg, &jpeg2000, &tiff, nullptr};
    static const hr_cuda_module_def module = {
        HR_CUDA_ABI_VERSION,
        sizeof(hr_cuda_module_def),
        device_count,
        device_query,
        hr_cuda_host_alloc,
        hr_cuda_host_free,
        hr_cuda_alloc,
        hr_cuda_free,
        hr_cuda_stream_create,
        hr_cuda_stream_destroy,
        hr_cuda_event_create,
        hr_cuda_event_destroy,
        hr_cuda_event_record,
        hr_cuda_event_await,
        hr_cuda_event_wait,
        hr_cuda_event_done,
        hr_cuda_event_elapsed,
        hr_cuda_copy_async,
        hr_cuda_zero,
        hr_cuda_use,
        hr_cuda_current_context,
        hr_cuda_restore_context,
        hr_cuda_copy_all,
        hr_cuda_program_run,
        hr_cuda_ops,
        decoders,
        VIDEO,
    };
    return &module;
}
