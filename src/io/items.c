/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A pointer per item, which is set once. */
#include "io/items.h"

#include <stdatomic.h>
#include <string.h>

struct hr_coded_cache {
    int64_t count;
    size_t limit;
    atomic_size_t bytes;
    atomic_int_fast64_t items, refused;
    _Atomic(hr_coded_item *) slots[];
};

hr_status hr_coded_create(hr_coded_cache **out, int64_t items, size_t limit, hr_error *error)
{
    size_t size;
    *out = NULL;
    if (!hr_size_mul((size_t)items, sizeof((*out)->slots[0]), &size) ||
        !hr_size_add(size, sizeof(**out), &size))
        return hr_fail_memory(error, SIZE_MAX);
    hr_coded_cache *coded = hr_calloc(1, size, error);
    HR_TRY_ALLOC(coded);
    coded->count = items;
    coded->limit = limit;
    *out = coded;
    return HR_STATUS_OK;
}

static void item_free(hr_coded_item *item)
{
    if (item)
        hr_buffer_unref(item->buffer);
    hr_free(item);
}

void hr_coded_destroy(hr_coded_cache *coded)
{
    for (int64_t i = 0; coded && i < coded->count; i++)
        item_free(atomic_load_explicit(&coded->slots[i], memory_order_relaxed));
    hr_free(coded);
}

const hr_coded_item *hr_coded_get(const hr_coded_cache *coded, int64_t index)
{
    return atomic_load_explicit(&coded->slots[index], memory_order_acquire);
}

/* The memory of a buffer: blocks of the pool are up to an eighth larger, and have a head and
 * padding. */
static size_t block_size(size_t size)
{
    return size + size / 8 + 256;
}

/* Takes `size` bytes of the room that is left. */
static bool reserve(hr_coded_cache *coded, size_t size)
{
    size_t used = atomic_load_explicit(&coded->bytes, memory_order_relaxed);
    do {
        if (size > coded->limit || used > coded->limit - size)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&coded->bytes, &used, used + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void hr_coded_put(hr_coded_cache *coded, int64_t index, hr_buffer *buffer,
                  const hr_read_piece *pieces, int32_t count)
{
    size_t own = sizeof(hr_coded_item) + (size_t)count * sizeof(*pieces);
    size_t size = block_size(hr_buffer_size(buffer)) + own;
    if (hr_coded_get(coded, index)) /* it occurs several times in an epoch */
        return;
    if (!reserve(coded, size)) {
        atomic_fetch_add_explicit(&coded->refused, 1, memory_order_relaxed);
        return;
    }
    hr_coded_item *item = hr_calloc(1, own, NULL), *none = NULL;
    if (item) {
        item->buffer = hr_buffer_ref(buffer);
        item->count = count;
        memcpy(item->pieces, pieces, (size_t)count * sizeof(*pieces));
        if (atomic_compare_exchange_strong_explicit(&coded->slots[index], &none, item,
                                                    memory_order_release, memory_order_relaxed)) {
            atomic_fetch_add_explicit(&coded->items, 1, memory_order_relaxed);
            return;
        }
    }
    item_free(item);
    atomic_fetch_sub_explicit(&coded->bytes, size, memory_order_relaxed);
}

void hr_coded_stats_add(const hr_coded_cache *coded, hr_coded_stats *sum)
{
    if (!coded)
        return;
    sum->items += (int64_t)atomic_load_explicit(&coded->items, memory_order_relaxed);
    sum->bytes += (int64_t)atomic_load_explicit(&coded->bytes, memory_order_relaxed);
    sum->limit += (int64_t)coded->limit;
    sum->refused += (int64_t)atomic_load_explicit(&coded->refused, memory_order_relaxed);
}
