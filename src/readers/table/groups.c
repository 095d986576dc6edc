/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Entries are in a list in the order in which they were last asked for, and those that are not read
 * yet in a queue in the order in which they were first asked for. Beyond `most` groups, an entry is
 * dropped if no row is missing, or if it was not asked for in a long time: rows that were asked for
 * are not always taken. */
#include "readers/table/groups.h"

#include <string.h>
#include <unistd.h>

#include "core/thread.h"

#define THREADS_MAX 4
#define STALE (1 << 17) /* calls of want, more than a pipeline locates ahead */

typedef enum entry_state { ENTRY_QUEUED = 0, ENTRY_READING, ENTRY_READY, ENTRY_FAILED } entry_state;

typedef struct entry {
    int64_t group;
    entry_state state;
    int64_t waiting;             /* workers that wait for it: it is read first */
    int64_t missing;             /* rows that were asked for and not taken */
    int64_t asked;               /* when it was asked for last, counted in calls */
    struct entry *newer, *older; /* in the order of `asked` */
    struct entry *next;          /* in the queue */
    const hr_group_rows *rows;
    hr_buffer *buffer; /* that keeps the rows; a reference */
    hr_error error;
} entry;

/* Groups that nobody refers to any more. They are released by the threads that read, because this
 * may need a lock of Python, for which workers must not wait. Outlives the groups. */
typedef struct garbage {
    pthread_mutex_t lock;
    int64_t refs; /* the groups', and one per group in memory */
    bool open;    /* there are threads */
    struct kept *first;
} garbage;

typedef struct kept {
    garbage *home;
    struct kept *next;
    hr_group_rows rows;
} kept;

struct hr_groups {
    const hr_tables *tables;
    const hr_table_info *info;
    int32_t columns;
    int64_t most;
    garbage *garbage;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work, done;
    bool closed;
    int32_t threads;
    pthread_t thread[THREADS_MAX];
    int64_t calls, held; /* calls: from 1. held: entries that are being read, or are in memory */
    entry *newest, *oldest, *queue_first, *queue_last;
    entry *entries[]; /* by group */
};

/* ---- groups in memory ---- */

static void garbage_unref(garbage *g)
{
    pthread_mutex_lock(&g->lock);
    bool last = --g->refs == 0;
    pthread_mutex_unlock(&g->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&g->lock);
    hr_free(g);
}

static void kept_free(kept *k)
{
    if (k->rows.array.release)
        k->rows.array.release(&k->rows.array);
    if (k->rows.schema.release)
        k->rows.schema.release(&k->rows.schema);
    garbage_unref(k->home);
    hr_free(k->rows.columns);
    hr_free(k);
}

/* The last reference to the buffer of a group is gone. */
static void kept_release(void *context)
{
    kept *k = context;
    garbage *g = k->home;
    pthread_mutex_lock(&g->lock);
    bool open = g->open;
    if (open) {
        k->next = g->first;
        g->first = k;
    }
    pthread_mutex_unlock(&g->lock);
    if (!open)
        kept_free(k);
}

static void collect(garbage *g, bool close)
{
    pthread_mutex_lock(&g->lock);
    kept *k = g->first;
    g->first = NULL;
    g->open = g->open && !close;
    pthread_mutex_unlock(&g->lock);
    for (kept *next; k; k = next) {
        next = k->next;
        kept_free(k);
    }
}

static hr_status check(const hr_groups *g, int64_t group, kept *k, hr_error *error)
{
    const struct ArrowArray *array = &k->rows.array;
    int64_t rows = g->info->first[group + 1] - g->info->first[group];
    if (!k->rows.schema.release || !array->release || array->n_children != g->columns ||
        k->rows.schema.n_children != g->columns || array->offset < 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "it was read without its %d columns", g->columns);
    if (array->length != rows)
        return hr_fail(error, HR_STATUS_CORRUPT, "it has %lld rows now, and had %lld",
                       (long long)array->length, (long long)rows);
    for (int32_t i = 0; i < g->columns; i++) {
        const struct ArrowArray *child = array->children[i];
        if (child->length - array->offset < rows)
            return hr_fail(error, HR_STATUS_CORRUPT, "column %d has too few rows", i);
        HR_TRY(hr_table_column_init(&k->rows.columns[i], k->rows.schema.children[i], child,
                                    array->offset, error));
    }
    k->rows.rows = rows;
    return HR_STATUS_OK;
}

