/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Launches: staged memory in chunks, each copied by one or two calls, and scratch. Both are
 * released when the launch is done. Launches and chunks are kept for reuse, because streams and
 * pinned memory are slow to create. */
#include "device/launch.h"

#include <string.h>

#include "core/rng.h"
#include "device/state.h"

#define CHUNK_SIZE ((size_t)8 << 20)
#define CHUNK_LEAST ((size_t)64 << 10)
#define STAGE_ALIGN ((size_t)256)
#define SCRATCH_LIMIT ((size_t)1 << 30)
#define CONSTANTS_SIZE ((size_t)64 << 20) /* without a limit on memory */

struct hr__chunk { /* pinned memory and its copy on the device */
    struct hr__chunk *next;
    char *host, *device;
    size_t size, copied;
    atomic_size_t used;
};

struct hr__constant { /* bytes that were staged repeatedly, and their copy on the device */
    hr__constant *next;
    uint64_t hash;
    const void *host, *device;
    size_t size;
};

typedef struct scratch {
    struct scratch *next;
    void *memory;
    size_t size;
} scratch;

typedef struct kept { /* a buffer that queued work reads */
    struct kept *next;
    hr_buffer *buffer;
} kept;

struct hr__launch {
    hr_launch public;            /* must be the first member */
    pthread_mutex_t lock;        /* of who adds a chunk while workers stage */
    _Atomic(hr__chunk *) chunks; /* the first one is being filled */
    scratch *scratch;
    kept *kept;
    hr__launch *next;
};

/* ---- chunks ---- */

/* Small chunks if memory is limited, since every iteration in flight has at least one. */
size_t hr__chunk_size(size_t memory_limit)
{
    size_t size = memory_limit ? memory_limit / 32 / STAGE_ALIGN * STAGE_ALIGN : CHUNK_SIZE;
    return HR_MIN(HR_MAX(size, CHUNK_LEAST), CHUNK_SIZE);
}

static void chunk_free(hr_device *d, hr__chunk *c)
{
    if (c->device)
        d->module->free(d->id, d->free_stream, c->device);
    if (c->host)
        d->module->host_free(c->host);
    hr__device_discharge(d, c->size);
    hr_free(c);
}

/* The device memory is allocated in the order of `stream`, the launch's own. */
static hr_status chunk_make(hr_device *d, void *stream, size_t size, hr__chunk **out,
                            hr_error *error)
{
    void *host = NULL, *device = NULL;
    HR_TRY(hr__device_charge(d, size, error));
    hr__chunk *c = hr_calloc(1, sizeof(*c), error);
    hr_status status = c ? d->module->host_alloc(d->id, size, &host, error) : HR_STATUS_NO_MEMORY;
    if (status == HR_STATUS_OK)
        status = d->module->alloc(d->id, stream, size, &device, error);
    if (status != HR_STATUS_OK) {
        if (host)
            d->module->host_free(host);
        hr__device_discharge(d, size);
        hr_free(c);
        return status;
    }
    *c = (hr__chunk){.host = host, .device = device, .size = size};
    *out = c;
    return HR_STATUS_OK;
}

static hr__chunk *list_pop(hr_device *d, hr__chunk **list)
{
    pthread_mutex_lock(&d->lock);
    hr__chunk *c = *list;
    if (c)
        *list = c->next;
    pthread_mutex_unlock(&d->lock);
    return c;
}

static void list_push(hr_device *d, hr__chunk **list, hr__chunk *c)
{
    pthread_mutex_lock(&d->lock);
    c->next = *list;
    *list = c;
    pthread_mutex_unlock(&d->lock);
}

/* A chunk for a piece that does not fit the usual size. A free chunk that is too small is
 * destroyed, so that there are never more than were in use at a time. */
static hr_status large_take(hr_device *d, void *stream, size_t size, hr__chunk **out,
                            hr_error *error)
{
    size_t round;
    hr__chunk *c = list_pop(d, &d->large);
    if (c && c->size >= size && c->size / 2 <= size) {
        *out = c;
        return HR_STATUS_OK;
    }
    if (c)
        chunk_free(d, c);
    if (!hr_size_add(size, d->chunk_size - 1, &round))
        return hr_fail_memory(error, size);
    round = d->limit ? size : round / d->chunk_size * d->chunk_size;
    return chunk_make(d, stream, round, out, error);
}

