/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/thread.h"
#include "io/storage.h"
#include "readers/scan_cache.h"

#define MAX_THREADS 16
#define NEAR ((int64_t)16 << 10) /* reading this much is cheaper than another request */
/* Bytes of a request when the last step was this small, and otherwise. */
#define AHEAD ((int64_t)256 << 10)
#define LEAST ((int64_t)4 << 10)

hr_status hr_scan_add(hr_scan *scan, const void *data, size_t size, hr_error *error)
{
    size_t end;
    if (size == 0)
        return HR_STATUS_OK;
    if (!hr_size_add(scan->size, size, &end))
        return hr_fail_memory(error, size);
    if (end > scan->capacity) {
        size_t capacity = HR_MAX(end, scan->capacity / 2 * 3 + 4096);
        char *grown = hr_realloc(scan->data, capacity, 1, error);
        HR_TRY_ALLOC(grown);
        scan->data = grown;
        scan->capacity = capacity;
    }
    memcpy(scan->data + scan->size, data, size);
    scan->size = end;
    return HR_STATUS_OK;
}

void hr_scan_free(hr_scan *scans, int32_t count)
{
    for (int32_t i = 0; scans && i < count; i++)
        hr_free(scans[i].data);
    hr_free(scans);
}

/* ---- windows ---- */

static bool window_has(const hr_scan_window *w, int64_t offset, size_t size)
{
    return w->data && offset >= w->start && size <= w->size &&
           (uint64_t)(offset - w->start) <= w->size - size;
}

const uint8_t *hr_scan_bytes(hr_scan_window *w, int64_t offset, size_t size, hr_error *error)
{
    int64_t step = offset - w->last;
    w->last = offset;
    if (window_has(w, offset, size))
        return w->data + (offset - w->start);
    int64_t left = hr_object_size(w->object) - offset;
    if (offset < 0 || left < 0 || (uint64_t)left < size) {
        hr_fail(error, HR_STATUS_CORRUPT, "it ends at byte %lld, in the middle of an entry",
                (long long)hr_object_size(w->object));
        return NULL;
    }
    bool near = step > 0 && step <= NEAR;
    size_t wanted = HR_MAX(size, (size_t)HR_MIN(left, near ? AHEAD : LEAST));
    if (wanted > w->capacity) {
        uint8_t *grown = hr_realloc(w->data, wanted, 1, error);
        if (!grown)
            return NULL;
        w->data = grown;
        w->capacity = wanted;
    }
    w->size = 0;
    w->start = offset;
    if (hr_object_read(w->object, offset, wanted, w->data, NULL, NULL, error) != HR_STATUS_OK)
        return NULL;
    w->size = wanted;
    return w->data;
}

void hr_scan_window_fini(hr_scan_window *w)
{
    hr_free(w->data);
    *w = (hr_scan_window){0};
}

const char *hr_scan_compression(hr_scan_window *w)
{
    enum { SIZE = 6 };
    static const struct {
        const char *name, *magic;
        size_t size;
    } known[] = {{"gzip", "\x1f\x8b", 2},
                 {"zlib", "\x78\x01", 2},
                 {"zlib", "\x78\x9c", 2},
                 {"zlib", "\x78\xda", 2},
                 {"bzip2", "BZh", 3},
                 {"xz", "\xfd\x37zXZ", 6},
                 {"zstd", "\x28\xb5\x2f\xfd", 4},
                 {"lz4", "\x04\x22\x4d\x18", 4},
                 {"zip", "PK\x03\x04", 4}};
    hr_error ignored = {0};
    if (hr_object_size(w->object) < SIZE)
        return NULL;
    const uint8_t *start = hr_scan_bytes(w, 0, SIZE, &ignored);
    for (size_t i = 0; start && i < HR_COUNT_OF(known); i++)
        if (memcmp(start, known[i].magic, known[i].size) == 0)
            return known[i].name;
    return NULL;
}

/* ---- files ---- */

