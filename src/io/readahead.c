/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A request is first asked, then queued, then reading, then done. `lock` guards everything except
 * the reads themselves and what is atomic: workers that read for themselves take it once per
 * request. The spans of a request become pieces of one buffer; spans
 * that are close together in one object are read at once. */
#include "io/readahead.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/note.h"
#include "core/rng.h"
#include "core/thread.h"
#include "io/open_files.h"
#include "io/storage.h"
#include "kernels/kernels.h"

#define WARM_AFTER 64 /* reads in a row that were in the page cache */
#define GAP_READ 4096 /* bytes between two spans that cost less than another request */
#define PIECE_ALIGNMENT 64
#define BOUNCE (256 << 10) /* bytes that stay in the L2 cache of a CPU */
#define OPEN_FILES 128     /* that stay open while nobody reads them */
#define THREADS_MAX 256    /* for storage that serves many requests at once */
#define DIRECT_READS 16    /* at once, past the page cache: nothing else keeps a disk busy */
#define READY 16           /* conditions, so that few workers wake for the requests of others */
#define IDLE_NS (100 * HR_NS_PER_MS) /* after which a thread ends */

typedef enum read_state { READ_ASKED, READ_QUEUED, READ_READING, READ_DONE } read_state;

/* One span of a request. */
typedef struct piece {
    hr_span span;
    hr_object *object; /* while it is read */
    hr_open_file *file;
    hr_read_piece out;
    bool joined; /* follows the previous piece in object and buffer */
} piece;

struct hr_read {
    hr_read *prev, *next; /* in the queue while QUEUED */
    read_state state;
    bool dropped; /* not needed any more; the reading thread frees it */
    bool wanted;  /* a worker waits for it: it is read beyond the limit if need be */
    bool direct;  /* its pieces are placed for reading past the page cache */
    size_t size;
    size_t held; /* of its bytes, in `held` of all */
    hr_buffer *buffer;
    hr_status status;
    hr_error *error; /* only if it failed */
    int32_t count;
    piece pieces[];
};

typedef struct counters { /* of reads */
    atomic_int_fast64_t files, bytes, ns, cached;
    char apart[64]; /* from the cache lines of others */
} counters;

struct hr_readahead {
    pthread_mutex_t lock;
    pthread_cond_t work;         /* there is a request for an idle thread */
    pthread_cond_t room;         /* `held` shrank enough, or a request became wanted or dropped */
    pthread_cond_t ready[READY]; /* a wanted request is done: that of ready_of, or another */
    pthread_cond_t left;         /* the last thread ends */
    hr_pool *pool;
    hr_open_files *files;
    const hr_hash_key *keys; /* or NULL */
    const hr_kernels *kernels;
    hr_cancel cancel;   /* set with `stop` */
    size_t limit, held; /* `held`: bytes read or being read ahead, not taken yet */
    hr_read *first, *last;
    bool stop;
    atomic_int warm; /* reads from the page cache in a row, up to WARM_AFTER; written with `lock` */
    int32_t threads, idle, serving; /* `idle` wait for work; neither: has just been started */
    int32_t spare;
    int32_t most;    /* threads: grows with what the storage of the items asks for */
    pthread_t ended; /* the last thread that ended, to be joined by the next one */
    bool any_ended;
    cpu_set_t cpus; /* those of the creating thread, also for threads that workers start */
    bool cpus_known;
    int64_t stall_us;
    size_t peak;        /* the largest `held` */
    counters by_thread; /* reads of the threads, and of workers */
    counters by_worker;
};

static void unlink_read(hr_readahead *ra, hr_read *r)
{
    *(r->prev ? &r->prev->next : &ra->first) = r->next;
    *(r->next ? &r->next->prev : &ra->last) = r->prev;
    r->prev = r->next = NULL;
}

static pthread_cond_t *ready_of(hr_readahead *ra, const hr_read *r)
{
    return &ra->ready[hr_mix((uintptr_t)r, 0) % READY];
}

static void free_read(hr_read *r)
{
    hr_buffer_unref(r->buffer);
    hr_free(r->error);
    hr_free(r);
}

