/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A device: what it is, its memory limit, and pinned memory. */
#include "device/device.h"

#include <string.h>

#include "device/state.h"

hr_device *hr__device_ref(hr_device *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
    return d;
}

void hr_device_unref(hr_device *d)
{
    if (d && atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) == 1)
        d->destroy(d);
}

void hr_device_set_allocator(hr_device *d, const hr_device_allocator *allocator)
{
    atomic_store_explicit(&d->allocator, allocator, memory_order_release);
}

const hr_cuda_module_def *hr_device_module(const hr_device *d)
{
    return d->module;
}

int32_t hr_device_id(const hr_device *d)
{
    return d->id;
}

const hr_cuda_info *hr_device_info(const hr_device *d)
{
    return &d->info;
}

const hr_cuda_decoder *hr_device_decoder(const hr_device *d, const char *name)
{
    for (const hr_cuda_decoder *const *decoder = d->module->decoders; *decoder; decoder++)
        if (strcmp((*decoder)->name, name) == 0)
            return *decoder;
    return NULL;
}

hr_cuda_run_fn hr_device_op(const hr_device *d, const hr_op_def *def)
{
    for (const hr_cuda_op *const *op = d->module->ops; !def->run_cuda && *op; op++)
        if (strcmp((*op)->name, def->name) == 0)
            return (*op)->run;
    return def->run_cuda;
}

/* ---- counted memory ---- */

hr_status hr__device_charge(hr_device *d, size_t size, hr_error *error)
{
    size_t used = atomic_load_explicit(&d->used, memory_order_relaxed);
    do {
        if (d->limit && (size > d->limit || used > d->limit - size))
            return hr_fail(error, HR_STATUS_NO_MEMORY,
                           "%zu bytes more would exceed device_memory_limit, %zu bytes (%zu are "
                           "held by outputs and batches in flight; release outputs, lower "
                           "batch_size or prefetch_queue_depth, or raise it)",
                           size, d->limit, used);
    } while (!atomic_compare_exchange_weak_explicit(&d->used, &used, used + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    return HR_STATUS_OK;
}

void hr__device_discharge(hr_device *d, size_t size)
{
    atomic_fetch_sub_explicit(&d->used, size, memory_order_relaxed);
}

bool hr_device_has_room(const hr_device *d)
{
    size_t most = d->limit ? d->limit / 8 : d->info.memory / 16;
    return atomic_load_explicit(&d->used, memory_order_relaxed) <= most;
}

/* ---- pinned host memory ---- */

typedef struct pinned {
    hr_device *device;
    void *data;
} pinned;

static void pinned_release(void *context)
{
    pinned *p = context;
    p->device->module->host_free(p->data);
    hr_device_unref(p->device);
    hr_free(p);
}

hr_status hr_device_pinned(hr_device *d, size_t size, hr_buffer **out, hr_error *error)
{
    pinned *p = hr_calloc(1, sizeof(*p), error);
    HR_TRY_ALLOC(p);
    hr_status status = d->module->host_alloc(d->id, HR_MAX(size, 1), &p->data, error);
    if (status != HR_STATUS_OK) {
        hr_free(p);
        return status;
    }
    p->device = hr__device_ref(d);
    status = hr_buffer_adopt(out, p->data, size, pinned_release, p, error);
    if (status != HR_STATUS_OK)
        pinned_release(p);
    return status;
}

void hr_device_pin(hr_pool *pool, int32_t id, size_t least)
{
    const hr_cuda_module_def *module;
    int32_t count = 0;
    if (hr_module_open(&module, NULL) == HR_STATUS_OK &&
        module->device_count(&count, NULL) == HR_STATUS_OK && id < count)
        hr_pool_pin(pool, id, least, module->host_alloc, module->host_free);
}
