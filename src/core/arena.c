/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The arena: a stack of blocks, each twice as large as the one before. Blocks above the current one
 * are always empty. */
#include "core/alloc.h"
#include "core/block.h"

#include <string.h>

#define ARENA_FIRST ((size_t)256 << 10)
#define ARENA_GROWTH_MAX ((size_t)16 << 20)
#define ARENA_KEEP ((size_t)64 << 20) /* bytes that survive a reset */

typedef struct arena_block {
    char *data;
    size_t size, used;
} arena_block;

struct hr_arena {
    arena_block *blocks;
    size_t count, capacity;
    size_t current;
    size_t bytes;            /* of all blocks */
    hr_pool *pool;           /* NULL: nothing is counted */
    size_t outside, counted; /* memory of libraries; bytes counted in the pool */
};

hr_status hr_arena_create(hr_arena **out, hr_error *error)
{
    *out = hr_calloc(1, sizeof **out, error);
    return *out ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr_arena_destroy(hr_arena *arena)
{
    if (!arena)
        return;
    for (size_t i = 0; i < arena->count; i++)
        hr_block_free(arena->blocks[i].data, arena->blocks[i].size);
    if (arena->pool)
        hr_pool_uncount(arena->pool, arena->counted);
    hr_pool_unref(arena->pool);
    hr_free(arena->blocks);
    hr_free(arena);
}

void hr_arena_limit(hr_arena *arena, hr_pool *pool)
{
    arena->pool = hr_pool_ref(pool);
}

/* Counts the bytes held beyond ARENA_KEEP in the pool, including `more` bytes about to be
 * allocated. */
static hr_status arena_settle(hr_arena *arena, size_t more, hr_error *error)
{
    size_t total;
    if (!arena->pool)
        return HR_STATUS_OK;
    if (!hr_size_add(arena->bytes + arena->outside, more, &total))
        return hr_fail_memory(error, more);
    size_t wanted = total > ARENA_KEEP ? total - ARENA_KEEP : 0, limit = hr_pool_limit(arena->pool);
    if (limit && wanted > limit) /* it will never fit */
        return hr_fail(error, HR_STATUS_LIMIT,
                       "needs %zu bytes of scratch, more than host_memory_limit, %zu bytes", wanted,
                       limit);
    if (wanted > arena->counted)
        HR_TRY(hr_pool_count(arena->pool, wanted - arena->counted, error));
    else if (wanted < arena->counted)
        hr_pool_uncount(arena->pool, arena->counted - wanted);
    arena->counted = wanted;
    return HR_STATUS_OK;
}

hr_status hr_arena_count(hr_arena *arena, size_t bytes, hr_error *error)
{
    HR_TRY(arena_settle(arena, bytes, error));
    arena->outside += bytes;
    return HR_STATUS_OK;
}

void hr_arena_uncount(hr_arena *arena, size_t bytes)
{
    arena->outside -= bytes;
    arena_settle(arena, 0, NULL); /* the count only falls, which cannot fail */
}

size_t hr_arena_size(const hr_arena *arena)
{
    return arena->bytes;
}

/* Inserts a new block of at least `need` bytes after the current one. */
static bool arena_grow(hr_arena *arena, size_t need, hr_error *error)
{
    if (arena->count == arena->capacity) {
        size_t capacity = arena->capacity ? arena->capacity * 2 : 8;
        arena_block *blocks = hr_realloc(arena->blocks, capacity, sizeof *blocks, error);
        if (!blocks)
            return false;
        arena->blocks = blocks;
        arena->capacity = capacity;
    }
    size_t size = arena->count ? arena->blocks[arena->current].size * 2 : ARENA_FIRST;
    size = hr_block_round(HR_MAX(HR_MIN(size, ARENA_GROWTH_MAX), need));
    if (arena_settle(arena, size, NULL) != HR_STATUS_OK) {
        size = hr_block_round(need);
        if (arena_settle(arena, size, error) != HR_STATUS_OK)
            return false;
    }
    void *data = hr_block_alloc(size, error);
    if (!data) {
        arena_settle(arena, 0, NULL);
        return false;
    }
    arena->bytes += size;
    HR_POISON(data, size);
    size_t at = arena->count ? arena->current + 1 : 0;
    memmove(arena->blocks + at + 1, arena->blocks + at,
            (arena->count - at) * sizeof *arena->blocks);
    arena->blocks[at] = (arena_block){data, size, 0};
    arena->count++;
    return true;
}

/* Moves an empty block of at least `need` bytes after the current one; false if there is no such
 * block. */
static bool arena_find(hr_arena *arena, size_t need)
{
    size_t next = arena->current + 1;
    for (size_t i = next; i < arena->count; i++) {
        if (arena->blocks[i].size >= need) {
            arena_block found = arena->blocks[i];
            arena->blocks[i] = arena->blocks[next];
            arena->blocks[next] = found;
            return true;
        }
    }
    return false;
}

void *hr_arena_alloc(hr_arena *arena, size_t size, hr_error *error)
{
    size_t need;
    if (!hr_size_add(size, HR_PAD + HR_REDZONE + HR_ALIGN - 1, &need)) {
        hr_fail_memory(error, size);
        return NULL;
    }
    need = need / HR_ALIGN * HR_ALIGN;
    arena_block *block = arena->count ? &arena->blocks[arena->current] : NULL;
    if (!block || block->size - block->used < need) {
        bool first = !block;
        if ((first || !arena_find(arena, need)) && !arena_grow(arena, need, error))
            return NULL;
        arena->current += !first;
        block = &arena->blocks[arena->current];
    }
    char *memory = block->data + block->used;
    block->used += need;
    HR_UNPOISON(memory, size + HR_PAD);
    return memory;
}

hr_arena_mark hr_arena_save(const hr_arena *arena)
{
    size_t used = arena->count ? arena->blocks[arena->current].used : 0;
    return (hr_arena_mark){arena->current, used};
}

void hr_arena_restore(hr_arena *arena, hr_arena_mark mark)
{
    for (size_t i = mark.block; i < arena->count && i <= arena->current; i++) {
        arena_block *block = &arena->blocks[i];
        block->used = i == mark.block ? mark.used : 0;
        HR_POISON(block->data + block->used, block->size - block->used);
    }
    arena->current = mark.block;
}

/* Frees empty blocks from `first` on until at most ARENA_KEEP bytes are held. */
static void free_blocks(hr_arena *arena, size_t first)
{
    size_t kept = first, bytes = 0;
    for (size_t i = 0; i < arena->count; i++) {
        arena_block block = arena->blocks[i];
        if (i < first || bytes + block.size <= ARENA_KEEP) {
            bytes += block.size;
            if (i >= first)
                arena->blocks[kept++] = block;
        } else {
            hr_block_free(block.data, block.size);
            arena->bytes -= block.size;
        }
    }
    arena->count = kept;
    arena_settle(arena, 0, NULL);
}

void hr_arena_trim(hr_arena *arena)
{
    if (arena->bytes > ARENA_KEEP)
        free_blocks(arena, arena->current + 1);
}

void hr_arena_reset(hr_arena *arena)
{
    hr_arena_restore(arena, (hr_arena_mark){0, 0});
    if (arena->bytes > ARENA_KEEP)
        free_blocks(arena, 0);
}