typedef struct job {
    const hr_strings *paths;
    const hr_scanner *scanner;
    hr_scan *scans;
    hr_error *errors; /* one per file */
    int cache;        /* folder, or -1 */
    const bool *interrupt;
    bool each; /* go on after a failure */
    atomic_int next;
    atomic_bool failed;
} job;

static hr_status scan_file(const job *j, int32_t i, hr_error *error)
{
    hr_object *object;
    HR_TRY(hr_object_open(&object, NULL, j->paths->v[i], NULL, error));
    const hr_scan_source source = {j->paths->v[i], object->server, j->scanner->kind, object->size,
                                   object->version};
    hr_scan *scan = &j->scans[i];
    hr_status status = HR_STATUS_OK;
    if (hr_scan_cache_load(j->cache, &source, scan) && !j->scanner->valid(scan, object->size)) {
        hr_free(scan->data);
        *scan = (hr_scan){0};
    }
    if (!scan->data) {
        status = j->scanner->scan(object, scan, error);
        if (status == HR_STATUS_OK)
            hr_scan_cache_store(j->cache, &source, scan);
    }
    hr_object_close(object);
    return status;
}

static void *work(void *context)
{
    job *j = context;
    hr_interrupt_by(j->interrupt);
    for (int32_t i; !atomic_load(&j->failed) && (i = atomic_fetch_add(&j->next, 1)) < j->paths->n;)
        if (scan_file(j, i, &j->errors[i]) != HR_STATUS_OK && !j->each)
            atomic_store(&j->failed, true);
    return NULL;
}

/* Files that were begun before another one failed are scanned to their end, so that the first error
 * is always the same. */
static hr_status first_error(const job *j, hr_error *error)
{
    for (int32_t i = 0; i < j->paths->n; i++)
        if (j->errors[i].status != HR_STATUS_OK) {
            if (error)
                *error = j->errors[i];
            return hr_error_prefix(error, "path '%s'", j->paths->v[i]);
        }
    return HR_STATUS_OK;
}

static hr_status scan_all(const hr_strings *paths, const hr_scanner *scanner, bool each,
                          hr_scan **out, hr_error **errors, hr_error *error)
{
    size_t n = (size_t)paths->n;
    job j = {.paths = paths,
             .scanner = scanner,
             .each = each,
             .cache = hr_scan_cache_open(),
             .interrupt = hr_interrupt_get()};
    j.scans = hr_calloc(n + 1, sizeof(*j.scans), error);
    j.errors = hr_calloc(n + 1, sizeof(*j.errors), error);
    hr_status status = HR_STATUS_NO_MEMORY;
    if (j.scans && j.errors) {
        pthread_t threads[MAX_THREADS];
        int32_t count = 0;
        int64_t most = HR_MIN((int64_t)MAX_THREADS, sysconf(_SC_NPROCESSORS_ONLN));
        while (count < HR_MIN(most, paths->n) - 1 &&
               hr_thread_create(&threads[count], work, &j) == 0)
            count++;
        work(&j);
        for (int32_t i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
        status = each ? HR_STATUS_OK : first_error(&j, error);
    }
    hr_scan_cache_close(j.cache);
    if (status != HR_STATUS_OK) {
        hr_scan_free(j.scans, paths->n);
        hr_free(j.errors);
        j.scans = NULL;
        j.errors = NULL;
    }
    *out = j.scans;
    *errors = j.errors;
    return status;
}

hr_status hr_scan_files(const hr_strings *paths, const hr_scanner *scanner, hr_scan **out,
                        hr_error *error)
{
    hr_error *errors;
    hr_status status = scan_all(paths, scanner, false, out, &errors, error);
    hr_free(errors);
    return status;
}

hr_status hr_scan_each(const hr_strings *paths, const hr_scanner *scanner, hr_scan **out,
                       hr_error **errors, hr_error *error)
{
    return scan_all(paths, scanner, true, out, errors, error);
}
