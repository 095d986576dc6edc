// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Errors of the module, which does not link the library.
#pragma once

#include <cuda_runtime_api.h>

#include <stdio.h>

#include "headrace/headrace.h"

static inline hr_status hr_cuda_fail(hr_error *error, const char *call, cudaError_t code)
{
    hr_status status = code == cudaErrorMemoryAllocation ? HR_STATUS_NO_MEMORY : HR_STATUS_ERROR;
    if (error) {
        error->status = status;
        snprintf(error->message, sizeof error->message, "%s: %s (%s)", call,
                 cudaGetErrorString(code), cudaGetErrorName(code));
    }
    return status;
}

#define HR_CUDA_TRY(call)                                                                          \
    do {                                                                                           \
        cudaError_t hr_cuda_code = (call);                                                         \
        if (hr_cuda_code != cudaSuccess) {                                                         \
            (void)cudaGetLastError(); /* clears errors that are not sticky */                      \
            return hr_cuda_fail(error, #call, hr_cuda_code);                                       \
        }                                                                                          \
    } while (0)