/* The injected delay, in pieces, so that cancelling ends it early. */
static void stall(hr_readahead *ra)
{
    const int64_t piece_us = 20000;
    bool stop = false;
    for (int64_t left = ra->stall_us; left > 0 && !stop; left -= piece_us) {
        nanosleep(&(struct timespec){0, (long)HR_MIN(left, piece_us) * 1000}, NULL);
        pthread_mutex_lock(&ra->lock);
        stop = ra->stop;
        pthread_mutex_unlock(&ra->lock);
    }
}

static void *thread_main(void *context);

/* How many threads may read now. */
static int32_t allowed(const hr_readahead *ra)
{
    return ra->warm == WARM_AFTER ? HR_MIN(ra->spare, ra->most) : ra->most;
}

/* Sees to it that a thread comes for the first request, if one may; it calls the next one. If none
 * can be started, others or the workers read what is queued. Lock held. */
static void call_thread(hr_readahead *ra)
{
    pthread_t thread;
    if (ra->stop || !ra->first || ra->serving >= allowed(ra))
        return;
    if (ra->idle > 0)
        pthread_cond_signal(&ra->work);
    else if (ra->threads < allowed(ra) && hr_thread_create(&thread, thread_main, ra) == 0)
        ra->threads++;
}

/* Without a lock while nothing changes. */
static void note_warmth(hr_readahead *ra, bool cached)
{
    if (atomic_load_explicit(&ra->warm, memory_order_relaxed) == (cached ? WARM_AFTER : 0))
        return;
    pthread_mutex_lock(&ra->lock);
    int warm = ra->warm;
    ra->warm = cached ? HR_MIN(warm + 1, WARM_AFTER) : 0;
    if (!cached && warm == WARM_AFTER)
        call_thread(ra);
    pthread_mutex_unlock(&ra->lock);
}

static size_t end_of(const piece *p)
{
    return p->out.offset + p->out.size;
}

static void count_read(counters *c, const hr_read *r, int64_t ns, bool cached)
{
    int64_t bytes = 0;
    for (int32_t i = 0; r->buffer && i < r->count; i++) {
        const piece *p = &r->pieces[i];
        bytes += (int64_t)(p->joined ? end_of(p) - end_of(p - 1) : p->out.size);
    }
    atomic_fetch_add_explicit(&c->files, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->ns, ns, memory_order_relaxed);
    if (cached)
        atomic_fetch_add_explicit(&c->cached, 1, memory_order_relaxed);
}

/* Opens the object of a span and finds where its bytes will be in the buffer: behind those of
 * `last`, which may be NULL. */
static hr_status open_piece(hr_readahead *ra, piece *p, const piece *last, bool direct,
                            const hr_place *place, hr_error *error)
{
    size_t alignment = direct ? HR_DIRECT_BLOCK : PIECE_ALIGNMENT;
    HR_TRY(hr_open_files_get(ra->files, &p->span, direct, place, &ra->cancel, &p->object, &p->file,
                             error));
    int64_t left = p->object->size - p->span.offset;
    if (p->span.offset < 0 || left < HR_MAX(p->span.size, 0))
        return hr_fail(error, HR_STATUS_IO, "has %lld bytes, too few for %lld at offset %lld",
                       (long long)p->object->size, (long long)p->span.size,
                       (long long)p->span.offset);
    p->out.size = (size_t)(p->span.size < 0 ? left : p->span.size);
    size_t end = last ? last->out.offset + last->out.size : 0;
    int64_t gap = last && p->object == last->object
                      ? p->span.offset - last->span.offset - (int64_t)last->out.size
                      : -1;
    p->joined = gap >= 0 && gap <= GAP_READ;
    p->out.offset = p->joined ? end + (size_t)gap : (end + alignment - 1) / alignment * alignment;
    if (direct && !p->joined) /* in memory and in the file, it begins at the same byte of a block */
        p->out.offset += (size_t)p->span.offset % HR_DIRECT_BLOCK;
    return HR_STATUS_OK;
}