static kept *make_kept(const hr_groups *g, hr_error *error)
{
    kept *k = hr_calloc(1, sizeof(*k), error);
    if (!k)
        return NULL;
    k->rows.columns = hr_calloc((size_t)g->columns, sizeof(*k->rows.columns), error);
    if (!k->rows.columns) {
        hr_free(k);
        return NULL;
    }
    k->home = g->garbage;
    pthread_mutex_lock(&g->garbage->lock);
    g->garbage->refs++;
    pthread_mutex_unlock(&g->garbage->lock);
    return k;
}

/* Reads a group. No lock held. */
static hr_status read_group(hr_groups *g, int64_t group, hr_buffer **buffer,
                            const hr_group_rows **rows, hr_error *error)
{
    kept *k = make_kept(g, error);
    HR_TRY_ALLOC(k);
    hr_status status =
        g->tables->read(g->info->table, group, &k->rows.schema, &k->rows.array, error);
    if (status == HR_STATUS_OK)
        status = check(g, group, k, error);
    if (status == HR_STATUS_OK)
        status = hr_buffer_adopt(buffer, k, 0, kept_release, k, error);
    if (status != HR_STATUS_OK)
        kept_free(k);
    else
        *rows = &k->rows;
    return status;
}

/* ---- entries; lock held ---- */

static void unlink_entry(hr_groups *g, entry *e)
{
    *(e->newer ? &e->newer->older : &g->newest) = e->older;
    *(e->older ? &e->older->newer : &g->oldest) = e->newer;
}

static void link_newest(hr_groups *g, entry *e)
{
    e->newer = NULL;
    e->older = g->newest;
    *(g->newest ? &g->newest->newer : &g->oldest) = e;
    g->newest = e;
}

static bool has_ended(const entry *e)
{
    return e->state == ENTRY_READY || e->state == ENTRY_FAILED;
}

/* The entry of a group, which is queued if it is new. NULL: no memory. */
static entry *find(hr_groups *g, int64_t group, hr_error *error)
{
    entry *e = g->entries[group];
    bool again = e && e->state == ENTRY_FAILED && e->missing == 0 && e->waiting == 0;
    if (e)
        unlink_entry(g, e);
    if (!e) {
        e = hr_calloc(1, sizeof(*e), error);
        if (!e)
            return NULL;
        e->group = group;
        g->entries[group] = e;
    }
    if (again) { /* what failed may succeed in the next epoch */
        e->state = ENTRY_QUEUED;
        g->held--;
    }
    if (e->state == ENTRY_QUEUED && (again || e->asked == 0)) {
        *(g->queue_last ? &g->queue_last->next : &g->queue_first) = e;
        g->queue_last = e;
        pthread_cond_signal(&g->work);
    }
    e->asked = g->calls;
    link_newest(g, e);
    return e;
}

/* Takes an entry that can be dropped out of the list, or returns NULL. */
static entry *find_idle(hr_groups *g)
{
    for (entry *e = g->oldest; e; e = e->newer) {
        if (!has_ended(e) || e->waiting > 0 || (e->missing > 0 && g->calls - e->asked < STALE))
            continue;
        unlink_entry(g, e);
        g->entries[e->group] = NULL;
        g->held--;
        return e;
    }
    return NULL;
}

/* Takes the next entry to read out of the queue; NULL: there is none, or no room for it. */
static entry *dequeue(hr_groups *g, entry **dropped)
{
    entry *before = NULL, *e = g->queue_first;
    *dropped = NULL;
    for (; e && e->waiting == 0; e = e->next)
        before = e;
    if (!e) {
        before = NULL;
        e = g->queue_first;
    }
    if (!e || (g->held >= g->most && !(*dropped = find_idle(g)) && e->waiting == 0))
        return NULL;
    *(before ? &before->next : &g->queue_first) = e->next;
    if (g->queue_last == e)
        g->queue_last = before;
    e->next = NULL;
    e->state = ENTRY_READING;
    g->held++;
    return e;
}

static void entry_free(entry *e)
{
    if (e)
        hr_buffer_unref(e->buffer);
    hr_free(e);
}

