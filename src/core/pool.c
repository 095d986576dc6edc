/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reference-counted buffers and the pool that recycles them. A buffer's header precedes its bytes
 * in the same block. Blocks come in size classes, eight per power of two, and wait in one list per
 * class until they are lent again. */
#include "core/alloc.h"
#include "core/block.h"
#include "core/note.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define POOL_CLASSES 512
#define POOL_KEEP ((size_t)256 << 20) /* blocks are kept up to this, or a multiple of the peak */
#define SLAB ((size_t)8 << 20)        /* size of the pinned pieces that small blocks are cut from */
#define HEAD ((sizeof(hr_buffer) + HR_ALIGN - 1) / HR_ALIGN * HR_ALIGN)

typedef enum note_state { NOTE_REFUSED, NOTE_NONE, NOTE_BEING_SET, NOTE_SET } note_state;

struct hr_buffer {
    atomic_size_t refs;
    void *data;
    size_t size;
    size_t block;    /* bytes of this block, header included; 0 for adopted memory */
    hr_pool *pool;   /* a reference while lent; NULL without a pool */
    hr_buffer *next; /* in the pool's list */
    hr_release_fn release;
    void *context;
    void (*unpin)(void *memory); /* frees a pinned block */
    struct slab *slab;           /* ... or the slab that it was cut from */
    int32_t device;              /* HR_DEVICE_HOST, or the device of the memory */
    _Atomic(note_state) noted;
    hr_note note; /* this and the next two: once NOTE_SET */
    const void *note_data;
    size_t note_size;
};

struct hr_pool {
    atomic_size_t refs; /* owners and lent buffers */
    atomic_size_t lent, peak;
    size_t counted; /* bytes from elsewhere that count against the limit; guarded by `lock` */
    size_t limit;
    hr_pin_fn pin; /* or NULL */
    void (*unpin)(void *memory);
    int32_t device;            /* for `pin` */
    size_t pin_least;          /* smaller blocks are not pinned */
    pthread_mutex_t slab_lock; /* guards the slab that blocks are cut from */
    struct slab *slab;
    size_t slab_used;
    pid_t pid;            /* in a forked child, `lock` may be held by a thread that does not exist
                             there */
    pthread_mutex_t lock; /* guards the fields below, and writes of lent and peak */
    size_t held;          /* bytes of all blocks, lent and waiting */
    size_t waiting;       /* blocks in the lists */
    size_t hand;          /* the next class to free a block from */
    hr_buffer *lists[POOL_CLASSES];
};

/* ---- classes ---- */

/* The smallest class whose blocks have at least `size` bytes; `*block` is their size, 0 on
 * overflow. Classes are 64 bytes apart up to 512 bytes; above, there are eight per power of two. */
static size_t class_of(size_t size, size_t *block)
{
    if (size <= 512) {
        size_t i = size ? (size - 1) / 64 : 0;
        *block = (i + 1) * 64;
        return i;
    }
    unsigned octave =
        63u - (unsigned)__builtin_clzll(size - 1); /* 2^octave < size <= 2^(octave + 1) */
    size_t base = (size_t)1 << octave, step = base / 8;
    size_t i = (size - base + step - 1) / step; /* 1 .. 8 */
    *block = octave >= 62 ? 0 : hr_block_round(base + i * step);
    return 8 + (size_t)(octave - 9) * 8 + i - 1;
}

/* ---- slabs ---- */

/* At the start of its memory. It is freed with the last of its blocks. */
typedef struct slab {
    atomic_size_t blocks; /* blocks in use, plus one while the pool cuts from it */
    void (*unpin)(void *memory);
} slab;

static void slab_unref(slab *s)
{
    if (s && atomic_fetch_sub_explicit(&s->blocks, 1, memory_order_acq_rel) == 1)
        s->unpin(s);
}

static slab *slab_new(const hr_pool *pool)
{
    void *memory;
    if (pool->pin(pool->device, SLAB, &memory, NULL) != HR_STATUS_OK)
        return NULL;
    slab *s = memory;
    atomic_init(&s->blocks, 1);
    s->unpin = pool->unpin;
    return s;
}

/* A pinned block; NULL if there is no pinned memory. */
static void *slab_cut(hr_pool *pool, size_t block, slab **out)
{
    char *cut = NULL;
    pthread_mutex_lock(&pool->slab_lock);
    if (!pool->slab || block > SLAB - pool->slab_used) {
        slab_unref(pool->slab);
        pool->slab = slab_new(pool);
        pool->slab_used = HR_ALIGN;
    }
    if (pool->slab) {
        cut = (char *)pool->slab + pool->slab_used;
        pool->slab_used += block;
        atomic_fetch_add_explicit(&pool->slab->blocks, 1, memory_order_relaxed);
    }
    *out = pool->slab;
    pthread_mutex_unlock(&pool->slab_lock);
    return cut;
}

