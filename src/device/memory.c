/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Buffers of device memory: our own, which returns to a stream-ordered pool after all work that its
 * users have queued, and foreign memory. */
#include "device/memory.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/batch.h"
#include "device/state.h"

#define USERS_MAX 4 /* streams; more are kept in allocated memory */

typedef struct hr__memory { /* of a buffer */
    const hr_cuda_module_def *module;
    int32_t id;        /* the device */
    hr_device *device; /* the device whose limit counts it, or NULL */
    void *data;
    size_t size;
    pid_t pid;             /* CUDA must not be called in a forked child */
    void *ready;           /* event after the writes of another stream, or NULL */
    hr_release_fn release; /* of foreign memory */
    void *context;
    const hr_device_allocator *allocator; /* a framework's, which `block` belongs to; or NULL */
    void *block;
    hr__memory *next;     /* in the list of memory to be returned to it */
    pthread_mutex_t lock; /* guards the following members */
    void **users;         /* streams that may be using it */
    int32_t user_count;
    bool lost; /* a user could not be noted: it is never released */
    void *few[USERS_MAX];
} memory;

static memory *memory_make(const hr_cuda_module_def *module, int32_t id, hr_error *error)
{
    memory *m = hr_calloc(1, sizeof(*m), error);
    if (!m)
        return NULL;
    pthread_mutex_init(&m->lock, NULL);
    m->module = module;
    m->id = id;
    m->pid = getpid();
    m->users = m->few;
    return m;
}

/* Frees the record. The memory itself has been released, or was never allocated. */
static void memory_drop(memory *m)
{
    if (m->ready)
        m->module->event_destroy(m->id, m->ready);
    if (m->users != m->few)
        hr_free(m->users);
    pthread_mutex_destroy(&m->lock);
    hr_free(m);
}

/* Creates an event after everything that is queued on the stream. */
static hr_status event_behind(const memory *m, void *stream, void **out, hr_error *error)
{
    HR_TRY(m->module->event_create(m->id, false, out, error));
    hr_status status = m->module->event_record(m->id, *out, stream, error);
    if (status != HR_STATUS_OK)
        m->module->event_destroy(m->id, *out);
    return status;
}

/* Makes `stream` wait for the users, or this thread if `here`. */
static hr_status users_await(const memory *m, bool here, void *stream)
{
    for (int32_t i = 0; i < m->user_count; i++) {
        void *event;
        HR_TRY(event_behind(m, m->users[i], &event, NULL));
        hr_status status = here ? m->module->event_wait(m->id, event, NULL)
                                : m->module->event_await(m->id, event, stream, NULL);
        m->module->event_destroy(m->id, event);
        HR_TRY(status);
    }
    return HR_STATUS_OK;
}

/* ---- memory of a framework ---- */

/* A framework's allocator does not know our users, and a stream that waited for one of them would
 * delay other work. So memory is returned to the allocator once the users have finished. */

/* Records an event for each user. */
static bool users_mark(memory *m)
{
    for (int32_t i = 0; i < m->user_count; i++)
        if (event_behind(m, m->users[i], &m->users[i], NULL) != HR_STATUS_OK) {
            m->user_count = i;
            return false;
        }
    return true;
}

static bool users_done(memory *m, bool wait)
{
    for (bool done = false; m->user_count > 0; m->user_count--) {
        void *event = m->users[m->user_count - 1];
        hr_status status = wait ? m->module->event_wait(m->id, event, NULL)
                                : m->module->event_done(m->id, event, &done, NULL);
        m->lost = m->lost || status != HR_STATUS_OK;
        if (!wait && !done && !m->lost)
            return false;
        m->module->event_destroy(m->id, event);
    }
    return true;
}

void hr__lent_return(hr_device *d, bool wait)
{
    pthread_mutex_lock(&d->lock);
    memory *list = d->lent, *keep = NULL;
    d->lent = NULL;
    pthread_mutex_unlock(&d->lock);
    for (memory *m = list, *next; m; m = next) {
        next = m->next;
        if (!users_done(m, wait)) {
            m->next = keep;
            keep = m;
            continue;
        }
        if (!m->lost)
            m->allocator->free(m->allocator->context, m->block);
        memory_drop(m);
    }
    pthread_mutex_lock(&d->lock);
    for (memory *next; keep; keep = next) {
        next = keep->next;
        keep->next = d->lent;
        d->lent = keep;
    }
    pthread_mutex_unlock(&d->lock);
}

static void lent_end(hr_device *d, memory *m)
{
    m->lost = !users_mark(m) || m->lost;
    pthread_mutex_lock(&d->lock);
    m->next = d->lent;
    d->lent = m;
    pthread_mutex_unlock(&d->lock);
    hr__lent_return(d, false);
}

