/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "io/private_file.h"

#include <errno.h>
#include <fcntl.h>
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

bool hr_write_all(int fd, const void *src, size_t size)
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
