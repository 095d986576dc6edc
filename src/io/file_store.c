/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "io/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether nobody else can have written it. */
static bool ours(int fd, mode_t kind)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int checked(int fd, mode_t kind)
{
    if (fd < 0 || ours(fd, kind))
        return fd;
    close(fd);
    return -1;
}

int hr_private_folder_open(const char *path)
{
    return checked(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), S_IFDIR);
}

int hr_private_file_open(int folder, const char *name)
{
    return checked(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), S_IFREG);
}

bool hr_read_all(int fd, void *dst, size_t size, int64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)dst + done, size - done, (off_t)(offset + (int64_t)done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *src, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)src + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* Writes the file under another name and renames it. */
bool hr_private_file_store(int folder, const char *name, const hr_file_part *parts, int count)
{
    static atomic_uint number;
    char other[NAME_MAX + 1];
    int n = snprintf(other, sizeof(other), "%s.%ld.%u", name, (long)getpid(),
                     atomic_fetch_add(&number, 1));
    if (n < 0 || (size_t)n >= sizeof(other))
        return false;
    int fd = openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool good = true;
    for (int i = 0; i < count && good; i++)
        good = write_all(fd, parts[i].data, parts[i].size);
    if (close(fd) == 0 && good && renameat(folder, other, folder, name) == 0)
        return true;
    unlinkat(folder, other, 0);
    return false;
}

uint64_t hr_sum(const void *data, size_t size)
{
    const char *at = data;
    uint64_t sum = size, word;
    for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    for (; size > 0; at++, size--)
        sum = (sum ^ (uint8_t)*at) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}