/* ---- buffers ---- */

/* `pool`: may have pinned memory, or NULL. */
static hr_buffer *buffer_new(hr_pool *pool, size_t block, hr_error *error)
{
    void *memory = NULL;
    slab *from = NULL;
    bool pins = pool && pool->pin && block >= pool->pin_least;
    if (pins && block < HR_BLOCK_HUGE)
        memory = slab_cut(pool, block, &from);
    else if (pins && pool->pin(pool->device, block, &memory, NULL) != HR_STATUS_OK)
        memory = NULL;
    pins = memory && !from;
    hr_buffer *buffer = memory ? memory : hr_block_alloc(block, error);
    if (!buffer)
        return NULL;
    *buffer = (hr_buffer){.data = (char *)buffer + HEAD,
                          .block = block,
                          .unpin = pins ? pool->unpin : NULL,
                          .slab = from,
                          .device = HR_DEVICE_HOST};
    return buffer;
}

static void block_free(hr_buffer *buffer)
{
    HR_UNPOISON(buffer, buffer->block);
    if (buffer->slab)
        slab_unref(buffer->slab);
    else if (buffer->unpin)
        buffer->unpin(buffer);
    else
        hr_block_free(buffer, buffer->block);
}

/* Gives the buffer to a caller: its bytes and padding are usable, the rest of the block is not. */
static void buffer_lend(hr_buffer *buffer, size_t size)
{
    buffer->size = size;
    buffer->next = NULL;
    atomic_init(&buffer->refs, 1);
    atomic_init(&buffer->noted, NOTE_REFUSED);
    HR_POISON(buffer->data, buffer->block - HEAD);
    HR_UNPOISON(buffer->data, size + HR_PAD);
}

hr_status hr_buffer_create(hr_buffer **out, size_t size, hr_error *error)
{
    *out = NULL;
    size_t block;
    if (!hr_size_add(size, HEAD + HR_PAD + HR_REDZONE, &block) || !(block = hr_block_round(block)))
        return hr_fail_memory(error, size);
    hr_buffer *buffer = buffer_new(NULL, block, error);
    HR_TRY_ALLOC(buffer);
    buffer_lend(buffer, size);
    *out = buffer;
    return HR_STATUS_OK;
}

hr_status hr_buffer_adopt_device(hr_buffer **out, void *data, size_t size, int32_t device,
                                 hr_release_fn release, void *context, hr_error *error)
{
    *out = NULL;
    hr_buffer *buffer = hr_calloc(1, sizeof *buffer, error);
    HR_TRY_ALLOC(buffer);
    *buffer = (hr_buffer){
        .data = data, .size = size, .release = release, .context = context, .device = device};
    atomic_init(&buffer->refs, 1);
    *out = buffer;
    return HR_STATUS_OK;
}

hr_status hr_buffer_adopt(hr_buffer **out, void *data, size_t size, hr_release_fn release,
                          void *context, hr_error *error)
{
    return hr_buffer_adopt_device(out, data, size, HR_DEVICE_HOST, release, context, error);
}

void *hr_buffer_context(const hr_buffer *buffer, hr_release_fn release)
{
    return buffer->release == release ? buffer->context : NULL;
}

int32_t hr_buffer_device(const hr_buffer *buffer)
{
    return buffer->device;
}

bool hr_buffer_pinned(const hr_buffer *buffer)
{
    return buffer->unpin || buffer->slab;
}

hr_buffer *hr_buffer_ref(hr_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

static void pool_take_back(hr_pool *pool, hr_buffer *buffer);

void hr_buffer_unref(hr_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->pool) {
        pool_take_back(buffer->pool, buffer);
        return;
    }
    if (buffer->release)
        buffer->release(buffer->context);
    if (buffer->block)
        block_free(buffer);
    else
        hr_free(buffer);
}

size_t hr_buffer_refs(const hr_buffer *buffer)
{
    return atomic_load_explicit(&buffer->refs, memory_order_acquire);
}

void *hr_buffer_data(const hr_buffer *buffer)
{
    return buffer->data;
}

size_t hr_buffer_size(const hr_buffer *buffer)
{
    return buffer->size;
}

/* ---- notes ---- */

