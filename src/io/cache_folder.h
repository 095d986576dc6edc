/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The files of a cache. Every writer appends to a file of its own, which it holds a lock on, and
 * all processes read all files. So nobody waits for anybody, and what a crash leaves behind is at
 * the end of a file. */
#ifndef HR_IO_CACHE_FOLDER_H
#define HR_IO_CACHE_FOLDER_H

#include "core/core.h"
#include "kernels/hash.h"

typedef struct hr_cache_folder hr_cache_folder;

typedef struct hr_cache_place { /* of a value */
    int64_t offset;
    uint32_t size;
    int32_t file;
} hr_cache_place;

/* Called for every value found in the files, the folder's lock held. */
typedef void (*hr_cache_found)(void *context, const hr_hash *key, const hr_cache_place *place);

/* Values above this are not kept. */
enum { HR_CACHE_VALUE_MAX = 1 << 24 };

hr_status hr_cache_folder_open(hr_cache_folder **out, const char *path, hr_cache_found found,
                               void *context, hr_error *error);
void hr_cache_folder_close(hr_cache_folder *folder);
/* Random, and the same for all who use the folder. */
const hr_hash_key *hr_cache_folder_key(const hr_cache_folder *folder);
/* Looks for what others have written since; at most once in a while, and not while another thread
 * looks. True when it has looked. */
bool hr_cache_folder_refresh(hr_cache_folder *folder);
/* False when the file does not hold what it should. */
bool hr_cache_folder_read(const hr_cache_folder *folder, const hr_hash *key,
                          const hr_cache_place *place, void *value);
/* False when the folder cannot be written (any more). */
bool hr_cache_folder_append(hr_cache_folder *folder, const hr_hash *key, const void *value,
                            size_t size, hr_cache_place *place);
/* Files that are not used: links, files that are not regular, those that anybody may write, and
 * those of other users in a folder that is not shared with them. */
int32_t hr_cache_folder_ignored(const hr_cache_folder *folder);
/* Makes a key of 16 random bytes. */
void hr_cache_expand_key(hr_hash_key *key, const uint32_t seed[4]);

#endif
