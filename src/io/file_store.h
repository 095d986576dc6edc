/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Files that nobody else can have written, for caches. */
#ifndef HR_IO_FILE_STORE_H
#define HR_IO_FILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a folder; -1 if it is a link, or if others may write to it. */
int hr_private_folder_open(const char *path);
/* Opens a file of the folder for reading; -1 if it is not a regular file of this user. */
int hr_private_file_open(int folder, const char *name);
/* All `size` bytes at `offset`. */
bool hr_read_all(int fd, void *dst, size_t size, int64_t offset);

typedef struct hr_file_part {
    const void *data;
    size_t size;
} hr_file_part;

/* Replaces a file of the folder by one that consists of the parts. Others see all of it or the file
 * as it was. */
bool hr_private_file_store(int folder, const char *name, const hr_file_part *parts, int count);
/* Guards against damage only: whoever can write the file can compute it. */
uint64_t hr_sum(const void *data, size_t size);

#endif
