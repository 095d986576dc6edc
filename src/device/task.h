/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What an operator on the CPU needs to make an output on the device. */
#ifndef HR_DEVICE_TASK_H
#define HR_DEVICE_TASK_H

#include "device/device.h"

/* The device that an output is copied to, if nothing else uses it: the operator may make it there.
 * Otherwise NULL. */
hr_device *hr_task_device(const hr_task *task, int32_t output);
/* Sets data and buffer of the output `t` to memory of this device, in the order of `stream`. The
 * work that writes it must be done when the operator returns. */
hr_status hr_task_device_memory(hr_task *task, void *stream, hr_tensor *t, hr_error *error);

#endif