static hr_status chunk_take(hr_device *d, void *stream, size_t size, hr__chunk **out,
                            hr_error *error)
{
    hr__chunk *c = size > d->chunk_size ? NULL : list_pop(d, &d->chunks);
    if (size > d->chunk_size)
        HR_TRY(large_take(d, stream, size, &c, error));
    else if (!c)
        HR_TRY(chunk_make(d, stream, d->chunk_size, &c, error));
    atomic_init(&c->used, 0);
    c->copied = 0;
    *out = c;
    return HR_STATUS_OK;
}

static void chunks_give(hr_device *d, hr__chunk *c)
{
    for (hr__chunk *next; c; c = next) {
        next = c->next;
        if (c->size == d->chunk_size)
            list_push(d, &d->chunks, c);
        else if (!d->limit)
            list_push(d, &d->large, c);
        else
            chunk_free(d, c);
    }
}

/* Takes the next `need` bytes of a chunk. False: it has too few. Any thread. */
static bool chunk_cut(hr__chunk *c, size_t need, hr_staged *out)
{
    size_t used = c ? atomic_load_explicit(&c->used, memory_order_relaxed) : 0;
    do {
        if (!c || c->size - used < need)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&c->used, &used, used + need,
                                                    memory_order_relaxed, memory_order_relaxed));
    *out = (hr_staged){c->host + used, c->device + used};
    return true;
}