static bool note_advance(hr_buffer *buffer, note_state from, note_state to)
{
    return atomic_compare_exchange_strong_explicit(&buffer->noted, &from, to, memory_order_release,
                                                   memory_order_relaxed);
}

void hr_buffer_settle(hr_buffer *buffer)
{
    note_advance(buffer, NOTE_REFUSED, NOTE_NONE);
}

void hr_buffer_put_note(hr_buffer *buffer, const void *data, size_t size, hr_note note)
{
    if (!note_advance(buffer, NOTE_NONE, NOTE_BEING_SET))
        return;
    buffer->note = note;
    buffer->note_data = data;
    buffer->note_size = size;
    note_advance(buffer, NOTE_BEING_SET, NOTE_SET);
}

bool hr_buffer_get_note(const hr_buffer *buffer, const void *data, size_t size, hr_note *out)
{
    if (atomic_load_explicit(&buffer->noted, memory_order_acquire) != NOTE_SET ||
        buffer->note_data != data || buffer->note_size != size)
        return false;
    *out = buffer->note;
    return true;
}

static void free_list(hr_buffer *list)
{
    while (list) {
        hr_buffer *next = list->next;
        block_free(list);
        list = next;
    }
}

/* ---- the pool ---- */

hr_status hr_pool_create(hr_pool **out, size_t limit, hr_error *error)
{
    *out = NULL;
    hr_pool *pool = hr_calloc(1, sizeof *pool, error);
    HR_TRY_ALLOC(pool);
    int code = pthread_mutex_init(&pool->lock, NULL);
    if (code) {
        hr_free(pool);
        return hr_fail_errno(error, code, "cannot create a lock");
    }
    pthread_mutex_init(&pool->slab_lock, NULL);
    pool->limit = limit;
    pool->pid = getpid();
    atomic_init(&pool->refs, 1);
    atomic_init(&pool->lent, 0);
    atomic_init(&pool->peak, 0);
    *out = pool;
    return HR_STATUS_OK;
}

void hr_pool_pin(hr_pool *pool, int32_t device, size_t least, hr_pin_fn alloc,
                 void (*release)(void *memory))
{
    pool->pin_least = least;
    pool->pin = alloc;
    pool->unpin = release;
    pool->device = device;
}

hr_pool *hr_pool_ref(hr_pool *pool)
{
    atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
    return pool;
}

void hr_pool_unref(hr_pool *pool)
{
    if (!pool || atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < POOL_CLASSES; i++)
        free_list(pool->lists[i]);
    slab_unref(pool->slab);
    pthread_mutex_destroy(&pool->slab_lock);
    pthread_mutex_destroy(&pool->lock);
    hr_free(pool);
}

/* How many bytes of blocks are kept. What is pinned is kept up to twice the peak: files of mixed
 * sizes need up to 1.5 times the peak until each class has enough blocks, pinning a slab takes
 * milliseconds, and a slab that is freed stops the device. */
static size_t pool_bound(const hr_pool *pool)
{
    size_t peak = atomic_load_explicit(&pool->peak, memory_order_relaxed);
    size_t bound = HR_MAX(POOL_KEEP, peak + (pool->pin ? peak : peak / 4));
    return pool->limit ? HR_MIN(bound, pool->limit) : bound;
}

/* Removes waiting blocks until `incoming` more bytes may be held; the caller frees them after
 * releasing the lock. */
static hr_buffer *pool_trim(hr_pool *pool, size_t incoming)
{
    size_t bound = pool_bound(pool);
    hr_buffer *out = NULL;
    while (pool->waiting && (incoming > bound || pool->held > bound - incoming)) {
        hr_buffer **list = &pool->lists[pool->hand];
        hr_buffer *buffer = *list;
        if (!buffer) {
            pool->hand = (pool->hand + 1) % POOL_CLASSES;
            continue;
        }
        *list = buffer->next;
        buffer->next = out;
        out = buffer;
        pool->held -= buffer->block;
        pool->waiting--;
    }
    return out;
}

/* A waiting block of the class, or of one at most 1.5 times as large. */
static hr_buffer *pool_pop(hr_pool *pool, size_t class_index)
{
    for (size_t i = class_index; i < HR_MIN(class_index + 5, (size_t)POOL_CLASSES); i++) {
        hr_buffer *buffer = pool->lists[i];
        if (buffer) {
            pool->lists[i] = buffer->next;
            pool->waiting--;
            return buffer;
        }
    }
    return NULL;
}

