/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The interface of libheadrace_cuda.so: one exported function, hr_cuda_module, which is looked up
 * with dlsym. The module links the CUDA runtime statically and none of our libraries. Functions do
 * not wait for the device unless they say so, and may be called from any thread. */
#pragma once

#include "codecs/video/module.h"
#include "headrace/headrace.h"
#include "headrace/operator.h"
#include "image/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_CUDA_ABI_VERSION 14

typedef struct hr_cuda_info {
    char name[256];
    int32_t major, minor; /* compute capability */
    int32_t multiprocessors;
    size_t memory; /* bytes */
    char pci[32];  /* bus address, as NVML takes it */
} hr_cuda_info;

/* An operator on the device that is not an image program, matched to hr_op_def by name. */
typedef struct hr_cuda_op {
    const char *name;
    hr_cuda_run_fn run;
} hr_cuda_op;

/* A decoder on the device: the other half of a hr_coded_decoder, matched to it by name. Its records
 * follow one another in staged memory. */
typedef struct hr_cuda_decoder {
    const char *name;
    hr_status (*decode)(hr_cuda_launch *l, hr_staged records, int32_t count, hr_error *error);
} hr_cuda_decoder;

/* One piece of a copy on the device. */
typedef struct hr_cuda_copy {
    void *dst;
    const void *src;
    size_t size;
} hr_cuda_copy;

typedef struct hr_cuda_module_def {
    uint32_t abi;         /* HR_CUDA_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_cuda_module_def) when the module was compiled */
    /* 0, without an error, if there is no driver or device. */
    hr_status (*device_count)(int32_t *count, hr_error *error);
    hr_status (*device_query)(int32_t device, hr_cuda_info *out, hr_error *error);

    /* ---- memory, streams, events; a stream or event is a cudaStream_t or cudaEvent_t ---- */
    hr_status (*host_alloc)(int32_t device, size_t size, void **out, hr_error *error); /* pinned */
    void (*host_free)(void *memory);
    /* Stream-ordered: the memory can be used by work queued on the stream from now on. */
    hr_status (*alloc)(int32_t device, void *stream, size_t size, void **out, hr_error *error);
    void (*free)(int32_t device, void *stream, void *memory);
    hr_status (*stream_create)(int32_t device, void **out, hr_error *error);
    void (*stream_destroy)(int32_t device, void *stream); /* waits for it */
    hr_status (*event_create)(int32_t device, bool timed, void **out, hr_error *error);
    void (*event_destroy)(int32_t device, void *event);
    hr_status (*event_record)(int32_t device, void *event, void *stream, hr_error *error);
    /* Work queued on the stream from now on waits for the event. */
    hr_status (*event_await)(int32_t device, void *event, void *stream, hr_error *error);
    hr_status (*event_wait)(int32_t device, void *event, hr_error *error); /* blocks the calling
                                                                              thread without
                                                                              spinning */
    hr_status (*event_done)(int32_t device, void *event, bool *done, hr_error *error);
    hr_status (*event_elapsed)(void *from, void *to, float *ms, hr_error *error);
    hr_status (*copy)(int32_t device, void *stream, void *dst, const void *src, size_t size,
                      hr_error *error); /* any direction; host memory is pinned */
    hr_status (*zero)(int32_t device, void *stream, void *dst, size_t size, hr_error *error);
    hr_status (*use)(int32_t device, hr_error *error); /* makes it the calling thread's current
                                                          device */
    void *(*current)(void);        /* the calling thread's current context, or NULL */
    void (*restore)(void *before); /* makes it current again */

    /* ---- work; the device must be current ---- */
    /* Records are consecutive in staged memory. The host reads `host` to size launches, the kernels
     * read `device`. */
    hr_status (*copy_all)(hr_cuda_launch *l, hr_staged copies, int32_t count, hr_error *error);
    hr_status (*program_run)(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error);
    const hr_cuda_op *const *ops;           /* NULL-terminated */
    const hr_cuda_decoder *const *decoders; /* NULL-terminated */
    const hr_video_module_def *video;       /* NVDEC; NULL if the module was built without */
} hr_cuda_module_def;

typedef const hr_cuda_module_def *(*hr_cuda_module_fn)(void);
HR_API const hr_cuda_module_def *hr_cuda_module(void);

#ifdef __cplusplus
}
#endif