/* False: no allocator is set, or it has no memory left. */
static bool lent_take(hr_device *d, memory *m)
{
    const hr_device_allocator *from = atomic_load_explicit(&d->allocator, memory_order_acquire);
    if (!from)
        return false;
    hr__lent_return(d, false);
    m->data = from->alloc(from->context, d->id, d->free_stream, m->size, &m->block);
    m->allocator = m->data ? from : NULL;
    return m->data;
}

/* If it is unknown whether the users have finished (the device has failed), memory is leaked rather
 * than given to another user. */
static void memory_release(void *context)
{
    memory *m = context;
    hr_device *d = m->device;
    if (m->pid != getpid())
        return; /* a forked child's copy: freed with the child */
    void *stream = d ? d->free_stream : NULL;
    if (d)
        hr__device_discharge(d, m->size);
    if (m->allocator) {
        lent_end(d, m);
    } else {
        bool known = !m->lost && users_await(m, m->release != NULL, stream) == HR_STATUS_OK;
        if (known && m->ready && !m->release) /* copies to it may not have begun */
            known = m->module->event_await(m->id, m->ready, stream, NULL) == HR_STATUS_OK;
        if (known && m->release)
            m->release(m->context);
        else if (known)
            m->module->free(m->id, stream, m->data);
        memory_drop(m);
    }
    hr_device_unref(d);
}

/* Takes over `m`, also on failure. */
static hr_status memory_wrap(memory *m, hr_buffer **out, hr_error *error)
{
    hr_status status =
        hr_buffer_adopt_device(out, m->data, m->size, m->id, memory_release, m, error);
    if (status != HR_STATUS_OK)
        memory_release(m);
    return status;
}

hr_status hr_device_buffer(hr_device *d, void *stream, size_t size, hr_buffer **out,
                           hr_error *error)
{
    memory *m = memory_make(d->module, d->id, error);
    HR_TRY_ALLOC(m);
    m->size = size;
    hr_status status = hr__device_charge(d, size, error);
    if (status == HR_STATUS_OK && !lent_take(d, m)) {
        status = d->module->alloc(d->id, stream, size, &m->data, error);
        if (status != HR_STATUS_OK)
            hr__device_discharge(d, size);
    }
    if (status != HR_STATUS_OK) {
        memory_drop(m);
        return status;
    }
    m->device = hr__device_ref(d);
    return memory_wrap(m, out, error);
}

/* ---- users ---- */

hr_status hr_device_buffer_check(const hr_buffer *buffer, hr_error *error)
{
    const memory *m = hr_buffer_context(buffer, memory_release);
    if (!m || m->pid == getpid())
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_STATE,
                   "this GPU memory belongs to process %ld and cannot be read in its child %ld; "
                   "copy it to the host before the fork",
                   (long)m->pid, (long)getpid());
}

void hr_device_buffer_await(hr_buffer *buffer, void *stream)
{
    memory *m = hr_buffer_context(buffer, memory_release);
    if (m && m->ready)
        (void)m->module->event_await(m->id, m->ready, stream, NULL);
}

static bool user_add(memory *m, void *stream)
{
    for (int32_t i = 0; i < m->user_count; i++)
        if (m->users[i] == stream)
            return true;
    bool full = m->user_count >= USERS_MAX && (m->user_count & (m->user_count - 1)) == 0;
    if (full) { /* a power of two */
        void **few = m->users == m->few ? NULL : m->users;
        void **more = hr_realloc(few, (size_t)m->user_count * 2, sizeof(*more), NULL);
        if (!more)
            return false;
        if (!few)
            memcpy(more, m->few, sizeof(m->few));
        m->users = more;
    }
    m->users[m->user_count++] = stream;
    return true;
}

void hr_device_buffer_used(hr_buffer *buffer, void *stream)
{
    memory *m = hr_buffer_context(buffer, memory_release);
    if (!m)
        return;
    hr_device_buffer_await(buffer, stream);
    pthread_mutex_lock(&m->lock);
    m->lost = !user_add(m, stream) || m->lost;
    pthread_mutex_unlock(&m->lock);
}

/* ---- foreign memory ---- */

