/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The entry of the CUDA module and what it tells about devices. Operators on the GPU will come as tables beside
 * it; there are none yet. */
#include <cuda_runtime_api.h>

#include <stdio.h>

#include "cuda/cuda.h"

static hr_status cuda_fail(hr_error *error, const char *call, cudaError_t code)
{
    if (error) {
        error->status = HR_STATUS_ERROR;
        snprintf(error->message, sizeof error->message, "%s: %s (%s)", call, cudaGetErrorString(code),
                 cudaGetErrorName(code));
    }
    return HR_STATUS_ERROR;
}

static hr_status device_count(int32_t *count, hr_error *error)
{
    int n = 0;
    cudaError_t code = cudaGetDeviceCount(&n);
    if (code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError(); /* forget it: the answer is 0 */
        n = 0;
    } else if (code != cudaSuccess) {
        return cuda_fail(error, "cudaGetDeviceCount", code);
    }
    *count = n;
    return HR_STATUS_OK;
}

static hr_status device_query(int32_t device, hr_cuda_device *out, hr_error *error)
{
    cudaDeviceProp properties;
    cudaError_t code = cudaGetDeviceProperties(&properties, device);
    if (code != cudaSuccess)
        return cuda_fail(error, "cudaGetDeviceProperties", code);
    snprintf(out->name, sizeof out->name, "%s", properties.name);
    out->major = properties.major;
    out->minor = properties.minor;
    out->multiprocessors = properties.multiProcessorCount;
    out->memory = properties.totalGlobalMem;
    return HR_STATUS_OK;
}

const hr_cuda_module_def *hr_cuda_module(void)
{
    static const hr_cuda_op *const ops[] = {NULL};
    static const hr_cuda_module_def module = {HR_CUDA_ABI_VERSION,
                                              sizeof(hr_cuda_module_def),
                                              device_count,
                                              device_query,
                                              NULL,
                                              NULL,
                                              ops};
    return &module;
}