/* Without a lock, except for a new chunk: every sample stages several pieces. */
static hr_status stage(hr_staging *s, size_t size, hr_staged *out, hr_error *error)
{
    hr__launch *l = (hr__launch *)s; /* the first member of the first member */
    hr_device *d = l->public.device;
    hr_status status = HR_STATUS_OK;
    size_t need = (size + STAGE_ALIGN - 1) & ~(STAGE_ALIGN - 1);
    if (need < size)
        return hr_fail_memory(error, size);
    if (chunk_cut(atomic_load_explicit(&l->chunks, memory_order_acquire), need, out))
        return HR_STATUS_OK;
    pthread_mutex_lock(&l->lock);
    hr__chunk *c = atomic_load_explicit(&l->chunks, memory_order_relaxed), *full = c;
    if (!chunk_cut(c, need, out)) { /* nobody else has added one */
        status = chunk_take(d, l->public.cuda.stream, need, &c, error);
        if (status == HR_STATUS_OK) {
            c->next = full;
            chunk_cut(c, need, out);
            atomic_store_explicit(&l->chunks, c, memory_order_release);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return status;
}

static hr_status flush(hr_staging *s, hr_error *error)
{
    hr__launch *l = (hr__launch *)s;
    hr_device *d = l->public.device;
    for (hr__chunk *c = l->chunks; c; c = c->next) {
        if (c->copied == c->used)
            continue;
        HR_TRY(d->module->copy(d->id, l->public.cuda.stream, c->device + c->copied,
                               c->host + c->copied, c->used - c->copied, error));
        c->copied = c->used;
    }
    return HR_STATUS_OK;
}

/* ---- constants ---- */

static uint64_t hash_of(const void *data, size_t size)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t lane[4] = {size, 1, 2, 3}, word[4];
    const char *at = data;
    for (size_t left = size; left > 0;) {
        size_t n = HR_MIN(left, sizeof(word));
        memset(word, 0, sizeof(word));
        memcpy(word, at, n);
        for (int32_t i = 0; i < 4; i++) {
            lane[i] = (lane[i] ^ word[i]) * odd;
            lane[i] ^= lane[i] >> 29;
        }
        at += n;
        left -= n;
    }
    return hr_mix(hr_mix(lane[0], lane[1]), hr_mix(lane[2], lane[3]));
}

/* Without a lock: constants are only ever added. */
static const hr__constant *constant_find(hr_device *d, uint64_t hash, const void *data, size_t size)
{
    const hr__constant *c =
        atomic_load_explicit(&d->constants[hash % HR__CONSTANT_LISTS], memory_order_acquire);
    while (c && !(c->hash == hash && c->size == size && memcmp(c->host, data, size) == 0))
        c = c->next;
    return c;
}

/* Whether the same bytes were probably staged before. */
static bool was_seen(hr_device *d, uint64_t hash)
{
    _Atomic uint32_t *seen = &d->seen[hash % HR__SEEN];
    uint32_t mark = (uint32_t)(hash >> 32) | 1;
    if (atomic_load_explicit(seen, memory_order_relaxed) == mark)
        return true;
    atomic_store_explicit(seen, mark, memory_order_relaxed);
    return false;
}

/* Room for a constant, or NULL in *out if too much is kept already. Lock of the device held. */
static hr_status constant_room(hr__launch *l, size_t size, hr__chunk **out, hr_error *error)
{
    hr_device *d = l->public.device;
    hr__chunk *c = d->constant_chunks;
    size_t most = d->limit ? d->limit / 16 : CONSTANTS_SIZE;
    *out = c;
    if (c && c->size - c->used >= size)
        return HR_STATUS_OK;
    *out = NULL;
    size_t fresh = HR_MAX(size, CHUNK_LEAST);
    if (fresh > most || d->constant_bytes > most - fresh)
        return HR_STATUS_OK;
    HR_TRY(chunk_make(d, l->public.cuda.stream, fresh, &c, error));
    c->next = d->constant_chunks;
    d->constant_chunks = *out = c;
    d->constant_bytes += fresh;
    return HR_STATUS_OK;
}

/* Copies to the chunk and waits, so that every stream may read it from now on. Lock of the device
 * held. */
static hr_status constant_keep(hr__launch *l, uint64_t hash, const void *data, size_t size,
                               const hr__constant **out, hr_error *error)
{
    hr_device *d = l->public.device;
    void *stream = l->public.cuda.stream;
    hr__chunk *chunk;
    HR_TRY(constant_room(l, size, &chunk, error));
    if (!chunk)
        return HR_STATUS_OK;
    char *host = chunk->host + chunk->used, *device = chunk->device + chunk->used;
    memcpy(host, data, size);
    HR_TRY(d->module->copy(d->id, stream, device, host, size, error));
    HR_TRY(d->module->event_record(d->id, l->public.done, stream, error));
    HR_TRY(d->module->event_wait(d->id, l->public.done, error));
    hr__constant *made = hr_calloc(1, sizeof(*made), error);
    HR_TRY_ALLOC(made);
    hr__constant *_Atomic *list = &d->constants[hash % HR__CONSTANT_LISTS];
    *made =
        (hr__constant){atomic_load_explicit(list, memory_order_relaxed), hash, host, device, size};
    atomic_store_explicit(list, made, memory_order_release);
    chunk->used += HR_MIN((size + STAGE_ALIGN - 1) & ~(STAGE_ALIGN - 1), chunk->size - chunk->used);
    *out = made;
    return HR_STATUS_OK;
}

/* Bytes are kept when they are staged for the second time: what changes from sample to sample is
 * not worth keeping. */
static hr_status constant(hr_staging *s, const void *data, size_t size, const void **device,
                          hr_error *error)
{
    hr__launch *l = (hr__launch *)s;
    hr_device *d = l->public.device;
    hr_staged staged;
    uint64_t hash = hash_of(data, size);
    const hr__constant *c = constant_find(d, hash, data, size);
    if (!c && was_seen(d, hash)) {
        pthread_mutex_lock(&d->lock);
        c = constant_find(d, hash, data, size);
        hr_status status = c ? HR_STATUS_OK : constant_keep(l, hash, data, size, &c, error);
        pthread_mutex_unlock(&d->lock);
        HR_TRY(status);
    }
    if (c) {
        *device = c->device;
        return HR_STATUS_OK;
    }
    HR_TRY(stage(s, size, &staged, error));
    memcpy(staged.host, data, size);
    *device = staged.device;
    return HR_STATUS_OK;
}

/* ---- scratch ---- */

static hr_status scratch_alloc(hr_cuda_launch *cuda, size_t size, void **out, hr_error *error)
{
    hr__launch *l = (hr__launch *)((char *)cuda - offsetof(hr_launch, cuda));
    hr_device *d = l->public.device;
    HR_TRY(hr__device_charge(d, size, error));
    scratch *s = hr_calloc(1, sizeof(*s), error);
    hr_status status =
        s ? d->module->alloc(d->id, cuda->stream, size, &s->memory, error) : HR_STATUS_NO_MEMORY;
    if (status != HR_STATUS_OK) {
        hr__device_discharge(d, size);
        hr_free(s);
        return status;
    }
    s->size = size;
    s->next = l->scratch;
    l->scratch = s;
    *out = s->memory;
    return HR_STATUS_OK;
}

static void scratch_free(hr__launch *l)
{
    hr_device *d = l->public.device;
    void *stream = l->public.cuda.stream ? l->public.cuda.stream : d->free_stream;
    for (scratch *s = l->scratch, *next; s; s = next) {
        next = s->next;
        d->module->free(d->id, stream, s->memory);
        hr__device_discharge(d, s->size);
        hr_free(s);
    }
    l->scratch = NULL;
}

/* ---- buffers that are kept ---- */

hr_status hr_launch_keep(hr_launch *launch, hr_buffer *buffer, hr_error *error)
{
    hr__launch *l = (hr__launch *)launch;
    if (l->kept && l->kept->buffer == buffer)
        return HR_STATUS_OK;
    kept *k = hr_calloc(1, sizeof(*k), error);
    HR_TRY_ALLOC(k);
    *k = (kept){l->kept, hr_buffer_ref(buffer)};
    l->kept = k;
    return HR_STATUS_OK;
}

static void kept_release(hr__launch *l)
{
    for (kept *k = l->kept, *next; k; k = next) {
        next = k->next;
        hr_buffer_unref(k->buffer);
        hr_free(k);
    }
    l->kept = NULL;
}

/* ---- launches ---- */

static void launch_free(hr_device *d, hr__launch *l)
{
    if (l->public.done)
        d->module->event_destroy(d->id, l->public.done);
    if (l->public.cuda.stream)
        d->module->stream_destroy(d->id, l->public.cuda.stream);
    pthread_mutex_destroy(&l->lock);
    hr_free(l);
}

static hr_status launch_make(hr_device *d, hr__launch **out, hr_error *error)
{
    hr__launch *l = hr_calloc(1, sizeof(*l), error);
    HR_TRY_ALLOC(l);
    pthread_mutex_init(&l->lock, NULL);
    size_t limit = d->limit ? HR_MIN(SCRATCH_LIMIT, d->limit / 4) : SCRATCH_LIMIT;
    l->public.staging = (hr_staging){stage, flush, constant};
    l->public.cuda = (hr_cuda_launch){.scratch = scratch_alloc,
                                      .scratch_limit = limit,
                                      .multiprocessors = d->info.multiprocessors};
    hr_status status = d->module->stream_create(d->id, &l->public.cuda.stream, error);
    if (status == HR_STATUS_OK)
        status = d->module->event_create(d->id, false, &l->public.done, error);
    if (status != HR_STATUS_OK) {
        launch_free(d, l);
        return status;
    }
    *out = l;
    return HR_STATUS_OK;
}

hr_status hr_launch_create(hr_launch **out, hr_device *d, hr_error *error)
{
    pthread_mutex_lock(&d->lock);
    hr__launch *l = d->launches;
    if (l)
        d->launches = l->next;
    pthread_mutex_unlock(&d->lock);
    if (!l)
        HR_TRY(launch_make(d, &l, error));
    l->public.device = hr__device_ref(d);
    *out = &l->public;
    return HR_STATUS_OK;
}

void hr_launch_rewind(hr_launch *l)
{
    kept_release((hr__launch *)l);
    scratch_free((hr__launch *)l);
}

void hr_launch_abandon(hr_launch *l)
{
    hr_device *d = l->device;
    d->module->stream_destroy(d->id, l->cuda.stream);
    l->cuda.stream = NULL;
}

void hr_launch_destroy(hr_launch *launch)
{
    if (!launch)
        return;
    hr__launch *l = (hr__launch *)launch;
    hr_device *d = l->public.device;
    kept_release(l);
    scratch_free(l);
    chunks_give(d, l->chunks);
    l->chunks = NULL;
    if (l->public.cuda.stream) {
        pthread_mutex_lock(&d->lock);
        l->next = d->launches;
        d->launches = l;
        pthread_mutex_unlock(&d->lock);
    } else {
        launch_free(d, l);
    }
    hr_device_unref(d);
}

void hr__launches_free(hr_device *d)
{
    for (hr__launch *l = d->launches, *next; l; l = next) {
        next = l->next;
        launch_free(d, l);
    }
    for (int32_t i = 0; i < HR__CONSTANT_LISTS; i++)
        for (hr__constant *c = d->constants[i], *next; c; c = next) {
            next = c->next;
            hr_free(c);
        }
    for (hr__chunk *c = d->constant_chunks, *next; c; c = next) {
        next = c->next;
        chunk_free(d, c);
    }
    for (hr__chunk *c; (c = list_pop(d, &d->chunks)) || (c = list_pop(d, &d->large));)
        chunk_free(d, c);
}
