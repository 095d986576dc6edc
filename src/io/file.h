/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Files are read, never mapped: truncating a mapped file would kill the process with SIGBUS.
 * Directories, FIFOs and devices are refused without blocking. */
#ifndef HR_IO_FILE_H
#define HR_IO_FILE_H

#include "core/core.h"

/* An open regular file and the range of bytes to read. */
typedef struct hr_file {
    int fd;
    int64_t offset;
    size_t size;
} hr_file;

hr_status hr_file_open(hr_file *file, const hr_span *span, hr_error *error);
void hr_file_close(hr_file *file);
/* Reads the range into a new buffer of the pool. A file that became shorter is an error. `*cached`:
 * all of it was in the page cache. */
hr_status hr_file_read(const hr_file *file, hr_pool *pool, hr_buffer **out, bool *cached,
                       hr_error *error);
/* Reads the range to `dst`. A file that became shorter is an error. */
hr_status hr_file_fill(const hr_file *file, void *dst, hr_error *error);
/* Reads a whole file as zero-terminated text (`*size` without the zero). Free it with hr_free. */
hr_status hr_file_text(const char *path, char **text, size_t *size, hr_error *error);

#endif
