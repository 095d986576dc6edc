/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which CPUs the workers run on. */
#pragma once

#include "core/core.h"

/* Chooses CPUs for `count` workers; -1: any. `pci`: the bus address of the GPU to be near, or NULL.
 * Call it in the creating thread, because it reads the environment, which Python may change while
 * other threads run. */
hr_status hr__affinity_choose(const char *pci, int *cpu, int32_t count, hr_error *error);
int32_t hr__cpu_count(void);    /* CPUs that the process may use */
void hr__affinity_pin(int cpu); /* pins the calling thread; < 0: does nothing */
