/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Items of a reader that are kept as they were read, up to a limit of bytes. What is kept stays:
 * every epoch reads all items, each in another order, so no item is more useful than another. */
#pragma once

#include "io/readahead.h"

typedef struct hr_coded_cache hr_coded_cache;

typedef struct hr_coded_item {
    hr_buffer *buffer;
    int32_t count;
    hr_read_piece pieces[]; /* where the spans of the item are in the buffer */
} hr_coded_item;

typedef struct hr_coded_stats {
    int64_t items, bytes, limit; /* bytes: about the memory that is taken */
    int64_t refused;             /* reads of items that did not fit */
} hr_coded_stats;

/* `items`: their number in the source. */
hr_status hr_coded_create(hr_coded_cache **out, int64_t items, size_t limit, hr_error *error);
/* No item may be in use any more; NULL is fine. */
void hr_coded_destroy(hr_coded_cache *coded);
/* The item, which stays as long as the cache, or NULL. Any thread, no lock. */
const hr_coded_item *hr_coded_get(const hr_coded_cache *coded, int64_t index);
/* Keeps an item and takes a reference to its buffer, which nobody may write into from now on. Does
 * nothing if the item would exceed the limit, or if memory is short. Any thread. */
void hr_coded_put(hr_coded_cache *coded, int64_t index, hr_buffer *buffer,
                  const hr_read_piece *pieces, int32_t count);
void hr_coded_stats_add(const hr_coded_cache *coded, hr_coded_stats *sum); /* NULL: adds nothing */
