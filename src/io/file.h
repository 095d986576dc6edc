/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Files are read, never mapped: a file that is cut while it is mapped kills the process.
 * Directories, FIFOs and devices are refused without blocking on them. */
#ifndef HR_IO_FILE_H
#define HR_IO_FILE_H

#include "core/core.h"

/* An open regular file and how many bytes of it are wanted. */
typedef struct hr_file {
    int fd;
    int64_t offset;
    size_t size;
} hr_file;

hr_status hr_file_open(hr_file *file, const hr_span *span, hr_error *error);
void hr_file_close(hr_file *file);
/* Reads all of it into a new buffer of the pool. A file that got shorter is an error. `*cached`: it
 * was in memory, and reading it was copying it. */
hr_status hr_file_read(const hr_file *file, hr_pool *pool, hr_buffer **out, bool *cached,
                       hr_error *error);
/* Reads all of it to `dst`. A file that got shorter is an error. */
hr_status hr_file_fill(const hr_file *file, void *dst, hr_error *error);
/* A whole file as zero-terminated text (`*size` without the zero); hr_free. */
hr_status hr_file_text(const char *path, char **text, size_t *size, hr_error *error);

#endif
