/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Plain memory, blocks for arenas and buffers, and the hook that makes an allocation fail for
 * tests. */
#include "core/alloc.h"
#include "core/block.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct hr_alloc_count {
    atomic_int_least64_t left; /* allocations before the one that fails; negative: none fails */
};

static _Thread_local hr_alloc_count own_count;
static _Thread_local hr_alloc_count *used; /* NULL: no test has asked for failures */

void hr_alloc_fail_after(int64_t n)
{
    used = &own_count;
    atomic_store(&own_count.left, n < 0 ? -1 : n);
}

hr_alloc_count *hr_alloc_shared(void)
{
    return used;
}

void hr_alloc_share(hr_alloc_count *of)
{
    used = of;
}

static bool injected_failure(void)
{
    if (!used || atomic_load_explicit(&used->left, memory_order_relaxed) < 0)
        return false;
    return atomic_fetch_sub(&used->left, 1) == 0;
}

bool hr_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool hr_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

void *hr_calloc(size_t count, size_t size, hr_error *error)
{
    size_t bytes;
    if (!hr_size_mul(count, size, &bytes))
        bytes = SIZE_MAX;
    void *memory = NULL;
    if (bytes <= PTRDIFF_MAX && !injected_failure())
        memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        hr_fail_memory(error, bytes);
    return memory;
}

void *hr_realloc(void *memory, size_t count, size_t size, hr_error *error)
{
    size_t bytes;
    if (!hr_size_mul(count, size, &bytes))
        bytes = SIZE_MAX;
    void *moved = NULL;
    if (bytes <= PTRDIFF_MAX && !injected_failure())
        moved = realloc(memory, bytes ? bytes : 1);
    if (!moved)
        hr_fail_memory(error, bytes);
    return moved;
}

void hr_free(void *memory)
{
    free(memory);
}

void hr_string_free(char *text)
{
    hr_free(text);
}

char *hr_strdup(const char *text, hr_error *error)
{
    size_t size = strlen(text) + 1;
    char *copy = hr_calloc(1, size, error);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

/* Maps `size` bytes at a multiple of HR_BLOCK_HUGE, so that huge pages fit from the start. */
static void *map_huge(size_t size)
{
    size_t span;
    if (!hr_size_add(size, HR_BLOCK_HUGE, &span))
        return NULL;
    char *base = mmap(NULL, span, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    size_t head = (HR_BLOCK_HUGE - (uintptr_t)base % HR_BLOCK_HUGE) % HR_BLOCK_HUGE;
    if (head)
        munmap(base, head);
    if (HR_BLOCK_HUGE - head)
        munmap(base + head + size, HR_BLOCK_HUGE - head);
    madvise(base + head, size, MADV_HUGEPAGE); /* advice only: failure does not matter */
    return base + head;
}

static bool block_is_mapped(size_t size)
{
    return size >= HR_BLOCK_HUGE;
}

size_t hr_block_round(size_t size)
{
    size_t unit = block_is_mapped(size) ? HR_BLOCK_PAGE : HR_ALIGN;
    size_t more;
    return hr_size_add(size, unit - 1, &more) ? more / unit * unit : 0;
}

void *hr_block_alloc(size_t size, hr_error *error)
{
    void *memory = NULL;
    if (size > 0 && size <= PTRDIFF_MAX && !injected_failure())
        memory = block_is_mapped(size) ? map_huge(size) : aligned_alloc(HR_ALIGN, size);
    if (!memory)
        hr_fail_memory(error, size);
    return memory;
}

void hr_block_free(void *memory, size_t size)
{
    if (!memory)
        return;
    HR_UNPOISON(memory, size);
    if (block_is_mapped(size))
        munmap(memory, size);
    else
        free(memory);
}
