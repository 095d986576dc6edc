/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What operators ask of the executor about the sample that they work on, besides what plug-ins may
 * ask (headrace/op.h). The definitions are in exec/task.c. */
#pragma once

#include "core/core.h"

struct hr_cache;
struct hr_device;

/* The cache of the task's pipeline (io/cache.h), or NULL. */
struct hr_cache *hr_task_cache(const hr_task *task);
/* Whether the task's pipeline puts transcoded files into the cache. */
bool hr_task_transcodes(const hr_task *task);
/* The device that an output is copied to, if nothing else uses it: the operator may make it there.
 * Otherwise NULL. */
struct hr_device *hr_task_device(const hr_task *task, int32_t output);
/* Sets data and buffer of the output `t` to memory of this device, in the order of `stream`. The
 * work that writes it must be done when the operator returns. */
hr_status hr_task_device_memory(hr_task *task, void *stream, hr_tensor *t, hr_error *error);
/* Says something that holds for many samples: it is listed once per node, for the first of them,
 * and is not an error, not even with strict=True. */
void hr_task_note(hr_task *task, const char *message);
