/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Local files. They are read, never mapped: truncating a mapped file would kill the process with
 * SIGBUS. Directories, FIFOs and devices are refused without blocking. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/storage.h"

typedef struct local_file {
    hr_object object;
    int fd;
    atomic_bool direct; /* the descriptor has O_DIRECT */
} local_file;

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

/* Changes when the file is written or replaced. */
static uint64_t version_of(const struct stat *st)
{
    const uint64_t parts[] = {(uint64_t)st->st_dev,         (uint64_t)st->st_ino,
                              (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
                              (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
    uint64_t version = 1;
    for (size_t i = 0; i < HR_COUNT_OF(parts); i++)
        version = (version ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ version >> 29;
    return version ? version : 1;
}

static hr_status local_open(hr_object **out, const char *path, size_t want, const hr_place *place,
                            hr_cancel *cancel, hr_error *error)
{
    (void)want;
    (void)place;
    (void)cancel;
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail_system(error, errno, "cannot be opened");
    struct stat st;
    local_file *file = NULL;
    hr_status status = HR_STATUS_OK;
    if (fstat(fd, &st) != 0)
        status = fail_system(error, errno, "cannot be examined");
    else
        status = check_regular(st.st_mode, error);
    if (status == HR_STATUS_OK && !(file = hr_calloc(1, sizeof(*file), error)))
        status = HR_STATUS_NO_MEMORY;
    if (status != HR_STATUS_OK) {
        close(fd);
        return status;
    }
    *file = (local_file){{&hr_storage_local, (int64_t)st.st_size, version_of(&st)}, fd, false};
    *out = &file->object;
    return HR_STATUS_OK;
}

static void local_close(hr_object *object)
{
    local_file *file = (local_file *)object;
    close(file->fd);
    hr_free(file);
}

/* Reads the bytes that are in the page cache and returns how many; 0 if the file system does not
 * support this. */
static size_t read_cached(int fd, char *dst, size_t size, int64_t offset)
{
    struct iovec to = {dst, size};
    ssize_t n = size > 0 ? preadv2(fd, &to, 1, (off_t)offset, RWF_NOWAIT) : 0;
    return n > 0 ? (size_t)n : 0;
}

static void set_direct(local_file *file, bool direct)
{
    int flags = fcntl(file->fd, F_GETFL);
    bool set =
        flags >= 0 && fcntl(file->fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
    if (set)
        file->direct = direct;
}

static void local_direct(hr_object *object)
{
    set_direct((local_file *)object, true);
}

/* Like pread. O_DIRECT reads whole blocks to the beginnings of blocks of memory: the first and the
 * last block, of which only a part is wanted, go to memory of their own. */
static ssize_t read_blocks(int fd, char *dst, size_t size, int64_t offset)
{
    enum { BLOCK = HR_DIRECT_BLOCK };
    _Alignas(BLOCK) char head[BLOCK], tail[BLOCK];
    size_t skip = (size_t)offset % BLOCK;
    size_t first = skip ? HR_MIN(BLOCK - skip, size) : 0, last = (size - first) % BLOCK;
    struct iovec to[3];
    int count = 0;
    if (first)
        to[count++] = (struct iovec){head, BLOCK};
    if (size > first + last)
        to[count++] = (struct iovec){dst + first, size - first - last};
    if (last)
        to[count++] = (struct iovec){tail, BLOCK};
    ssize_t n = preadv(fd, to, count, (off_t)offset - (off_t)skip);
    if (n <= 0)
        return n;
    size_t got = HR_MIN((size_t)n - HR_MIN(skip, (size_t)n), size);
    memcpy(dst, head + skip, HR_MIN(first, got));
    if (got > size - last)
        memcpy(dst + size - last, tail, got - (size - last));
    return (ssize_t)got;
}

/* Like pread, past the page cache if possible. */
static ssize_t read_some(local_file *file, char *dst, size_t size, int64_t offset)
{
    if (file->direct) {
        ssize_t n = read_blocks(file->fd, dst, size, offset);
        if (n >= 0 || errno == EINTR)
            return n;
        set_direct(file, false); /* the file system or the memory does not allow it */
    }
    return pread(file->fd, dst, size, (off_t)offset);
}

static hr_status local_read(hr_object *object, int64_t offset, size_t size, void *dst, bool *cached,
                            hr_cancel *cancel, hr_error *error)
{
    (void)cancel;
    local_file *file = (local_file *)object;
    size_t done = file->direct ? 0 : read_cached(file->fd, dst, size, offset);
    *cached = done == size;
    while (done < size) {
        ssize_t n = read_some(file, (char *)dst + done, size - done, offset + (int64_t)done);
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

const hr_storage hr_storage_local = {
    .scheme = "file",
    .open = local_open,
    .read = local_read,
    .close = local_close,
    .direct = local_direct,
};
