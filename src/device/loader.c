/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Finds the CUDA module: in this library's folder, or at HEADRACE_CUDA_MODULE. */
#include "core/library.h"
#include "device/device.h"

#include <string.h>

hr_status hr_module_open(const hr_cuda_module_def **out, hr_error *error)
{
    static const hr_library library = {.name = "CUDA module",
                                       .file = "libheadrace_cuda.so",
                                       .variable = "HEADRACE_CUDA_MODULE",
                                       .entry = "hr_cuda_module",
                                       .abi = HR_CUDA_ABI_VERSION,
                                       .size = sizeof(hr_cuda_module_def)};
    void *symbol = NULL;
    hr_cuda_module_fn entry = NULL;
    HR_TRY(hr_library_open(&library, &symbol, error));
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    return hr_library_check(&library, *out, error);
}
