/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* libheadrace_fakecuda.so: the CUDA module's table over host memory, for tests without a GPU. See
 * fake_module.c for the environment variables. In addition to hr_cuda_module it exports the
 * functions below, which tests find by opening the same file. */
#pragma once

#include "device/module.h"

typedef struct fake_counts {
    int64_t allocs, pinned, streams, events; /* alive at present */
    int64_t bytes, peak;                     /* of allocs */
    int64_t broken;  /* overwritten guards, double frees, frees by the wrong function */
    int64_t misused; /* calls with the wrong device, stream or event */
    int64_t copies;  /* calls of copy */
    int64_t work;    /* pieces of work queued on streams */
    int64_t copied;  /* bytes */
} fake_counts;

/* Waits for the work on default streams first. */
typedef void (*fake_counts_fn)(fake_counts *out);
HR_API void hr_fake_counts(fake_counts *out);
/* Replaces HEADRACE_FAKE_FAIL; NULL or "": nothing fails. No other call may be running. */
typedef void (*fake_fail_fn)(const char *spec);
HR_API void hr_fake_fail(const char *spec);
/* The calling thread's current device. */
HR_API int32_t hr_fake_current(void);

/* Queues a function in place of a kernel, for operators of plug-ins. */
HR_API hr_status hr_fake_kernel(hr_cuda_launch *l, void (*kernel)(const void *records),
                                const void *records, hr_error *error);

/* ---- internal ---- */

typedef struct fake_work fake_work;
struct fake_work {
    void (*run)(fake_work *w); /* on the stream's thread, which frees `w` afterwards */
    void *to;
    const void *from;
    size_t size;
    int32_t count;
    void (*kernel)(const void *records);
};

hr_status fake_error(hr_error *error, hr_status status, const char *call, const char *text);
/* Counts a call of this kind: HR_STATUS_OK, or the injected failure. */
hr_status fake_call(const char *kind, hr_error *error);
/* Queues a copy of `work`. */
hr_status fake_queue(void *stream, const fake_work *work, hr_error *error);
int32_t fake_current_device(void); /* the calling thread's */
/* Checks that the launch's device is current on the calling thread, as kernels need it. */
hr_status fake_current(const hr_cuda_launch *l, const char *call, hr_error *error);

/* Of a stream that fake_video.cpp uses. */
hr_status fake_stream_create(int32_t device, void **out, hr_error *error);
void fake_stream_destroy(int32_t device, void *stream);
hr_status fake_stream_wait(int32_t device, void *stream, hr_error *error); /* for all its work */

hr_status fake_copy_all(hr_cuda_launch *l, hr_staged copies, int32_t count, hr_error *error);
hr_status fake_program_run(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error);
