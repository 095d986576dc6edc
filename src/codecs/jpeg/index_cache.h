/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A cache of small values. The key is the hash of the bytes that a value was made from. Values are
 * in memory, up to a limit, or in a folder that processes share. A longer value replaces a shorter
 * one; nothing is evicted. Values that are whole files are kept in a folder only, and counted
 * separately. */
#pragma once

#include "core/core.h"
#include "kernels/hash.h"

typedef struct hr_cache hr_cache;

typedef struct hr_cache_stats {
    int64_t values, bytes; /* number of values; memory in use */
    int64_t hits, misses;
    int64_t made;      /* values put under a new key */
    int64_t refused;   /* values not kept because memory was full */
    int64_t unwritten; /* values that could not be written to the folder: memory only */
    int64_t ignored;   /* files in the folder that are not used (cache_folder.h) */
    int64_t file_hits, file_misses, files_made, files_unwritten;
} hr_cache_stats;

/* `limit`: bytes of memory. `folder`: created if it does not exist; NULL: memory only. */
hr_status hr_cache_create(hr_cache **out, size_t limit, const char *folder, hr_error *error);
void hr_cache_destroy(hr_cache *cache);

/* ---- any thread ---- */
hr_hash hr_cache_key(const hr_cache *cache, const void *data, size_t size);
/* What makes keys, for those who hash by themselves (hr_readahead_keys). NULL for NULL. */
const hr_hash_key *hr_cache_keys(const hr_cache *cache);
/* Copies the value to the arena; false if there is none. */
bool hr_cache_get(hr_cache *cache, const hr_hash *key, hr_arena *arena, const uint8_t **value,
                  size_t *size);
/* Never fails: a value that cannot be kept is dropped. */
void hr_cache_put(hr_cache *cache, const hr_hash *key, const void *value, size_t size);
/* Whether it has a folder. Without one it has no files, either. */
bool hr_cache_has_folder(const hr_cache *cache);
/* The same for a value that is a whole file; one that cannot be written is dropped. */
bool hr_cache_get_file(hr_cache *cache, const hr_hash *key, hr_arena *arena, const uint8_t **value,
                       size_t *size);
void hr_cache_put_file(hr_cache *cache, const hr_hash *key, const void *value, size_t size);
void hr_cache_stats_get(hr_cache *cache, hr_cache_stats *out);
