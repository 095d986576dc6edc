/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reads files, whole or in part. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Lack of descriptors or memory does not make a sample bad. */
static hr_status fail_system(hr_error *error, int code, const char *what)
{
    hr_status status = hr_fail_errno(error, code, "%s", what);
    if (code == EMFILE || code == ENFILE || code == ENOMEM)
        status = HR_STATUS_NO_MEMORY;
    if (error)
        error->status = status;
    return status;
}

static hr_status check_regular(mode_t mode, hr_error *error)
{
    if (S_ISREG(mode))
        return HR_STATUS_OK;
    const char *what = S_ISDIR(mode)    ? "a directory"
                       : S_ISFIFO(mode) ? "a FIFO"
                       : S_ISCHR(mode)  ? "a character device"
                       : S_ISBLK(mode)  ? "a block device"
                                        : "a socket";
    return hr_fail(error, HR_STATUS_IO, "is %s, not a regular file", what);
}

/* root/path, or only path if it is absolute or there is no root. */
static hr_status join_path(const hr_span *span, char *joined, size_t size, const char **out,
                           hr_error *error)
{
    *out = span->path;
    if (!span->root || !span->root[0] || span->path[0] == '/')
        return HR_STATUS_OK;
    int n = snprintf(joined, size, "%s/%s", span->root, span->path);
    if (n < 0 || (size_t)n >= size)
        return hr_fail(error, HR_STATUS_IO, "the path is longer than %zu bytes", size - 1);
    *out = joined;
    return HR_STATUS_OK;
}

hr_status hr_file_open(hr_file *file, const hr_span *span, hr_error *error)
{
    char joined[4096 + 256];
    const char *path;
    HR_TRY(join_path(span, joined, sizeof(joined), &path, error));
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail_system(error, errno, "cannot be opened");
    struct stat st;
    hr_status status = HR_STATUS_OK;
    if (fstat(fd, &st) != 0)
        status = fail_system(error, errno, "cannot be examined");
    else
        status = check_regular(st.st_mode, error);
    int64_t left = status == HR_STATUS_OK ? (int64_t)st.st_size - span->offset : 0;
    if (status == HR_STATUS_OK && (span->offset < 0 || left < HR_MAX(span->size, 0)))
        status = hr_fail(error, HR_STATUS_IO, "has %lld bytes, too few for %lld at offset %lld",
                         (long long)st.st_size, (long long)span->size, (long long)span->offset);
    if (status != HR_STATUS_OK) {
        close(fd);
        return status;
    }
    *file = (hr_file){fd, span->offset, (size_t)(span->size < 0 ? left : span->size)};
    return HR_STATUS_OK;
}

void hr_file_close(hr_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* Reads the bytes that are in the page cache and returns how many; 0 if the file system does not
 * support this. */
static size_t read_cached(int fd, char *dst, size_t size, int64_t offset)
{
    struct iovec to = {dst, size};
    ssize_t n = size > 0 ? preadv2(fd, &to, 1, (off_t)offset, RWF_NOWAIT) : 0;
    return n > 0 ? (size_t)n : 0;
}

/* Reads `size` bytes at `offset`, of which `done` are read already. */
static hr_status read_exactly(int fd, char *dst, size_t done, size_t size, int64_t offset,
                              hr_error *error)
{
    while (done < size) {
        ssize_t n = pread(fd, dst + done, size - done, (off_t)(offset + (int64_t)done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_system(error, errno, "cannot be read");
        if (n == 0)
            return hr_fail(error, HR_STATUS_IO,
                           "became shorter while it was read (%zu of %zu bytes)", done, size);
        done += (size_t)n;
    }
    return HR_STATUS_OK;
}

hr_status hr_file_read(const hr_file *file, hr_pool *pool, hr_buffer **out, bool *cached,
                       hr_error *error)
{
    hr_buffer *buffer;
    *cached = false;
    size_t limit = hr_pool_limit(pool);
    if (limit && file->size > limit) /* it never fits: not a lack of memory that can pass */
        return hr_fail(error, HR_STATUS_LIMIT, "has %zu bytes, more than host_memory_limit, %zu",
                       file->size, limit);
    HR_TRY(hr_pool_alloc(pool, file->size, &buffer, error));
    char *dst = hr_buffer_data(buffer);
    size_t done = read_cached(file->fd, dst, file->size, file->offset);
    *cached = done == file->size;
    hr_status status = read_exactly(file->fd, dst, done, file->size, file->offset, error);
    if (status != HR_STATUS_OK) {
        hr_buffer_unref(buffer);
        return status;
    }
    *out = buffer;
    return HR_STATUS_OK;
}

hr_status hr_file_fill(const hr_file *file, void *dst, hr_error *error)
{
    return read_exactly(file->fd, dst, 0, file->size, file->offset, error);
}

hr_status hr_file_text(const char *path, char **text, size_t *size, hr_error *error)
{
    hr_file file;
    hr_span span = {.path = path, .size = -1};
    HR_TRY(hr_file_open(&file, &span, error));
    char *data = hr_calloc(file.size + 1, 1, error);
    hr_status status =
        data ? read_exactly(file.fd, data, 0, file.size, 0, error) : HR_STATUS_NO_MEMORY;
    hr_file_close(&file);
    if (status != HR_STATUS_OK) {
        hr_free(data);
        return status;
    }
    *text = data;
    *size = file.size;
    return HR_STATUS_OK;
}