/* A request while its objects are opened. */
typedef struct opening {
    hr_readahead *ra;
    hr_read *read;
    bool ahead; /* by a thread of the read-ahead, which has to keep its limit */
} opening;

/* So many bytes of a request are held ahead. Lock held. */
static void hold(hr_readahead *ra, hr_read *r, size_t size)
{
    ra->held = ra->held - r->held + size;
    ra->peak = HR_MAX(ra->peak, ra->held);
    r->held = size;
}

/* Counts the bytes of a request as held ahead, if there is room for them. */
static bool hold_at_once(hr_readahead *ra, hr_read *r, size_t size)
{
    pthread_mutex_lock(&ra->lock);
    size_t others = ra->held - r->held; /* an earlier attempt may have counted them */
    bool fits = others == 0 || others + size <= ra->limit;
    hold(ra, r, fits ? size : 0);
    pthread_mutex_unlock(&ra->lock);
    return fits;
}

/* The first bytes of the only object of a request are put in the request's buffer if they are all
 * of it. A longer object is read when there is room for it. */
static void *place_whole(void *context, size_t size)
{
    const opening *o = context;
    hr_read *r = o->read;
    hr_buffer_unref(r->buffer);
    r->buffer = NULL;
    if (size >= HR_OBJECT_WHOLE || (o->ahead && !hold_at_once(o->ra, r, size)))
        return NULL;
    if (hr_pool_alloc(o->ra->pool, HR_MAX(size, (size_t)1), &r->buffer, NULL) != HR_STATUS_OK)
        return NULL;
    hr_buffer_settle(r->buffer); /* written only here, before anybody else has it */
    return hr_buffer_data(r->buffer);
}

/* Opens all objects of a request and sets its size. No lock held. */
static hr_status open_pieces(hr_readahead *ra, hr_read *r, bool ahead, hr_error *error)
{
    opening o = {ra, r, ahead};
    const hr_place whole = {place_whole, &o};
    bool placed = r->count == 1 && r->pieces[0].span.size < 0;
    for (int32_t i = 0; i < r->count; i++)
        HR_TRY(open_piece(ra, &r->pieces[i], i > 0 ? &r->pieces[i - 1] : NULL, r->direct,
                          placed ? &whole : NULL, error));
    r->size = r->pieces[r->count - 1].out.offset + r->pieces[r->count - 1].out.size;
    r->size += r->direct ? HR_DIRECT_BLOCK : 0; /* blocks of the pool begin anywhere */
    return HR_STATUS_OK;
}

static void close_pieces(hr_read *r)
{
    for (int32_t i = 0; i < r->count; i++) {
        if (r->pieces[i].object)
            hr_open_files_put(r->pieces[i].object, r->pieces[i].file);
        r->pieces[i].object = NULL;
    }
}

/* Whether the bytes get a key: a device will read them. The CPU's decoder reads all of them itself,
 * and computes the key then. */
static bool has_key(const hr_readahead *ra, const hr_read *r)
{
    return ra->keys && hr_buffer_pinned(r->buffer);
}

/* The last of the pieces that are read together with piece i, plus one. */
static int32_t joined_end(const hr_read *r, int32_t i)
{
    for (i++; i < r->count && r->pieces[i].joined;)
        i++;
    return i;
}

/* Notes the key of the largest piece. `from`: where the bytes of piece i are, which are copied to
 * the buffer; NULL: they are there. */
static void take_key(hr_readahead *ra, hr_read *r, int32_t i, const char *from)
{
    const hr_read_piece *p = &r->pieces[i].out;
    char *to = (char *)hr_buffer_data(r->buffer) + p->offset;
    bool largest = true;
    for (int32_t k = 0; k < r->count; k++)
        largest = largest && (r->pieces[k].out.size < p->size || k == i);
    if (!largest || p->offset % HR_HASH_STRIPE > 0) {
        if (from)
            memcpy(to, from, p->size);
        return;
    }
    hr_hash key = from ? ra->kernels->hash_copy(ra->keys, from, p->size, to)
                       : ra->kernels->hash(ra->keys, to, p->size);
    hr_buffer_put_note(r->buffer, to, p->size, (hr_note){{key.word[0], key.word[1]}});
}