hr_status hr_buffer_adopt_cuda(hr_buffer **out, void *data, size_t size, int32_t device,
                               void *stream, hr_release_fn release, void *context, hr_error *error)
{
    const hr_cuda_module_def *module;
    HR_TRY(hr_module_open(&module, error));
    memory *m = memory_make(module, device, error);
    HR_TRY_ALLOC(m);
    hr_status status = event_behind(m, stream, &m->ready, error);
    if (status != HR_STATUS_OK) {
        memory_drop(m);
        return status;
    }
    m->data = data;
    m->size = size;
    status = hr_buffer_adopt_device(out, data, size, device, memory_release, m, error);
    if (status != HR_STATUS_OK) {
        memory_drop(m);
        return status;
    }
    m->release = release;
    m->context = context;
    return HR_STATUS_OK;
}

/* Allocates one block for all samples, one after the other. */
static hr_status copies_allocate(hr_batch *batch, memory *m, const hr_tensor *tensors,
                                 hr_error *error)
{
    hr_buffer *buffer;
    int32_t count = hr_batch_size(batch);
    HR_TRY(memory_wrap(m, &buffer, error));
    char *at = hr_buffer_data(buffer);
    for (int32_t i = 0; i < count; i++) {
        size_t bytes;
        (void)hr_tensor_bytes(&tensors[i], &bytes);
        hr_batch_tensors(batch)[i] = tensors[i];
        hr_batch_tensors(batch)[i].source_info = NULL;
        hr_batch_tensors(batch)[i].data = at;
        hr_batch_tensors(batch)[i].buffer = hr_buffer_ref(buffer);
        at += bytes;
    }
    hr_buffer_unref(buffer);
    return HR_STATUS_OK;
}

static hr_status copies_make(memory *m, const hr_tensor *tensors, int32_t count, void *stream,
                             bool wait, hr_error *error)
{
    size_t at = 0, bytes;
    HR_TRY(m->module->alloc(m->id, stream, m->size, &m->data, error));
    hr_status status = HR_STATUS_OK;
    const hr_buffer *before = NULL;
    for (int32_t i = 0; i < count && status == HR_STATUS_OK; i++) {
        (void)hr_tensor_bytes(&tensors[i], &bytes);
        if (tensors[i].buffer && tensors[i].buffer != before)
            hr_device_buffer_await(tensors[i].buffer, stream);
        before = tensors[i].buffer;
        if (bytes > 0)
            status =
                m->module->copy(m->id, stream, (char *)m->data + at, tensors[i].data, bytes, error);
        at += bytes;
    }
    if (status == HR_STATUS_OK)
        status = event_behind(m, stream, &m->ready, error);
    if (status == HR_STATUS_OK && wait)
        status = m->module->event_wait(m->id, m->ready, error);
    if (status == HR_STATUS_OK)
        return HR_STATUS_OK;
    void *event = m->ready; /* the caller may change the originals again */
    if (event || event_behind(m, stream, &event, NULL) == HR_STATUS_OK) {
        (void)m->module->event_wait(m->id, event, NULL);
        m->module->event_destroy(m->id, event);
        m->ready = NULL;
    }
    m->module->free(m->id, stream, m->data);
    return status;
}

hr_status hr_batch_copy_cuda(hr_batch **out, const hr_tensor *tensors, int32_t count,
                             int32_t device, void *stream, bool wait, hr_error *error)
{
    const hr_cuda_module_def *module;
    size_t size = 0, bytes;
    hr_batch *batch;
    for (int32_t i = 0; i < count; i++) {
        if (!hr_tensor_bytes(&tensors[i], &bytes) || !hr_size_add(size, bytes, &size))
            return hr_fail(error, HR_STATUS_VALUE, "sample %d has an impossible shape", (int)i);
        if (tensors[i].dtype != tensors[0].dtype || hr_dtype_size(tensors[i].dtype) == 0)
            return hr_fail(error, HR_STATUS_TYPE,
                           "sample %d has no or another element type than "
                           "sample 0",
                           (int)i);
        if (tensors[i].shape.ndim != tensors[0].shape.ndim)
            return hr_fail(error, HR_STATUS_ERROR,
                           "sample %d has %d dimensions but sample 0 has %d", (int)i,
                           (int)tensors[i].shape.ndim, (int)tensors[0].shape.ndim);
    }
    HR_TRY(hr_module_open(&module, error));
    HR_TRY(hr_batch_alloc(&batch, count, error));
    memory *m = memory_make(module, device, error);
    hr_status status = m ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    if (m) {
        m->size = size;
        status = copies_make(m, tensors, count, stream, wait, error);
        if (status != HR_STATUS_OK)
            memory_drop(m);
    }
    if (status == HR_STATUS_OK)
        status = copies_allocate(batch, m, tensors, error);
    if (status != HR_STATUS_OK) {
        hr_batch_unref(batch);
        return status;
    }
    *out = batch;
    return HR_STATUS_OK;
}
