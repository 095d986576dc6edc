/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A list in order of last use, the latest first. It is short, so it is searched from its head. */
#include "io/open_files.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct hr_open_file entry;

struct hr_open_file {
    entry *prev, *next;
    const char *root, *path; /* borrowed from the span's source */
    hr_object *object;       /* NULL while a thread opens it */
    atomic_int users;        /* grows with the lock held only */
};

struct hr_open_files {
    pthread_mutex_t lock;
    pthread_cond_t opened; /* an entry got its object, or was removed */
    entry *first, *last;
    int32_t count, limit;
};

hr_status hr_open_files_create(hr_open_files **out, int32_t limit, hr_error *error)
{
    hr_open_files *files = hr_calloc(1, sizeof(*files), error);
    HR_TRY_ALLOC(files);
    pthread_mutex_init(&files->lock, NULL);
    pthread_cond_init(&files->opened, NULL);
    files->limit = limit;
    *out = files;
    return HR_STATUS_OK;
}

static void unlink_entry(hr_open_files *files, entry *e)
{
    *(e->prev ? &e->prev->next : &files->first) = e->next;
    *(e->next ? &e->next->prev : &files->last) = e->prev;
    files->count--;
}

static void link_first(hr_open_files *files, entry *e)
{
    e->prev = NULL;
    e->next = files->first;
    *(files->first ? &files->first->prev : &files->last) = e;
    files->first = e;
    files->count++;
}

static void entry_free(entry *e)
{
    hr_object_close(e->object);
    hr_free(e);
}

void hr_open_files_destroy(hr_open_files *files)
{
    if (!files)
        return;
    for (entry *e = files->first, *next; e; e = next) {
        next = e->next;
        entry_free(e);
    }
    pthread_cond_destroy(&files->opened);
    pthread_mutex_destroy(&files->lock);
    hr_free(files);
}

/* A source gives the same strings again, so that comparing addresses is enough; they stay, so that
 * an address never means another file. Lock held. */
static entry *find(const hr_open_files *files, const hr_span *span)
{
    entry *e = files->first;
    while (e && !(e->path == span->path && e->root == span->root))
        e = e->next;
    return e;
}

static hr_status open_object(hr_object **out, const char *root, const char *path, size_t want,
                             bool direct, const hr_place *place, hr_cancel *cancel, hr_error *error)
{
    HR_TRY(hr_object_open_for(out, root, path, want, place, cancel, error));
    if (direct)
        hr_object_direct(*out);
    return HR_STATUS_OK;
}

/* Opens the object of a new entry, which other threads wait for. Lock held on entry and exit. */
static hr_status open_entry(hr_open_files *files, entry *e, bool direct, hr_cancel *cancel,
                            hr_error *error)
{
    hr_object *object = NULL;
    link_first(files, e);
    pthread_mutex_unlock(&files->lock);
    hr_status status = open_object(&object, e->root, e->path, 1, direct, NULL, cancel, error);
    pthread_mutex_lock(&files->lock);
    e->object = object;
    if (status != HR_STATUS_OK) { /* whoever waits looks for the entry again and opens it itself */
        unlink_entry(files, e);
        entry_free(e);
    }
    pthread_cond_broadcast(&files->opened);
    return status;
}

/* How many of the first bytes are worth reading with the opening. */
static size_t want_of(const hr_span *span)
{
    if (span->size < 0)
        return HR_OBJECT_WHOLE;
    return span->offset == 0 ? (size_t)HR_MIN(span->size, (int64_t)HR_OBJECT_WHOLE) : 1;
}

/* Makes room for one more: closes those that were not used for the longest time. Lock held. */
static void close_surplus(hr_open_files *files)
{
    for (entry *e = files->last, *prev; e && files->count >= files->limit; e = prev) {
        prev = e->prev;
        if (atomic_load_explicit(&e->users, memory_order_acquire) > 0)
            continue;
        unlink_entry(files, e);
        entry_free(e);
    }
}

static hr_status add_entry(hr_open_files *files, const hr_span *span, bool direct,
                           hr_cancel *cancel, entry **out, hr_error *error)
{
    entry *e = hr_calloc(1, sizeof(*e), error);
    HR_TRY_ALLOC(e);
    close_surplus(files);
    e->root = span->root;
    e->path = span->path;
    atomic_init(&e->users, 1);
    *out = e;
    return open_entry(files, e, direct, cancel, error);
}

hr_status hr_open_files_get(hr_open_files *files, const hr_span *span, bool direct,
                            const hr_place *place, hr_cancel *cancel, hr_object **out,
                            hr_open_file **file, hr_error *error)
{
    *file = NULL;
    if (!span->keep_open)
        return open_object(out, span->root, span->path, want_of(span), direct, place, cancel,
                           error);
    hr_status status = HR_STATUS_OK;
    pthread_mutex_lock(&files->lock);
    entry *e;
    while ((e = find(files, span)) && !e->object)
        pthread_cond_wait(&files->opened, &files->lock);
    if (!e) {
        status = add_entry(files, span, direct, cancel, &e, error);
    } else {
        atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
        if (e->prev) {
            unlink_entry(files, e);
            link_first(files, e);
        }
    }
    if (status == HR_STATUS_OK) {
        *file = e;
        *out = e->object;
    }
    pthread_mutex_unlock(&files->lock);
    return status;
}

void hr_open_files_put(hr_object *object, hr_open_file *file)
{
    if (file)
        atomic_fetch_sub_explicit(&file->users, 1, memory_order_release);
    else
        hr_object_close(object);
}
