/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Inside device/: the device, and the chunks that staged memory is cut from. */
#ifndef HR_DEVICE_LAUNCH_H
#define HR_DEVICE_LAUNCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"

typedef struct hr__chunk { /* pinned memory and its twin */
    struct hr__chunk *next;
    char *host, *device;
    size_t size, used, copied;
} hr__chunk;

typedef struct hr__launch hr__launch;
typedef struct hr__memory hr__memory;

struct hr_device {
    atomic_size_t refs, used;
    const hr_cuda_module_def *module;
    hr_cuda_info info;
    int32_t id;
    size_t limit, chunk_size;
    void *free_stream; /* memory is given back in its order */
    /* Whose memory outputs are in; NULL: the CUDA runtime's. */
    const hr_device_allocator *_Atomic allocator;
    pthread_mutex_t lock; /* guards what follows */
    hr__chunk *chunks;    /* waiting, of chunk_size ... */
    hr__chunk *large;     /* ... and larger ones, where there is no limit */
    hr__launch *launches; /* waiting */
    hr__memory *lent;     /* the allocator's, which streams may be using still */
};

hr_device *hr__device_ref(hr_device *d);
hr_status hr__device_charge(hr_device *d, size_t size, hr_error *error);
void hr__device_discharge(hr_device *d, size_t size);
size_t hr__chunk_size(size_t memory_limit);
void hr__launches_free(hr_device *d);          /* those that wait, and the chunks */
void hr__lent_return(hr_device *d, bool wait); /* what is in use no more, or all of it */

#endif