/* Pieces in pinned memory, from the first to the end (exclusive), which are joined. */
static hr_status read_keyed(hr_readahead *ra, hr_read *r, int32_t i, int32_t end, char *bounce,
                            bool *from_cache, hr_error *error)
{
    const piece *first = &r->pieces[i];
    const hr_read_piece *last = &r->pieces[end - 1].out;
    size_t size = last->offset + last->size - first->out.offset;
    char *buffer = (char *)hr_buffer_data(r->buffer) + first->out.offset;
    bounce = size <= BOUNCE && !r->direct ? bounce : NULL;
    HR_TRY(hr_object_read(first->object, first->span.offset, size, bounce ? bounce : buffer,
                          from_cache, &ra->cancel, error));
    for (; i < end; i++)
        take_key(ra, r, i, bounce ? bounce + r->pieces[i].out.offset - first->out.offset : NULL);
    return HR_STATUS_OK;
}

/* The buffer of a request. The places of the pieces were counted from the beginning of a block of
 * the disk, where reading is direct. */
static hr_status make_room(hr_readahead *ra, hr_read *r, hr_error *error)
{
    HR_TRY(hr_pool_alloc(ra->pool, r->size, &r->buffer, error));
    hr_buffer_settle(r->buffer); /* written only here, before anybody else has it */
    if (r->direct) {
        size_t shift = -(uintptr_t)hr_buffer_data(r->buffer) % HR_DIRECT_BLOCK;
        for (int32_t i = 0; i < r->count; i++)
            r->pieces[i].out.offset += shift;
    }
    return HR_STATUS_OK;
}

/* The bytes of all pieces, to the buffer. `bounce`: BOUNCE bytes, or NULL. */
static hr_status read_ranges(hr_readahead *ra, hr_read *r, char *bounce, bool *cached,
                             hr_error *error)
{
    *cached = true;
    for (int32_t i = 0, end; i < r->count; i = end) {
        const piece *first = &r->pieces[i];
        end = joined_end(r, i);
        size_t last = r->pieces[end - 1].out.offset + r->pieces[end - 1].out.size;
        bool from_cache = false;
        if (has_key(ra, r))
            HR_TRY(read_keyed(ra, r, i, end, bounce, &from_cache, error));
        else
            HR_TRY(hr_object_read(first->object, first->span.offset, last - first->out.offset,
                                  (char *)hr_buffer_data(r->buffer) + first->out.offset,
                                  &from_cache, &ra->cancel, error));
        *cached = *cached && from_cache;
    }
    return HR_STATUS_OK;
}

/* Whether opening the only object of a request has put all of it in its buffer. */
static bool is_there(const hr_read *r)
{
    const hr_object *object = r->pieces[0].object;
    return r->buffer && object->first == hr_buffer_data(r->buffer) &&
           object->first_size == r->pieces[0].out.size &&
           object->first_size == hr_buffer_size(r->buffer);
}

static hr_status read_pieces(hr_readahead *ra, hr_read *r, char *bounce, bool *cached,
                             hr_error *error)
{
    size_t limit = hr_pool_limit(ra->pool);
    if (limit && r->size > limit) /* it never fits: not a lack of memory that can pass */
        return hr_fail(error, HR_STATUS_LIMIT,
                       "needs %zu bytes of memory, more than host_memory_limit, %zu", r->size,
                       limit);
    if (is_there(r)) {
        if (has_key(ra, r))
            take_key(ra, r, 0, NULL);
        return HR_STATUS_OK;
    }
    hr_buffer *first = r->buffer; /* the object may have its first bytes there */
    hr_status status = make_room(ra, r, error);
    if (status == HR_STATUS_OK)
        status = read_ranges(ra, r, bounce, cached, error);
    hr_buffer_unref(first);
    return status;
}