/* Whether the limit allows `size` more bytes. Needs the lock. */
static bool pool_allows(const hr_pool *pool, size_t size)
{
    size_t used = hr_pool_lent(pool) + pool->counted;
    return !pool->limit || (size <= pool->limit && used <= pool->limit - size);
}

static hr_status fail_limit(const hr_pool *pool, size_t size, hr_error *error)
{
    return hr_fail(error, HR_STATUS_NO_MEMORY,
                   "%zu bytes more would exceed host_memory_limit, %zu bytes (%zu are held by "
                   "outputs and files read ahead; release outputs, or raise it)",
                   size, pool->limit, hr_pool_lent(pool));
}

/* Counts `size` bytes as lent; false when the limit forbids it. Needs the lock. */
static bool pool_charge(hr_pool *pool, size_t size)
{
    size_t lent = hr_pool_lent(pool);
    if (!pool_allows(pool, size))
        return false;
    lent += size;
    atomic_store_explicit(&pool->lent, lent, memory_order_relaxed);
    if (lent > atomic_load_explicit(&pool->peak, memory_order_relaxed))
        atomic_store_explicit(&pool->peak, lent, memory_order_relaxed);
    return true;
}

static void pool_discharge(hr_pool *pool, size_t size)
{
    size_t lent = atomic_load_explicit(&pool->lent, memory_order_relaxed);
    atomic_store_explicit(&pool->lent, lent - size, memory_order_relaxed);
}

hr_status hr_pool_alloc(hr_pool *pool, size_t size, hr_buffer **out, hr_error *error)
{
    *out = NULL;
    size_t need, block;
    if (!hr_size_add(size, HEAD + HR_PAD + HR_REDZONE, &need))
        return hr_fail_memory(error, size);
    size_t class_index = class_of(need, &block);
    if (!block)
        return hr_fail_memory(error, size);
    if (pool->pid != getpid())
        return hr_fail(error, HR_STATUS_STATE, "this pipeline belongs to the parent process");
    pthread_mutex_lock(&pool->lock);
    hr_buffer *buffer = NULL, *freed = NULL;
    bool allowed = pool_charge(pool, size);
    if (allowed && !(buffer = pool_pop(pool, class_index))) {
        freed = pool_trim(pool, block);
        pool->held += block;
    }
    pthread_mutex_unlock(&pool->lock);
    free_list(freed);
    if (!allowed)
        return fail_limit(pool, size, error);
    if (!buffer && !(buffer = buffer_new(pool, block, error))) {
        pthread_mutex_lock(&pool->lock);
        pool_discharge(pool, size);
        pool->held -= block;
        pthread_mutex_unlock(&pool->lock);
        return HR_STATUS_NO_MEMORY;
    }
    buffer_lend(buffer, size);
    buffer->pool = hr_pool_ref(pool);
    *out = buffer;
    return HR_STATUS_OK;
}

static void pool_take_back(hr_pool *pool, hr_buffer *buffer)
{
    if (pool->pid != getpid())
        return; /* a forked child's copy: freed when the child exits */
    size_t block, class_index = class_of(buffer->block, &block);
    HR_POISON(buffer->data, buffer->block - HEAD);
    buffer->pool = NULL;
    pthread_mutex_lock(&pool->lock);
    pool_discharge(pool, buffer->size);
    buffer->next = pool->lists[class_index];
    pool->lists[class_index] = buffer;
    pool->waiting++;
    hr_buffer *freed = pool_trim(pool, 0);
    pthread_mutex_unlock(&pool->lock);
    free_list(freed);
    hr_pool_unref(pool);
}

hr_status hr_pool_count(hr_pool *pool, size_t size, hr_error *error)
{
    pthread_mutex_lock(&pool->lock);
    bool allowed = pool_allows(pool, size);
    pool->counted += allowed ? size : 0;
    pthread_mutex_unlock(&pool->lock);
    return allowed ? HR_STATUS_OK : fail_limit(pool, size, error);
}

void hr_pool_uncount(hr_pool *pool, size_t size)
{
    if (pool->pid != getpid())
        return; /* a forked child's copy: its lock may be held by a thread that does not exist here
                 */
    pthread_mutex_lock(&pool->lock);
    pool->counted -= size;
    pthread_mutex_unlock(&pool->lock);
}

size_t hr_pool_lent(const hr_pool *pool)
{
    return atomic_load_explicit(&pool->lent, memory_order_relaxed);
}

size_t hr_pool_peak(const hr_pool *pool)
{
    return atomic_load_explicit(&pool->peak, memory_order_relaxed);
}

size_t hr_pool_limit(const hr_pool *pool)
{
    return pool->limit;
}
