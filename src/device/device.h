/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A CUDA device as the executor sees it: the module, counted device memory, and launches. A launch
 * is a stream with the memory of one batch. */
#ifndef HR_DEVICE_DEVICE_H
#define HR_DEVICE_DEVICE_H

#include "core/core.h"
#include "headrace/operator.h"
#include "device/module.h"

/* Opens libheadrace_cuda.so (HEADRACE_CUDA_MODULE names another file) once per process; it stays
 * open. */
hr_status hr_module_open(const hr_cuda_module_def **out, hr_error *error);

typedef struct hr_device hr_device;
/* At most `memory_limit` bytes of outputs and scratch may be in use at a time; 0: no limit. */
hr_status hr_device_create(hr_device **out, int32_t id, size_t memory_limit, hr_error *error);
void hr_device_unref(hr_device *d); /* buffers and launches hold references too */
const hr_cuda_module_def *hr_device_module(const hr_device *d);
int32_t hr_device_id(const hr_device *d);
const hr_cuda_info *hr_device_info(const hr_device *d);
/* What runs the operator on the device: its own function or the module's; NULL: nothing does. */
hr_cuda_run_fn hr_device_op(const hr_device *d, const hr_op_def *def);
const hr_cuda_decoder *hr_device_decoder(const hr_device *d, const char *name); /* or NULL */

/* From now on, outputs are allocated by this allocator. Any thread. */
void hr_device_set_allocator(hr_device *d, const hr_device_allocator *allocator);

/* Device memory that counts under the limit, usable in the order of `stream`. */
hr_status hr_device_buffer(hr_device *d, void *stream, size_t size, hr_buffer **out,
                           hr_error *error);
/* From now on, the pool's blocks of at least `least` bytes are pinned, if there is a module and
 * this device. */
void hr_device_pin(hr_pool *pool, int32_t id, size_t least);
/* Pinned host memory. */
hr_status hr_device_pinned(hr_device *d, size_t size, hr_buffer **out, hr_error *error);
/* HR_STATUS_STATE for a device's buffer in a forked child, where CUDA cannot be used. */
hr_status hr_device_buffer_check(const hr_buffer *buffer, hr_error *error);
/* Work queued on the stream from now on waits until the buffer is written, including writes of
 * another stream to foreign memory (hr_buffer_adopt_cuda, hr_batch_copy_cuda). Host buffers are
 * ignored, here and below. */
void hr_device_buffer_await(hr_buffer *buffer, void *stream);
/* The same. In addition, the buffer is used on this stream, which must live longer than the buffer:
 * its memory is released only after the work that is queued there by then. */
void hr_device_buffer_used(hr_buffer *buffer, void *stream);

/* ---- launches ---- */
typedef struct hr_launch hr_launch;
struct hr_launch {
    hr_staging staging; /* staging from any thread; flush from the launching one */
    hr_cuda_launch cuda;
    hr_device *device;
    void *done; /* event after everything that the launch queued */
};
hr_status hr_launch_create(hr_launch **out, hr_device *d, hr_error *error);
/* Releases all memory; the event must have completed. The device keeps the launch for the next
 * hr_launch_create. NULL is allowed. */
void hr_launch_destroy(hr_launch *l);
/* To be called after a failed call: waits for the queued work, whatever its state. Afterwards the
 * launch can only be destroyed. */
void hr_launch_abandon(hr_launch *l);
/* Drops scratch and keeps staged memory: the launch will be repeated. */
void hr_launch_rewind(hr_launch *l);

#endif
