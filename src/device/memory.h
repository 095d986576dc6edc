/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Buffers of device memory. */
#pragma once

#include "device/device.h"

/* Device memory that counts under the limit, usable in the order of `stream`. */
hr_status hr_device_buffer(hr_device *d, void *stream, size_t size, hr_buffer **out,
                           hr_error *error);
/* HR_STATUS_STATE for a device's buffer in a forked child, where CUDA cannot be used. */
hr_status hr_device_buffer_check(const hr_buffer *buffer, hr_error *error);
/* Work queued on the stream from now on waits until the buffer is written, including writes of
 * another stream to foreign memory (hr_buffer_adopt_cuda, hr_batch_copy_cuda). Host buffers are
 * ignored, here and below. */
void hr_device_buffer_await(hr_buffer *buffer, void *stream);
/* The same. In addition, the buffer is used on this stream, which must live longer than the buffer:
 * its memory is released only after the work that is queued there by then. */
void hr_device_buffer_used(hr_buffer *buffer, void *stream);

/* Returns memory of the allocator that no stream uses any more, or waits and returns all of it. */
void hr__lent_return(hr_device *d, bool wait);
