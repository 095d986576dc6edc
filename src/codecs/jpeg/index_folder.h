/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The files of a cache. Every writer appends to a locked file of its own, and all processes read
 * all files. So no process waits for another, and a crash leaves incomplete data only at the end of
 * a file. */
#pragma once

#include "core/core.h"
#include "kernels/hash.h"

typedef struct hr_cache_folder hr_cache_folder;

typedef struct hr_cache_location { /* of a value */
    int64_t offset;
    uint32_t size;
    int32_t file;
} hr_cache_location;

/* Called for every value found in the files, with the folder's lock held. */
typedef void (*hr_cache_found)(void *context, const hr_hash *key,
                               const hr_cache_location *location);

/* Values of more bytes are not kept. */
enum { HR_CACHE_VALUE_MAX = 1 << 24 };

hr_status hr_cache_folder_open(hr_cache_folder **out, const char *path, hr_cache_found found,
                               void *context, hr_error *error);
void hr_cache_folder_close(hr_cache_folder *folder);
/* Random, and the same for all processes that use the folder. */
const hr_hash_key *hr_cache_folder_key(const hr_cache_folder *folder);
/* Scans the files for values that others have written, at most once per second and in one thread
 * at a time. Returns whether it has scanned. */
bool hr_cache_folder_refresh(hr_cache_folder *folder);
/* False if the value cannot be read or is damaged. */
bool hr_cache_folder_read(const hr_cache_folder *folder, const hr_hash *key,
                          const hr_cache_location *location, void *value);
/* False if the folder cannot be written, or not any more. */
bool hr_cache_folder_append(hr_cache_folder *folder, const hr_hash *key, const void *value,
                            size_t size, hr_cache_location *location);
/* Number of files that are not used: links, files that are not regular, files that everybody may
 * write, and files of other users in a folder that is not shared with them. */
int32_t hr_cache_folder_ignored(const hr_cache_folder *folder);
/* Expands 16 random bytes to a key. */
void hr_cache_expand_key(hr_hash_key *key, const uint32_t seed[4]);
