/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What libheadrace_cuda.so offers: one exported entry, hr_cuda_module, that is looked up with
 * dlsym. The module links the CUDA runtime statically and nothing of ours. */
#ifndef HR_CUDA_CUDA_H
#define HR_CUDA_CUDA_H

#include "headrace/headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_CUDA_ABI_VERSION 1

typedef struct hr_cuda_device {
    char name[256];
    int32_t major, minor; /* compute capability */
    int32_t multiprocessors;
    size_t memory; /* bytes */
} hr_cuda_device;

typedef struct hr_cuda_module_def {
    uint32_t abi;         /* HR_CUDA_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_cuda_module_def) of whoever compiled the module */
    /* 0 where there is no driver or no device: that is an answer, not an error. */
    hr_status (*device_count)(int32_t *count, hr_error *error);
    hr_status (*device_query)(int32_t device, hr_cuda_device *out, hr_error *error);
} hr_cuda_module_def;

typedef const hr_cuda_module_def *(*hr_cuda_module_fn)(void);
HR_API const hr_cuda_module_def *hr_cuda_module(void);

#ifdef __cplusplus
}
#endif
#endif
