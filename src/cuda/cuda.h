/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What libheadrace_cuda.so offers: one exported entry, hr_cuda_module, that is looked up with
 * dlsym. The module links the CUDA runtime statically and nothing of ours. Nothing here waits for
 * the device unless it says so. */
#ifndef HR_CUDA_CUDA_H
#define HR_CUDA_CUDA_H

#include "codecs/jpeg/device.h"
#include "headrace/headrace.h"
#include "headrace/operator.h"
#include "image/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_CUDA_ABI_VERSION 2

typedef struct hr_cuda_device {
    char name[256];
    int32_t major, minor; /* compute capability */
    int32_t multiprocessors;
    size_t memory; /* bytes */
} hr_cuda_device;

/* Where kernels are queued. */
typedef struct hr_cuda_launch hr_cuda_launch;
struct hr_cuda_launch {
    void *stream; /* cudaStream_t */
    /* Device memory that lives until what is queued so far, and what this launch queues, is done:
     * 256-byte aligned, not zeroed. */
    hr_status (*scratch)(hr_cuda_launch *l, size_t size, void **out, hr_error *error);
    size_t scratch_limit; /* a hint: larger batches are worked off in parts that need about this */
    int32_t multiprocessors;
};

/* An operator on the device that is no image program; matched to hr_op_def by name. Inputs' and
 * outputs' data are device addresses; `state` and the arguments are the host's. One launch for all
 * samples. */
typedef struct hr_cuda_op {
    const char *name;
    hr_status (*run)(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                     hr_error *error);
} hr_cuda_op;

typedef struct hr_cuda_module_def {
    uint32_t abi;         /* HR_CUDA_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_cuda_module_def) of whoever compiled the module */
    /* 0 where there is no driver or no device: that is an answer, not an error. */
    hr_status (*device_count)(int32_t *count, hr_error *error);
    hr_status (*device_query)(int32_t device, hr_cuda_device *out, hr_error *error);

    /* The records lie in staged memory, one behind the other: `images.host` is read here to size
     * launches, `images.device` by the kernels. */
    hr_status (*jpeg_decode)(hr_cuda_launch *l, hr_staged images, int32_t count, hr_error *error);
    hr_status (*program_run)(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error);
    const hr_cuda_op *const *ops; /* NULL-terminated */
} hr_cuda_module_def;

typedef const hr_cuda_module_def *(*hr_cuda_module_fn)(void);
HR_API const hr_cuda_module_def *hr_cuda_module(void);

#ifdef __cplusplus
}
#endif
#endif