/* Reads the spans of a request and closes their objects. No lock held. */
static void read_now(hr_readahead *ra, hr_read *r, hr_status opened, char *bounce, counters *by,
                     hr_error *error)
{
    int64_t start = hr_clock_ns();
    bool cached = false;
    stall(ra);
    r->status = opened;
    if (opened == HR_STATUS_OK)
        r->status = read_pieces(ra, r, bounce, &cached, error);
    close_pieces(r);
    if (r->status != HR_STATUS_OK) {
        hr_buffer_unref(r->buffer);
        r->buffer = NULL;
        if ((r->error = hr_calloc(1, sizeof(*r->error), NULL)))
            *r->error = *error;
    }
    count_read(by, r, hr_clock_ns() - start, cached);
    note_warmth(ra, cached && ra->stall_us == 0);
}

/* Waits until `size` more bytes may be held; lock held. false: stop, or the request was dropped. */
static bool wait_for_room(hr_readahead *ra, const hr_read *r, size_t size)
{
    while (!ra->stop && !r->dropped && !r->wanted && r->held == 0 && ra->held > 0 &&
           ra->held + size > ra->limit)
        pthread_cond_wait(&ra->room, &ra->lock);
    return !ra->stop && !r->dropped;
}

/* `size` bytes less are held; lock held. Threads that wait for room are woken when there is room
 * for a while: waking one for every item costs as much as copying it. */
static void release(hr_readahead *ra, size_t size)
{
    ra->held -= size;
    if (ra->held <= ra->limit - ra->limit / 4)
        pthread_cond_broadcast(&ra->room);
}

/* As many threads as the storage of the request asks for. Lock held. */
static void raise_most(hr_readahead *ra, const hr_read *r)
{
    const hr_span *span = &r->pieces[0].span;
    const hr_storage *storage = hr_storage_of(span->root, span->path);
    int32_t wanted = storage->requests ? storage->requests() : r->direct ? DIRECT_READS : 0;
    ra->most = HR_MAX(ra->most, HR_MIN(wanted, THREADS_MAX));
}

/* One request on a read-ahead thread; lock held on entry and exit. */
static void serve(hr_readahead *ra, hr_read *r, char *bounce)
{
    hr_error error;
    unlink_read(ra, r);
    r->state = READ_READING;
    raise_most(ra, r);
    ra->serving++;
    call_thread(ra);
    pthread_mutex_unlock(&ra->lock);
    hr_status opened = open_pieces(ra, r, true, &error);
    pthread_mutex_lock(&ra->lock);
    if (!wait_for_room(ra, r, r->size)) {
        close_pieces(r);
        r->status = hr_fail(NULL, HR_STATUS_STATE, " ");
        r->state = READ_DONE;
    } else {
        if (r->held == 0)
            hold(ra, r, r->size);
        pthread_mutex_unlock(&ra->lock);
        read_now(ra, r, opened, bounce, &ra->by_thread, &error);
        pthread_mutex_lock(&ra->lock);
        r->state = READ_DONE;
    }
    ra->serving--;
    if (r->dropped) {
        release(ra, r->held);
        free_read(r);
    } else if (r->wanted) { /* may be freed without the lock */
        pthread_cond_t *ready = ready_of(ra, r);
        pthread_mutex_unlock(&ra->lock); /* a woken worker would only wait for it */
        pthread_cond_broadcast(ready);
        pthread_mutex_lock(&ra->lock);
    }
}

/* The end of a thread; releases the lock. It joins the thread that ended before it, so that at any
 * time at most one is left to be joined. */
static void leave(hr_readahead *ra)
{
    pthread_t before = ra->ended;
    bool any = ra->any_ended;
    ra->ended = pthread_self();
    ra->any_ended = true;
    if (--ra->threads == 0)
        pthread_cond_signal(&ra->left);
    pthread_mutex_unlock(&ra->lock);
    if (any)
        pthread_join(before, NULL);
}

