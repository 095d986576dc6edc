/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A CUDA device as the executor sees it: the module, counted device memory, and launches. A launch
 * is a stream with the memory that a batch needs. */
#ifndef HR_DEVICE_DEVICE_H
#define HR_DEVICE_DEVICE_H

#include "core/core.h"
#include "core/staging.h"
#include "device/module.h"

/* Opens libheadrace_cuda.so (HEADRACE_CUDA_MODULE names another file) once per process; it stays
 * open. */
hr_status hr_module_open(const hr_cuda_module_def **out, hr_error *error);

typedef struct hr_device hr_device;
/* `memory_limit` bytes of outputs and scratch may be in use at a time, 0 for no limit. */
hr_status hr_device_create(hr_device **out, int32_t id, size_t memory_limit, hr_error *error);
void hr_device_unref(hr_device *d); /* buffers and launches hold references too */
const hr_cuda_module_def *hr_device_module(const hr_device *d);
int32_t hr_device_id(const hr_device *d);
const hr_cuda_info *hr_device_info(const hr_device *d);
const hr_cuda_op *hr_device_op(const hr_device *d, const char *name); /* NULL: there is none */

/* Outputs are allocated by it from now on. Any thread. */
void hr_device_set_allocator(hr_device *d, const hr_device_allocator *allocator);

/* Counted memory of the device, usable in the order of `stream`. */
hr_status hr_device_buffer(hr_device *d, void *stream, size_t size, hr_buffer **out,
                           hr_error *error);
/* The pool's blocks of `least` bytes and more are pinned from now on, if there is a module and this
 * device. */
void hr_device_pin(hr_pool *pool, int32_t id, size_t least);
/* Pinned host memory. */
hr_status hr_device_pinned(hr_device *d, size_t size, hr_buffer **out, hr_error *error);
/* HR_STATUS_STATE for a device's buffer in a forked child, where CUDA cannot be used. */
hr_status hr_device_buffer_check(const hr_buffer *buffer, hr_error *error);
/* Work queued on the stream from now on waits until the buffer is written, also by another stream
 * to foreign memory (hr_buffer_adopt_cuda, hr_batch_copy_cuda). Host buffers are ignored, here and
 * below. */
void hr_device_buffer_await(hr_buffer *buffer, void *stream);
/* The same, and the buffer is used on this stream, which lives longer than the buffer: its memory
 * is taken back only when what is queued there by then is done. */
void hr_device_buffer_used(hr_buffer *buffer, void *stream);

/* ---- launches ---- */
typedef struct hr_launch hr_launch;
struct hr_launch {
    hr_staging staging; /* any thread; flush: the launching one */
    hr_cuda_launch cuda;
    hr_device *device;
    void *done; /* event behind all that the launch queued */
};
hr_status hr_launch_create(hr_launch **out, hr_device *d, hr_error *error);
/* Gives all memory back; the event must have come. The launch stays with the device for the next
 * hr_launch_create. NULL is fine. */
void hr_launch_destroy(hr_launch *l);
/* After a call that failed: waits for what was queued, whatever state it is in. After that it
 * can only be destroyed. */
void hr_launch_abandon(hr_launch *l);
/* Drops scratch and keeps what was staged: the launch will be made once more. */
void hr_launch_rewind(hr_launch *l);

#endif
