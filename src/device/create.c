/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Creates and destroys devices. */
#include "device/launch.h"
#include "device/memory.h"
#include "device/state.h"

static void destroy(hr_device *d)
{
    hr__launches_free(d);
    hr__lent_return(d, true);
    if (d->free_stream)
        d->module->stream_destroy(d->id, d->free_stream);
    pthread_mutex_destroy(&d->lock);
    hr_free(d);
}

hr_status hr_device_create(hr_device **out, int32_t id, size_t memory_limit, hr_error *error)
{
    const hr_cuda_module_def *module;
    int32_t count = 0;
    HR_TRY(hr_module_open(&module, error));
    HR_TRY(module->device_count(&count, error));
    if (count < 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "this machine has no CUDA device; use device=\"cpu\"");
    if (id < 0 || id >= count)
        return hr_fail(error, HR_STATUS_ERROR,
                       "device_id is %d; this machine has %d CUDA devices, numbered from 0", id,
                       count);
    hr_device *d = hr_calloc(1, sizeof(*d), error);
    HR_TRY_ALLOC(d);
    atomic_init(&d->refs, 1);
    atomic_init(&d->used, 0);
    pthread_mutex_init(&d->lock, NULL);
    d->destroy = destroy;
    d->module = module;
    d->id = id;
    d->limit = memory_limit;
    d->chunk_size = hr__chunk_size(memory_limit);
    hr_status status = module->device_query(id, &d->info, error);
    if (status == HR_STATUS_OK)
        status = module->stream_create(id, &d->free_stream, error);
    if (status != HR_STATUS_OK) {
        hr_device_unref(d);
        return status;
    }
    *out = d;
    return HR_STATUS_OK;
}