/* Reads an entry. The lock is held on entry and return, but not meanwhile. */
static void read_entry(hr_groups *g, entry *e, entry *dropped)
{
    const hr_group_rows *rows = NULL;
    hr_buffer *buffer = NULL;
    hr_error error = {0};
    pthread_mutex_unlock(&g->lock);
    entry_free(dropped);
    collect(g->garbage, false);
    hr_status status = read_group(g, e->group, &buffer, &rows, &error);
    pthread_mutex_lock(&g->lock);
    e->buffer = buffer;
    e->rows = rows;
    e->error = error;
    e->error.status = status;
    e->state = status == HR_STATUS_OK ? ENTRY_READY : ENTRY_FAILED;
    pthread_cond_broadcast(&g->done);
}

static void *work(void *context)
{
    hr_groups *g = context;
    pthread_mutex_lock(&g->lock);
    while (!g->closed) {
        entry *dropped, *e = dequeue(g, &dropped);
        if (e)
            read_entry(g, e, dropped);
        else
            pthread_cond_wait(&g->work, &g->lock);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static hr_status start(hr_groups *g, hr_error *error)
{
    int64_t most = HR_MIN((int64_t)THREADS_MAX, sysconf(_SC_NPROCESSORS_ONLN));
    while (g->threads < HR_MAX(most, 1) && hr_thread_create(&g->thread[g->threads], work, g) == 0)
        g->threads++;
    if (g->threads == 0)
        return hr_fail(error, HR_STATUS_NO_MEMORY, "no thread can be started to read row groups");
    return HR_STATUS_OK;
}

/* ---- the interface ---- */

hr_status hr_groups_create(hr_groups **out, const hr_tables *tables, const hr_table_info *info,
                           int32_t columns, int64_t most, hr_error *error)
{
    size_t count = (size_t)info->file_groups[info->files], size;
    *out = NULL;
    if (!hr_size_mul(count, sizeof(entry *), &size) || !hr_size_add(size, sizeof(**out), &size))
        return hr_fail_memory(error, SIZE_MAX);
    hr_groups *g = hr_calloc(1, size, error);
    garbage *left = g ? hr_calloc(1, sizeof(*left), error) : NULL;
    if (!left) {
        hr_free(g);
        return HR_STATUS_NO_MEMORY;
    }
    *left = (garbage){.refs = 1, .open = true};
    pthread_mutex_init(&left->lock, NULL);
    g->tables = tables;
    g->info = info;
    g->columns = columns;
    g->most = most;
    g->calls = 1;
    g->garbage = left;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->work, NULL);
    pthread_cond_init(&g->done, NULL);
    *out = g;
    return HR_STATUS_OK;
}

void hr_groups_destroy(hr_groups *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->closed = true;
    pthread_cond_broadcast(&g->work);
    pthread_mutex_unlock(&g->lock);
    for (int32_t i = 0; i < g->threads; i++)
        pthread_join(g->thread[i], NULL);
    for (entry *e = g->oldest, *newer; e; e = newer) {
        newer = e->newer;
        entry_free(e);
    }
    collect(g->garbage, true);
    garbage_unref(g->garbage);
    pthread_cond_destroy(&g->work);
    pthread_cond_destroy(&g->done);
    pthread_mutex_destroy(&g->lock);
    hr_free(g);
}

hr_status hr_groups_want(hr_groups *g, int64_t group, hr_error *error)
{
    pthread_mutex_lock(&g->lock);
    g->calls++;
    entry *e = find(g, group, error);
    hr_status status = e ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    if (e)
        e->missing++;
    if (e && g->threads == 0)
        status = start(g, error);
    pthread_mutex_unlock(&g->lock);
    return status;
}

hr_status hr_groups_take(hr_groups *g, int64_t group, const hr_group_rows **rows,
                         hr_buffer **buffer, hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    pthread_mutex_lock(&g->lock);
    entry *e = find(g, group, error);
    if (!e || (g->threads == 0 && start(g, error) != HR_STATUS_OK)) {
        pthread_mutex_unlock(&g->lock);
        return HR_STATUS_NO_MEMORY;
    }
    e->waiting++;
    while (!has_ended(e)) {
        pthread_cond_signal(&g->work);
        pthread_cond_wait(&g->done, &g->lock);
    }
    e->waiting--;
    e->missing = HR_MAX(e->missing - 1, 0);
    if (e->missing == 0)
        pthread_cond_signal(&g->work); /* there may be room now */
    if (e->state == ENTRY_READY) {
        *rows = e->rows;
        *buffer = hr_buffer_ref(e->buffer);
    } else {
        status = e->error.status;
        if (error)
            *error = e->error;
    }
    pthread_mutex_unlock(&g->lock);
    return status;
}
