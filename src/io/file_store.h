/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A folder that keeps values in files of their own, up to a limit of bytes. Nobody else can have
 * written them. Any number of processes may share the folder: files are written aside and renamed,
 * so that others see all of one or nothing, and those that were not used for the longest time are
 * removed beyond the limit. Nothing fails: what cannot be kept is dropped. Any thread. */
#pragma once

#include <stdatomic.h>

#include "core/core.h"
#include "core/sha256.h"

typedef struct hr_file_store {
    uint64_t magic;       /* the kind of the values and the version of their format */
    const char *suffix;   /* of the files' names, ".range"; at most 8 bytes */
    atomic_llong written; /* bytes since this process last looked at all files; -1: never looked */
} hr_file_store;

#define HR_FILE_STORE(kind, ending)                                                                \
    {                                                                                              \
        .magic = (kind), .suffix = (ending), .written = -1                                         \
    }

/* The folder, which is made if it does not exist; -1 if it is a link, or if others may write to it.
 */
int hr_file_store_open(const char *path);

/* A key is a hash of what the format gives, because that may contain a password. false: it is too
 * long. */
bool hr_file_store_key(char key[HR_SHA256_TEXT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct hr_stored { /* a value that was found, to be read or closed */
    int fd;
    size_t size;
    int64_t offset;
    uint64_t about_sum, sum;
} hr_stored;

/* `about`: what is known of the value, of a fixed size; it is right only if reading succeeds. */
bool hr_file_store_find(const hr_file_store *store, int folder, const char *key, void *about,
                        size_t about_size, hr_stored *out);
/* Closes the value. false: it cannot be read, or is damaged. */
bool hr_stored_read(hr_stored *value, void *dst);
void hr_stored_close(hr_stored *value);

/* `limit`: bytes of all files; a value of more than a sixteenth is not kept. */
void hr_file_store_put(hr_file_store *store, int folder, const char *key, const void *about,
                       size_t about_size, const void *data, size_t size, int64_t limit);

/* All `size` bytes at `offset`. */
bool hr_read_all(int fd, void *dst, size_t size, int64_t offset);
