/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A CUDA device as the executor sees it, with its module and its memory limit. */
#pragma once

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
/* Whether outputs and scratch in use are a small part of the device's memory, or of the limit. */
bool hr_device_has_room(const hr_device *d);
/* What runs the operator on the device: its own function or the module's; NULL: nothing does. */
hr_cuda_run_fn hr_device_op(const hr_device *d, const hr_op_def *def);
const hr_cuda_decoder *hr_device_decoder(const hr_device *d, const char *name); /* or NULL */

/* From now on, outputs are allocated by this allocator. Any thread. */
void hr_device_set_allocator(hr_device *d, const hr_device_allocator *allocator);

/* From now on, the pool's blocks of at least `least` bytes are pinned, if there is a module and
 * this device. */
void hr_device_pin(hr_pool *pool, int32_t id, size_t least);
/* Pinned host memory. */
hr_status hr_device_pinned(hr_device *d, size_t size, hr_buffer **out, hr_error *error);
