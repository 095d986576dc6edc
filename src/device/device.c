/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The device and its counted memory. Freed memory goes back to the CUDA runtime's stream-ordered
 * pool, behind whatever the memory's users have queued. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "device/launch.h"

hr_status hr_device_create(hr_device **out, int32_t id, size_t memory_limit, hr_error *error)
{
    const hr_cuda_module_def *module;
    int32_t count = 0;
    HR_TRY(hr_module_open(&module, error));
    HR_TRY(module->device_count(&count, error));
    if (id < 0 || id >= count)
        return hr_fail(error, HR_STATUS_ERROR, "device_id is %d; this machine has %d CUDA devices",
                       id, count);
    hr_device *d = hr_calloc(1, sizeof(*d), error);
    if (!d)
        return HR_STATUS_NO_MEMORY;
    atomic_init(&d->refs, 1);
    atomic_init(&d->used, 0);
    pthread_mutex_init(&d->lock, NULL);
    d->module = module;
    d->id = id;
    d->limit = memory_limit;
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

hr_device *hr__device_ref(hr_device *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
    return d;
}

void hr_device_unref(hr_device *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
        return;
    hr__launches_free(d);
    if (d->free_stream)
        d->module->stream_destroy(d->id, d->free_stream);
    pthread_mutex_destroy(&d->lock);
    hr_free(d);
}

const hr_cuda_module_def *hr_device_module(const hr_device *d)
{
    return d->module;
}

int32_t hr_device_id(const hr_device *d)
{
    return d->id;
}

const hr_cuda_op *hr_device_op(const hr_device *d, const char *name)
{
    for (const hr_cuda_op *const *op = d->module->ops; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return *op;
    return NULL;
}

/* ---- counted memory ---- */

hr_status hr__device_charge(hr_device *d, size_t size, hr_error *error)
{
    size_t used = atomic_fetch_add_explicit(&d->used, size, memory_order_relaxed);
    if (!d->limit || (size <= d->limit && used <= d->limit - size))
        return HR_STATUS_OK;
    atomic_fetch_sub_explicit(&d->used, size, memory_order_relaxed);
    return hr_fail(error, HR_STATUS_NO_MEMORY,
                   "%zu bytes more would exceed device_memory_limit, %zu bytes (%zu are held; let "
                   "go of outputs, or raise it)",
                   size, d->limit, used);
}

void hr__device_discharge(hr_device *d, size_t size)
{
    atomic_fetch_sub_explicit(&d->used, size, memory_order_relaxed);
}

#define USERS_MAX 4

typedef struct memory { /* behind a buffer */
    hr_device *device;
    void *data;
    size_t size;
    pthread_mutex_t lock;
    void *users[USERS_MAX]; /* streams that may be using it */
    int32_t user_count;
} memory;

/* What a user has queued comes first; without an event for that, it is waited for. */
static void memory_release(void *context)
{
    memory *m = context;
    hr_device *d = m->device;
    for (int32_t i = 0; i < m->user_count; i++) {
        void *event;
        if (d->module->event_create(d->id, false, &event, NULL) != HR_STATUS_OK)
            continue;
        if (d->module->event_record(d->id, event, m->users[i], NULL) == HR_STATUS_OK)
            (void)d->module->event_await(d->id, event, d->free_stream, NULL);
        d->module->event_destroy(d->id, event);
    }
    d->module->free(d->id, d->free_stream, m->data);
    hr__device_discharge(d, m->size);
    pthread_mutex_destroy(&m->lock);
    hr_free(m);
    hr_device_unref(d);
}

hr_status hr_device_buffer(hr_device *d, void *stream, size_t size, hr_buffer **out,
                           hr_error *error)
{
    memory *m = hr_calloc(1, sizeof(*m), error);
    if (!m)
        return HR_STATUS_NO_MEMORY;
    hr_status status = hr__device_charge(d, size, error);
    if (status != HR_STATUS_OK) {
        hr_free(m);
        return status;
    }
    status = d->module->alloc(d->id, stream, size, &m->data, error);
    if (status != HR_STATUS_OK) {
        hr__device_discharge(d, size);
        hr_free(m);
        return status;
    }
    pthread_mutex_init(&m->lock, NULL);
    m->device = hr__device_ref(d);
    m->size = size;
    status = hr_buffer_adopt_device(out, m->data, size, d->id, memory_release, m, error);
    if (status != HR_STATUS_OK)
        memory_release(m);
    return status;
}

void hr_device_buffer_used(hr_buffer *buffer, void *stream)
{
    memory *m = hr_buffer_context(buffer, memory_release);
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    bool known = false;
    for (int32_t i = 0; i < m->user_count; i++)
        known = known || m->users[i] == stream;
    if (!known && m->user_count < USERS_MAX)
        m->users[m->user_count++] = stream;
    pthread_mutex_unlock(&m->lock);
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
    if (!p)
        return HR_STATUS_NO_MEMORY;
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
