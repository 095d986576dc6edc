/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Small values kept under the hash of the bytes that they were made from: in memory up to a limit,
 * or in a folder that processes share. A longer value replaces a shorter one; nothing else ever
 * goes. */
#ifndef HR_IO_CACHE_H
#define HR_IO_CACHE_H

#include "core/core.h"
#include "kernels/hash.h"

typedef struct hr_cache hr_cache;

typedef struct hr_cache_stats {
    int64_t values, bytes; /* there are; memory that they take */
    int64_t hits, misses;
    int64_t made;      /* put, where there was none */
    int64_t refused;   /* not kept: memory is full */
    int64_t unwritten; /* kept in memory alone: the folder could not take them */
    int64_t ignored;   /* files in the folder that are not used (cache_folder.h) */
} hr_cache_stats;

/* `limit`: bytes of memory; `folder`: made if it is not there; or NULL. */
hr_status hr_cache_create(hr_cache **out, size_t limit, const char *folder, hr_error *error);
void hr_cache_destroy(hr_cache *cache);

/* ---- any thread ---- */
hr_hash hr_cache_key(const hr_cache *cache, const void *data, size_t size);
/* A copy of the value in the arena; false when there is none. */
bool hr_cache_get(hr_cache *cache, const hr_hash *key, hr_arena *arena, const uint8_t **value,
                  size_t *size);
/* What cannot be kept is left out: a cache never fails. */
void hr_cache_put(hr_cache *cache, const hr_hash *key, const void *value, size_t size);
void hr_cache_stats_get(hr_cache *cache, hr_cache_stats *out);

/* What decoding a sample may use; NULL: nothing (tasks: exec/). */
hr_cache *hr_task_cache(const hr_task *task);

#endif
