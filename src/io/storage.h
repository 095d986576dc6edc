/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where bytes come from. A URI chooses the back end by its scheme; a path without a scheme and
 * file:// name local files. Everything above reads ranges of objects and does not know the back
 * end. */
#pragma once

#include "core/core.h"

/* Whether a wait has to end: `cancel`, which may be NULL, is set, or the thread is interrupted. */
bool hr_cancelled(const hr_cancel *cancel);

/* From now on, waits of this thread end when `*interrupt` becomes true. This is for `create` of
 * operators, which gets no hr_cancel. NULL: no longer. Threads that `create` starts are interrupted
 * by the same flag, if they ask for it. */
void hr_interrupt_by(const bool *interrupt);
const bool *hr_interrupt_get(void);

struct hr_storage;

/* A file, or an object of a remote store. Back ends put their own fields behind these. Several
 * threads may read one object at once. */
struct hr_object {
    const struct hr_storage *storage;
    int64_t size;
    uint64_t version; /* differs if the contents changed; 0: unknown */
    const char
        *server;       /* which one was asked, if the path does not say it: part of keys; or NULL */
    const void *first; /* the first bytes, if they came with the opening */
    size_t first_size;
};

/* Where a caller of `open` wants the first bytes to be. */
typedef struct hr_place {
    /* Returns memory for `size` bytes, which replaces what an earlier call returned. It belongs to
     * the caller, and lives as long as the object. NULL: they are put elsewhere. Any thread, but
     * before `open` returns. */
    void *(*memory)(void *context, size_t size);
    void *context;
} hr_place;

/* An entry of a folder: its name without the folder's. */
typedef hr_status (*hr_listed_fn)(void *context, const char *name, bool is_folder, hr_error *error);

#define HR_DIRECT_BLOCK 4096 /* a multiple of the blocks of disks */

/* A back end. Failures name neither the object nor the path: callers do. It repeats requests that
 * another attempt may serve. Waits end soon after `cancel` is set; it may be NULL. */
typedef struct hr_storage {
    const char *scheme; /* "file" */
    /* How many at once, from as many threads, give full speed. NULL: one per CPU. */
    int32_t (*requests)(void);
    /* `want`: so many of the first bytes will probably be read; a remote store sends them at once,
     * to `place` if it is not NULL. HR_STATUS_NO_MEMORY also means that there are too few
     * descriptors: that can pass, and the item is not bad. */
    hr_status (*open)(hr_object **out, const char *path, size_t want, const hr_place *place,
                      hr_cancel *cancel, hr_error *error);
    /* Reads all of the range, which lies within the object. `*cached`: no wait was needed. */
    hr_status (*read)(hr_object *object, int64_t offset, size_t size, void *dst, bool *cached,
                      hr_cancel *cancel, hr_error *error);
    void (*close)(hr_object *object);
    /* From now on, reads bypass the system's page cache where this is possible: where `dst` and the
     * offset are the same modulo HR_DIRECT_BLOCK, and the file system allows it. Called before
     * other threads have the object. NULL: there is no such cache. */
    void (*direct)(hr_object *object);
    /* Lists what is in a folder, in any order. NULL: this storage has no folders. */
    hr_status (*list)(const char *path, hr_listed_fn found, void *context, hr_cancel *cancel,
                      hr_error *error);
} hr_storage;

/* All that are defined as `const hr_storage hr_storage_NAME =` (tools/registry.cmake). Ends with
 * NULL. */
extern const hr_storage *const hr_storages[];
extern const hr_storage hr_storage_local;

/* Whether a path is neither a URI nor begins at the root of the local file system. */
bool hr_path_is_relative(const char *path);
/* The back end that serves a path, which may be relative to `root`. */
const hr_storage *hr_storage_of(const char *root, const char *path);

/* Like hr_object_open. A remote object whose first bytes are wanted comes with them, up to
 * HR_OBJECT_WHOLE, so that reading a small one takes a single request. */
enum { HR_OBJECT_START = 64 << 10, HR_OBJECT_WHOLE = 1 << 20 };
hr_status hr_object_open_for(hr_object **out, const char *root, const char *path, size_t want,
                             const hr_place *place, hr_cancel *cancel, hr_error *error);

/* See hr_storage.direct. */
void hr_object_direct(hr_object *object);

/* Adds a back end, which lives as long as the process. HR_STATUS_ERROR: the scheme exists, or there
 * are too many. */
hr_status hr_storage_add(const hr_storage *storage, hr_error *error);