static void *thread_main(void *context)
{
    hr_readahead *ra = context;
    char *bounce = NULL;
    bool late = false;
    if (ra->cpus_known) /* a worker that has started this thread may be pinned */
        (void)sched_setaffinity(0, sizeof(ra->cpus), &ra->cpus);
    struct timespec until = hr_clock_after(IDLE_NS);
    pthread_mutex_lock(&ra->lock);
    while (!ra->stop) {
        if (ra->first && ra->serving < allowed(ra)) {
            if (ra->keys && !bounce)
                bounce = hr_calloc(1, BOUNCE, NULL);
            serve(ra, ra->first, bounce);
            until = hr_clock_after(IDLE_NS);
            late = false;
        } else if (late) {
            break;
        } else {
            ra->idle++;
            late = pthread_cond_timedwait(&ra->work, &ra->lock, &until) != 0;
            ra->idle--;
        }
    }
    hr_free(bounce);
    leave(ra);
    return NULL;
}

hr_status hr_readahead_create(hr_readahead **out, hr_pool *pool, size_t limit, int32_t threads,
                              int32_t spare, int64_t stall_us, hr_error *error)
{
    hr_readahead *ra = hr_calloc(1, sizeof(*ra), error);
    HR_TRY_ALLOC(ra);
    if (hr_open_files_create(&ra->files, OPEN_FILES, error) != HR_STATUS_OK) {
        hr_free(ra);
        return HR_STATUS_NO_MEMORY;
    }
    pthread_mutex_init(&ra->lock, NULL);
    hr_cond_init(&ra->work);
    pthread_cond_init(&ra->room, NULL);
    for (int32_t i = 0; i < READY; i++)
        pthread_cond_init(&ra->ready[i], NULL);
    pthread_cond_init(&ra->left, NULL);
    ra->cpus_known = sched_getaffinity(0, sizeof(ra->cpus), &ra->cpus) == 0;
    ra->kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    ra->spare = spare;
    ra->pool = hr_pool_ref(pool);
    ra->limit = limit;
    ra->stall_us = stall_us;
    ra->most = HR_MIN(threads, THREADS_MAX);
    *out = ra;
    return HR_STATUS_OK;
}

void hr_readahead_keys(hr_readahead *ra, const hr_hash_key *keys)
{
    ra->keys = keys;
}

void hr_readahead_cancel(hr_readahead *ra)
{
    hr_cancel_set(&ra->cancel);
    pthread_mutex_lock(&ra->lock);
    ra->stop = true;
    pthread_cond_broadcast(&ra->work);
    pthread_cond_broadcast(&ra->room);
    for (int32_t i = 0; i < READY; i++)
        pthread_cond_broadcast(&ra->ready[i]);
    pthread_mutex_unlock(&ra->lock);
}

void hr_readahead_destroy(hr_readahead *ra)
{
    if (!ra)
        return;
    hr_readahead_cancel(ra);
    pthread_mutex_lock(&ra->lock);
    while (ra->threads > 0) /* no more are started after the stop */
        pthread_cond_wait(&ra->left, &ra->lock);
    pthread_mutex_unlock(&ra->lock);
    if (ra->any_ended)
        pthread_join(ra->ended, NULL);
    pthread_cond_destroy(&ra->left);
    for (int32_t i = 0; i < READY; i++)
        pthread_cond_destroy(&ra->ready[i]);
    pthread_cond_destroy(&ra->room);
    pthread_cond_destroy(&ra->work);
    pthread_mutex_destroy(&ra->lock);
    hr_open_files_destroy(ra->files);
    hr_pool_unref(ra->pool);
    hr_free(ra);
}

hr_status hr_readahead_ask(const hr_span *spans, int32_t count, bool direct, hr_read **out,
                           hr_error *error)
{
    hr_read *r = hr_calloc(1, sizeof(*r) + (size_t)count * sizeof(r->pieces[0]), error);
    HR_TRY_ALLOC(r);
    r->count = count;
    r->direct = direct;
    for (int32_t i = 0; i < count; i++)
        r->pieces[i].span = spans[i];
    *out = r;
    return HR_STATUS_OK;
}

