// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The functions of the module's table, which its other files implement.
#pragma once

#include "device/module.h"

hr_status hr_cuda_host_alloc(int32_t device, size_t size, void **out, hr_error *error);
void hr_cuda_host_free(void *memory);
hr_status hr_cuda_alloc(int32_t device, void *stream, size_t size, void **out, hr_error *error);
void hr_cuda_free(int32_t device, void *stream, void *memory);
hr_status hr_cuda_stream_create(int32_t device, void **out, hr_error *error);
void hr_cuda_stream_destroy(int32_t device, void *stream);
hr_status hr_cuda_event_create(int32_t device, bool timed, void **out, hr_error *error);
void hr_cuda_event_destroy(int32_t device, void *event);
hr_status hr_cuda_event_record(int32_t device, void *event, void *stream, hr_error *error);
hr_status hr_cuda_event_await(int32_t device, void *event, void *stream, hr_error *error);
hr_status hr_cuda_event_wait(int32_t device, void *event, hr_error *error);
hr_status hr_cuda_event_done(int32_t device, void *event, bool *done, hr_error *error);
hr_status hr_cuda_event_elapsed(void *from, void *to, float *ms, hr_error *error);
hr_status hr_cuda_copy_async(int32_t device, void *stream, void *dst, const void *src, size_t size,
                             hr_error *error);
hr_status hr_cuda_zero(int32_t device, void *stream, void *dst, size_t size, hr_error *error);
hr_status hr_cuda_use(int32_t device, hr_error *error);
hr_status hr_cuda_copy_all(hr_cuda_launch *l, hr_staged copies, int32_t count, hr_error *error);
hr_status hr_cuda_program_run(hr_cuda_launch *l, hr_staged programs, int32_t count,
                              hr_error *error);
hr_status hr_cuda_jpeg_decode(hr_cuda_launch *l, hr_staged images, int32_t count, hr_error *error);
hr_status hr_cuda_tiff_decode(hr_cuda_launch *l, hr_staged images, int32_t count, hr_error *error);
hr_status hr_cuda_jpeg2000_decode(hr_cuda_launch *l, hr_staged images, int32_t count,
                                  hr_error *error);
