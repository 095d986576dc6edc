// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The calling thread's current device.
#pragma once

#include <cuda_runtime_api.h>

#include <stdint.h>

void *hr_cuda_current_context();            // the calling thread's CUcontext, or NULL
void hr_cuda_restore_context(void *before); // makes it current again

// Switches the calling thread to a device for the duration of a call. Afterwards the thread has its
// previous context, or none: cudaSetDevice would create a context of hundreds of megabytes on a
// device that may not be used otherwise.
class Using
{
  public:
    explicit Using(int32_t device);
    ~Using();
    cudaError_t code;

  private:
    bool switched = false;
    void *before = NULL;
};
