/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Three kinds of memory. `hr_alloc`: plain, for long-lived objects. `hr_arena`: a worker's scratch
 * memory, freed as a whole at the end of a task. `hr_pool`: recycled, reference-counted buffers,
 * 64-byte aligned and padded by 64 bytes, with a limit. A buffer keeps its pool alive and may
 * outlive the pipeline. */
#pragma once

#include "core/error.h"
#include "headrace/operator.h"

#define HR_ALIGN 64
#define HR_PAD 64

/* Every allocation of the library goes through hr_calloc, hr_realloc, hr_strdup or mmap, so that a
 * test can make one fail: the n-th allocation from now, once (0: the next; < 0: never). Counts
 * allocations of the calling thread and of the library's threads that it has started since its
 * first call (hr_thread_create); other threads neither count nor fail. The calling thread must
 * outlive the threads that it starts. */
void hr_alloc_fail_after(int64_t n);
/* The count of this thread, or NULL; and makes this thread use the count of another one. */
typedef struct hr_alloc_count hr_alloc_count;
hr_alloc_count *hr_alloc_shared(void);
void hr_alloc_share(hr_alloc_count *of);

/* ---- arena: one thread ---- */
hr_status hr_arena_create(hr_arena **out, hr_error *error);
/* From now on, memory beyond what the arena keeps between tasks counts against the pool's limit.
 * Fails with HR_STATUS_LIMIT if the arena alone would exceed the limit. */
void hr_arena_limit(hr_arena *arena, hr_pool *pool);
/* Counts memory that a library allocates for itself in the same way, until hr_arena_uncount. */
hr_status hr_arena_count(hr_arena *arena, size_t bytes, hr_error *error);
void hr_arena_uncount(hr_arena *arena, size_t bytes);
void hr_arena_destroy(hr_arena *arena);
void hr_arena_reset(hr_arena *arena);        /* keeps blocks for the next task, up to a bound */
size_t hr_arena_size(const hr_arena *arena); /* bytes of all its blocks */
typedef struct hr_arena_mark {
    size_t block, used;
} hr_arena_mark;
hr_arena_mark hr_arena_save(const hr_arena *arena);
void hr_arena_restore(hr_arena *arena, hr_arena_mark mark);
/* Frees memory above the current mark that hr_arena_reset would not keep. */
void hr_arena_trim(hr_arena *arena);

/* ---- pool and buffers: any thread ---- */
/* At most `limit` bytes may be lent at a time; 0: no limit. */
hr_status hr_pool_create(hr_pool **out, size_t limit, hr_error *error);
/* From now on, blocks of at least `least` bytes come from `alloc` (pinned memory of `device`) while
 * it has some; small blocks are cut from larger pieces. Each piece is freed with `release`, at any
 * time and on any thread. Call this before the pool is used. */
typedef hr_status (*hr_pin_fn)(int32_t device, size_t size, void **out, hr_error *error);
void hr_pool_pin(hr_pool *pool, int32_t device, size_t least, hr_pin_fn alloc,
                 void (*release)(void *memory));
/* Whether a device can read the buffer, HR_PAD included, without a copy. */
bool hr_buffer_pinned(const hr_buffer *buffer);
hr_pool *hr_pool_ref(hr_pool *pool);
/* `size` bytes, not zeroed; they count as lent. Fails with HR_STATUS_NO_MEMORY when the limit is
 * reached or the system is out of memory. */
hr_status hr_pool_alloc(hr_pool *pool, size_t size, hr_buffer **out, hr_error *error);
/* Counts memory from elsewhere against the pool's limit; HR_STATUS_NO_MEMORY when it is reached. */
hr_status hr_pool_count(hr_pool *pool, size_t size, hr_error *error);
void hr_pool_uncount(hr_pool *pool, size_t size);
/* A buffer that belongs to no pool. */
hr_status hr_buffer_create(hr_buffer **out, size_t size, hr_error *error);
/* As hr_buffer_adopt, for memory of a device. */
hr_status hr_buffer_adopt_device(hr_buffer **out, void *data, size_t size, int32_t device,
                                 hr_release_fn release, void *context, hr_error *error);
/* The `context` given to hr_buffer_adopt together with this `release`; NULL if `release` differs.
 */
void *hr_buffer_context(const hr_buffer *buffer, hr_release_fn release);
/* The number of references now; reliable only if no other thread adds or drops any. */
size_t hr_buffer_refs(const hr_buffer *buffer);
size_t hr_pool_lent(const hr_pool *pool); /* bytes in buffers now */
size_t hr_pool_peak(const hr_pool *pool); /* the most ever lent */
size_t hr_pool_limit(const hr_pool *pool);
