/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Chooses back ends and repeats their requests. */
#include "io/storage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_STORAGES 8
#define MAX_PATH_SIZE (4096 + 256)
#define WAIT_STEP_MS 20 /* how long a set `cancel` may go unnoticed */

static _Atomic(const hr_storage *) storages[MAX_STORAGES] = {&hr_storage_local};

/* The length of the scheme of a URI ("s3" of "s3://bucket/key"), or 0. */
static size_t scheme_size(const char *path)
{
    size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    return n > 0 && strncmp(path + n, "://", 3) == 0 ? n : 0;
}

static const hr_storage *find(const char *scheme, size_t size)
{
    for (int32_t i = 0; i < MAX_STORAGES; i++) {
        const hr_storage *s = atomic_load(&storages[i]);
        if (s && strlen(s->scheme) == size && memcmp(s->scheme, scheme, size) == 0)
            return s;
    }
    return NULL;
}

hr_status hr_storage_add(const hr_storage *storage, hr_error *error)
{
    if (find(storage->scheme, strlen(storage->scheme)))
        return hr_fail(error, HR_STATUS_ERROR, "a storage for %s:// exists", storage->scheme);
    for (int32_t i = 0; i < MAX_STORAGES; i++) {
        const hr_storage *none = NULL;
        if (atomic_compare_exchange_strong(&storages[i], &none, storage))
            return HR_STATUS_OK;
    }
    return hr_fail(error, HR_STATUS_ERROR, "there are too many storages");
}

/* Waits before another attempt. The time varies by half, so that many clients do not return at
 * once. false: cancelled. */
static bool pause_before(int32_t attempt, const hr_storage *s, hr_cancel *cancel)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)s->pause_ms << HR_MIN(attempt - 1, 6);
    ms += ms > 1 ? now.tv_nsec / 1000 % (ms / 2 + 1) : 0;
    for (; ms > 0 && !hr_cancelled(cancel); ms -= WAIT_STEP_MS)
        nanosleep(&(struct timespec){0, (long)HR_MIN(ms, WAIT_STEP_MS) * 1000000}, NULL);
    return !hr_cancelled(cancel);
}

/* Whether a request that failed is worth another attempt; waits before it. */
static bool again(const hr_storage *s, int32_t attempt, hr_status status, hr_cancel *cancel)
{
    return status == HR_STATUS_TIMEOUT && attempt < s->attempts && pause_before(attempt, s, cancel);
}

hr_status hr_object_open(hr_object **out, const char *root, const char *path, hr_cancel *cancel,
                         hr_error *error)
{
    char joined[MAX_PATH_SIZE];
    if (root && root[0] && path[0] != '/' && scheme_size(path) == 0) {
        int n = snprintf(joined, sizeof(joined), "%s/%s", root, path);
        if (n < 0 || (size_t)n >= sizeof(joined))
            return hr_fail(error, HR_STATUS_IO, "the path is longer than %zu bytes",
                           sizeof(joined) - 1);
        path = joined;
    }
    size_t scheme = scheme_size(path);
    const hr_storage *s = scheme ? find(path, scheme) : &hr_storage_local;
    /* A folder may have a name like a scheme: without a back end it is a local path. */
    if (!s)
        s = &hr_storage_local;
    else if (s == &hr_storage_local && scheme)
        path += scheme + strlen("://");
    hr_status status;
    int32_t attempt = 1;
    do
        status = s->open(out, path, cancel, error);
    while (again(s, attempt++, status, cancel));
    if (status != HR_STATUS_OK && error && scheme && !find(path, scheme))
        hr_error_prefix(error, "taken as a local path, as no storage serves %.*s://", (int)scheme,
                        path);
    return status;
}

void hr_cancel_set(hr_cancel *cancel)
{
    __atomic_store_n(&cancel->set, true, __ATOMIC_SEQ_CST);
}

int64_t hr_object_size(const hr_object *object)
{
    return object->size;
}

void hr_object_close(hr_object *object)
{
    if (object)
        object->storage->close(object);
}

hr_status hr_object_read(hr_object *object, int64_t offset, size_t size, void *dst, bool *cached,
                         hr_cancel *cancel, hr_error *error)
{
    if (offset < 0 || offset > object->size || size > (uint64_t)(object->size - offset))
        return hr_fail(error, HR_STATUS_IO, "has %lld bytes, too few for %zu at offset %lld",
                       (long long)object->size, size, (long long)offset);
    hr_status status;
    int32_t attempt = 1;
    bool ignored;
    cached = cached ? cached : &ignored;
    *cached = false;
    do
        status = object->storage->read(object, offset, size, dst, cached, cancel, error);
    while (again(object->storage, attempt++, status, cancel));
    return status;
}

hr_status hr_object_text(const char *path, char **text, size_t *size, hr_error *error)
{
    hr_object *object;
    HR_TRY(hr_object_open(&object, NULL, path, NULL, error));
    *size = (size_t)object->size;
    *text = hr_calloc(*size + 1, 1, error);
    hr_status status =
        *text ? hr_object_read(object, 0, *size, *text, NULL, NULL, error) : HR_STATUS_NO_MEMORY;
    hr_object_close(object);
    if (status != HR_STATUS_OK)
        hr_free(*text);
    return status;
}
