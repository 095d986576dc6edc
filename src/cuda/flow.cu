// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// What ops/flow_session.cu needs of the driver.
#include "cuda/error.cuh"
#include "cuda/ops/flow_session.cuh"
#include "cuda/using.cuh"

#include <dlfcn.h>

flow_entry hr_cuda_flow_entry(void)
{
    void *lib = dlopen("libnvidia-opticalflow.so.1", RTLD_NOW | RTLD_LOCAL);
    return lib ? (flow_entry)dlsym(lib, FLOW_ENTRY_NAME) : NULL;
}

hr_status hr_cuda_flow_context(int32_t *device, void **context, hr_error *error)
{
    HR_CUDA_TRY(cudaGetDevice(device));
    *context = hr_cuda_current_context();
    return HR_STATUS_OK;
}
