/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Chooses back ends. */
#include "io/storage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ADDED_MAX 4
#define MAX_PATH_SIZE (4096 + 256)

static _Atomic(const hr_storage *) added[ADDED_MAX];

/* The length of the scheme of a URI ("s3" of "s3://bucket/key"), or 0. */
static size_t scheme_size(const char *path)
{
    size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    return n > 0 && strncmp(path + n, "://", 3) == 0 ? n : 0;
}

static bool serves(const hr_storage *s, const char *scheme, size_t size)
{
    return s && strlen(s->scheme) == size && memcmp(s->scheme, scheme, size) == 0;
}

static const hr_storage *find(const char *scheme, size_t size)
{
    for (const hr_storage *const *s = hr_storages; *s; s++)
        if (serves(*s, scheme, size))
            return *s;
    for (int32_t i = 0; i < ADDED_MAX; i++)
        if (serves(atomic_load(&added[i]), scheme, size))
            return atomic_load(&added[i]);
    return NULL;
}

hr_status hr_storage_add(const hr_storage *storage, hr_error *error)
{
    if (find(storage->scheme, strlen(storage->scheme)))
        return hr_fail(error, HR_STATUS_ERROR, "a storage for %s:// exists", storage->scheme);
    for (int32_t i = 0; i < ADDED_MAX; i++) {
        const hr_storage *none = NULL;
        if (atomic_compare_exchange_strong(&added[i], &none, storage))
            return HR_STATUS_OK;
    }
    return hr_fail(error, HR_STATUS_ERROR, "there are too many storages");
}

bool hr_path_is_relative(const char *path)
{
    return path[0] != '/' && scheme_size(path) == 0;
}

/* Whether a path is relative to a root. */
static bool is_below(const char *root, const char *path)
{
    return root && root[0] && hr_path_is_relative(path);
}

const hr_storage *hr_storage_of(const char *root, const char *path)
{
    path = is_below(root, path) ? root : path;
    size_t scheme = scheme_size(path);
    const hr_storage *s = scheme ? find(path, scheme) : NULL;
    return s ? s : &hr_storage_local;
}

hr_status hr_object_open_for(hr_object **out, const char *root, const char *path, size_t want,
                             const hr_place *place, hr_cancel *cancel, hr_error *error)
{
    char joined[MAX_PATH_SIZE];
    const hr_storage *s = hr_storage_of(root, path);
    if (is_below(root, path)) {
        size_t size = strlen(root); /* in remote storage a second slash would be part of the name */
        while (s != &hr_storage_local && root[size - 1] == '/')
            size--;
        int n = snprintf(joined, sizeof(joined), "%.*s/%s", (int)size, root, path);
        if (n < 0 || (size_t)n >= sizeof(joined))
            return hr_fail(error, HR_STATUS_IO, "the path is longer than %zu bytes",
                           sizeof(joined) - 1);
        path = joined;
    }
    size_t scheme = scheme_size(path);
    bool known = scheme && find(path, scheme);
    if (s == &hr_storage_local && known)
        path += scheme + strlen("://");
    hr_status status = s->open(out, path, want, place, cancel, error);
    /* A folder may have a name like a scheme: without a back end it is a local path. */
    if (status != HR_STATUS_OK && error && scheme && !known)
        hr_error_prefix(error, "taken as a local path, as no storage serves %.*s://", (int)scheme,
                        path);
    return status;
}

hr_status hr_object_open(hr_object **out, const char *root, const char *path, hr_cancel *cancel,
                         hr_error *error)
{
    return hr_object_open_for(out, root, path, HR_OBJECT_START, NULL, cancel, error);
}

/* Of this thread. The flag lives as long as the call that has set it. */
static _Thread_local const bool *interrupt;

void hr_interrupt_by(const bool *flag)
{
    interrupt = flag;
}

const bool *hr_interrupt_get(void)
{
    return interrupt;
}

bool hr_cancelled(const hr_cancel *cancel)
{
    return (cancel && __atomic_load_n(&cancel->set, __ATOMIC_SEQ_CST)) ||
           (interrupt && __atomic_load_n(interrupt, __ATOMIC_SEQ_CST));
}

void hr_cancel_set(hr_cancel *cancel)
{
    __atomic_store_n(&cancel->set, true, __ATOMIC_SEQ_CST);
}

void hr_object_direct(hr_object *object)
{
    if (object->storage->direct)
        object->storage->direct(object);
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
    bool ignored;
    cached = cached ? cached : &ignored;
    *cached = false;
    return object->storage->read(object, offset, size, dst, cached, cancel, error);
}

hr_status hr_object_text(const char *path, char **text, size_t *size, hr_error *error)
{
    hr_object *object;
    HR_TRY(hr_object_open_for(&object, NULL, path, HR_OBJECT_WHOLE, NULL, NULL, error));
    *size = (size_t)object->size;
    *text = hr_calloc(*size + 1, 1, error);
    hr_status status =
        *text ? hr_object_read(object, 0, *size, *text, NULL, NULL, error) : HR_STATUS_NO_MEMORY;
    hr_object_close(object);
    if (status != HR_STATUS_OK)
        hr_free(*text);
    return status;
}
