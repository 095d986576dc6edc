/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The kernels of cuda/image on the host, one thread after the other. */
#pragma once

#include "image/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All addresses in the record are host addresses. `threads`: per block. */
void hr_serial_program_run(const hr_device_program *p, int threads);

#ifdef __cplusplus
}
#endif
