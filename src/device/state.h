/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to device/: what the parts of a device share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"

enum { HR__CONSTANT_LISTS = 256, HR__SEEN = 1024 };

typedef struct hr__chunk hr__chunk;
typedef struct hr__constant hr__constant;
typedef struct hr__launch hr__launch;
typedef struct hr__memory hr__memory;

struct hr_device {
    atomic_size_t refs, used;
    void (*destroy)(hr_device *d); /* called when the last reference is dropped */
    const hr_cuda_module_def *module;
    hr_cuda_info info;
    int32_t id;
    size_t limit, chunk_size;
    void *free_stream; /* memory is released in its order */
    /* The allocator of outputs; NULL: the CUDA runtime's. */
    const hr_device_allocator *_Atomic allocator;
    /* Bytes that the device keeps, by their hash; and hashes of bytes that were staged lately. */
    hr__constant *_Atomic constants[HR__CONSTANT_LISTS];
    _Atomic uint32_t seen[HR__SEEN];
    pthread_mutex_t lock;       /* guards the following members */
    hr__chunk *chunks;          /* free chunks of chunk_size ... */
    hr__chunk *large;           /* ... and larger ones, if there is no limit */
    hr__launch *launches;       /* free launches */
    hr__chunk *constant_chunks; /* the first one is being filled */
    size_t constant_bytes;
    hr__memory *lent; /* memory of the allocator that streams may still be using */
};

hr_device *hr__device_ref(hr_device *d);
hr_status hr__device_charge(hr_device *d, size_t size, hr_error *error);
void hr__device_discharge(hr_device *d, size_t size);