void hr_readahead_queue(hr_readahead *ra, hr_read *const *reads, int32_t count)
{
    pthread_mutex_lock(&ra->lock);
    for (int32_t i = 0; i < count; i++) {
        hr_read *r = reads[i];
        if (!r)
            continue;
        r->state = READ_QUEUED;
        r->prev = ra->last;
        *(ra->last ? &ra->last->next : &ra->first) = r;
        ra->last = r;
    }
    call_thread(ra);
    pthread_mutex_unlock(&ra->lock);
}

/* Takes a request that no thread has begun to read off the queue. */
static bool claim(hr_readahead *ra, hr_read *r)
{
    pthread_mutex_lock(&ra->lock);
    bool mine = r->state <= READ_QUEUED && !ra->stop;
    if (mine && r->state == READ_QUEUED)
        unlink_read(ra, r);
    if (mine)
        r->state = READ_READING;
    pthread_mutex_unlock(&ra->lock);
    return mine;
}

/* Reads a claimed request in the worker that needs it, without waiting for room. */
static void read_here(hr_readahead *ra, hr_read *r, hr_arena *arena)
{
    hr_error error;
    hr_arena_mark mark = hr_arena_save(arena);
    char *bounce = ra->keys ? hr_arena_alloc(arena, BOUNCE, NULL) : NULL;
    read_now(ra, r, open_pieces(ra, r, false, &error), bounce, &ra->by_worker, &error);
    hr_arena_restore(arena, mark);
}

/* Waits for a thread to read the request. False: the read-ahead was cancelled. */
static bool await(hr_readahead *ra, hr_read *r)
{
    pthread_mutex_lock(&ra->lock);
    if (r->state != READ_DONE) {
        r->wanted = true;
        pthread_cond_broadcast(&ra->room);
    }
    while (r->state != READ_DONE && !ra->stop)
        pthread_cond_wait(ready_of(ra, r), &ra->lock);
    bool done = r->state == READ_DONE;
    if (done && r->held > 0)
        release(ra, r->held);
    pthread_mutex_unlock(&ra->lock);
    return done;
}

hr_status hr_readahead_take(hr_readahead *ra, hr_read *read, hr_arena *arena, hr_buffer **out,
                            hr_read_piece *pieces, int64_t *waited_ns, hr_error *error)
{
    int64_t start = hr_clock_ns();
    *waited_ns = 0;
    if (claim(ra, read)) {
        read_here(ra, read, arena);
    } else if (!await(ra, read)) {
        hr_readahead_drop(ra, read);
        return hr_fail(error, HR_STATUS_STATE, "the pipeline is being destroyed");
    }
    *waited_ns = hr_clock_ns() - start;
    hr_status status = read->status;
    if (status == HR_STATUS_OK) {
        *out = read->buffer;
        read->buffer = NULL;
        for (int32_t i = 0; i < read->count; i++)
            pieces[i] = read->pieces[i].out;
    } else if (read->error) {
        hr_fail(error, status, "%s", read->error->message);
    } else {
        hr_fail(error, status, "could not be read");
    }
    free_read(read);
    return status;
}

void hr_readahead_drop(hr_readahead *ra, hr_read *read)
{
    if (!read)
        return;
    pthread_mutex_lock(&ra->lock);
    if (read->state == READ_READING) {
        read->dropped = true; /* its thread frees it */
        pthread_cond_broadcast(&ra->room);
    } else {
        if (read->state == READ_QUEUED)
            unlink_read(ra, read);
        release(ra, read->held);
        free_read(read);
    }
    pthread_mutex_unlock(&ra->lock);
}

int32_t hr_readahead_count(const hr_read *read)
{
    return read->count;
}

void hr_readahead_stats_get(hr_readahead *ra, hr_readahead_stats *out)
{
    const counters *a = &ra->by_thread, *b = &ra->by_worker;
    pthread_mutex_lock(&ra->lock);
    *out = (hr_readahead_stats){.files = a->files + b->files,
                                .bytes = a->bytes + b->bytes,
                                .read_ns = a->ns + b->ns,
                                .own_reads = b->files,
                                .cached = a->cached + b->cached,
                                .peak_bytes = (int64_t)ra->peak};
    pthread_mutex_unlock(&ra->lock);
}
