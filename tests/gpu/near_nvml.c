/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Replaces NVML in tests: reports the CPU HEADRACE_NEAR_CPU as near every GPU. */
#include <stdlib.h>
#include <string.h>

#include "headrace/headrace.h"

HR_API int nvmlInit_v2(void);
HR_API int nvmlShutdown(void);
HR_API int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device);
HR_API int nvmlDeviceGetCpuAffinity(void *device, unsigned count, unsigned long *words);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
    *device = &pci;
    return strcmp(pci, "0000:01:00.0") != 0;
}

int nvmlDeviceGetCpuAffinity(void *device, unsigned count, unsigned long *words)
{
    const unsigned bits = 8 * sizeof(*words);
    const char *cpu = getenv("HEADRACE_NEAR_CPU");
    unsigned number = cpu ? (unsigned)atoi(cpu) : 0;
    (void)device;
    memset(words, 0, count * sizeof(*words));
    words[number / bits] |= 1UL << number % bits;
    return 0;
}
