/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A file has a header, the key, what is known of the value, and the value. Its name is the
 * beginning of the key. */
#include "io/file_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEXT_SIZE 16384
#define NAME_SIZE 32
#define TOUCH_AFTER 60 /* seconds since a file was last used */
#define ABANDONED 3600 /* seconds after which a file that is being written is garbage */
#define SHARE 16       /* the limit is this many times the largest value */

typedef struct header {
    uint64_t magic, sum; /* of what is known and of the value */
    uint64_t key_size, about_size, data_size;
} header;

typedef struct part {
    const void *data;
    size_t size;
} part;

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

int hr_file_store_open(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    return checked(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), S_IFDIR);
}

bool hr_file_store_key(char key[HR_SHA256_TEXT], const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof(text))
        return false;
    hr_sha256_text(text, (size_t)n, key);
    return true;
}

static const char *name_of(const hr_file_store *store, const char *key, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%.16s%.8s", key, store->suffix);
    return name;
}

/* Guards against damage only: whoever can write the file can compute it. */
static uint64_t sum_of(const void *data, size_t size)
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

/* ---- reading ---- */

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

static bool find_in(const hr_file_store *store, const char *key, void *about, size_t about_size,
                    hr_stored *out)
{
    header h;
    struct stat st;
    char found[HR_SHA256_TEXT];
    size_t key_size = strlen(key);
    if (fstat(out->fd, &st) != 0 || !hr_read_all(out->fd, &h, sizeof(h), 0) ||
        h.magic != store->magic || h.key_size != key_size || h.about_size != about_size ||
        h.data_size > (uint64_t)st.st_size ||
        (uint64_t)st.st_size != sizeof(h) + key_size + about_size + h.data_size ||
        !hr_read_all(out->fd, found, key_size, sizeof(h)) || memcmp(found, key, key_size) != 0 ||
        !hr_read_all(out->fd, about, about_size, (int64_t)(sizeof(h) + key_size)))
        return false;
    if (time(NULL) - st.st_mtime > TOUCH_AFTER)
        (void)futimens(out->fd, NULL); /* it was used now */
    out->size = (size_t)h.data_size;
    out->offset = (int64_t)(sizeof(h) + key_size + about_size);
    out->about_sum = sum_of(about, about_size);
    out->sum = h.sum;
    return true;
}

bool hr_file_store_find(const hr_file_store *store, int folder, const char *key, void *about,
                        size_t about_size, hr_stored *out)
{
    char name[NAME_SIZE];
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    out->fd = checked(openat(folder, name_of(store, key, name), flags), S_IFREG);
    if (out->fd >= 0 && find_in(store, key, about, about_size, out))
        return true;
    hr_stored_close(out);
    return false;
}

bool hr_stored_read(hr_stored *value, void *dst)
{
    bool good = hr_read_all(value->fd, dst, value->size, value->offset) &&
                (value->about_sum ^ sum_of(dst, value->size)) == value->sum;
    hr_stored_close(value);
    return good;
}

void hr_stored_close(hr_stored *value)
{
    if (value->fd >= 0)
        close(value->fd);
    value->fd = -1;
}

/* ---- the limit ---- */

typedef struct kept {
    int64_t used, size; /* seconds since 1970; bytes */
    char name[NAME_SIZE];
} kept;

static int by_use(const void *a, const void *b)
{
    int64_t x = ((const kept *)a)->used, y = ((const kept *)b)->used;
    return (x > y) - (x < y);
}

/* Lists the values of the folder; removes what writers have left behind. */
static kept *list_values(int folder, const char *ending, size_t *count, int64_t *total)
{
    kept *all = NULL;
    size_t capacity = 0;
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    *count = 0;
    *total = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct stat st;
        const char *suffix = strstr(e->d_name, ending);
        if (!suffix || fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (strcmp(suffix, ending) != 0 || strlen(e->d_name) >= sizeof(all->name)) {
            if (time(NULL) - st.st_mtime > ABANDONED)
                unlinkat(folder, e->d_name, 0);
            continue;
        }
        if (*count == capacity) {
            capacity = 2 * capacity + 1024;
            kept *grown = hr_realloc(all, capacity, sizeof(*all), NULL);
            if (!grown)
                break;
            all = grown;
        }
        kept *k = &all[(*count)++];
        *k = (kept){.used = (int64_t)st.st_mtime, .size = (int64_t)st.st_size};
        memcpy(k->name, e->d_name, strlen(e->d_name));
        *total += k->size;
    }
    if (dir)
        closedir(dir);
    else if (again >= 0)
        close(again);
    return all;
}

/* Removes the values that were not used for the longest time, if there are too many bytes. */
static void make_room(int folder, const char *ending, int64_t limit)
{
    size_t count;
    int64_t total;
    kept *all = list_values(folder, ending, &count, &total);
    if (total > limit && count > 0) {
        qsort(all, count, sizeof(*all), by_use);
        for (size_t i = 0; i < count && total > limit / 10 * 9; i++)
            if (unlinkat(folder, all[i].name, 0) == 0)
                total -= all[i].size;
    }
    hr_free(all);
}

/* Every process looks at the folder after it has written a sixteenth of the limit. */
static void keep_limit(hr_file_store *store, int folder, int64_t size, int64_t limit)
{
    long long before = atomic_fetch_add(&store->written, size);
    if (before >= 0 && before + size <= limit / SHARE)
        return;
    atomic_store(&store->written, 0);
    make_room(folder, store->suffix, limit);
}

/* ---- writing ---- */

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
static bool write_file(int folder, const char *name, const part *parts, int count)
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

void hr_file_store_put(hr_file_store *store, int folder, const char *key, const void *about,
                       size_t about_size, const void *data, size_t size, int64_t limit)
{
    char name[NAME_SIZE];
    if (size > (uint64_t)limit / SHARE)
        return;
    header h = {store->magic, sum_of(about, about_size) ^ sum_of(data, size), strlen(key),
                about_size, size};
    const part parts[] = {{&h, sizeof(h)}, {key, strlen(key)}, {about, about_size}, {data, size}};
    (void)write_file(folder, name_of(store, key, name), parts, HR_COUNT_OF(parts));
    keep_limit(store, folder, (int64_t)(sizeof(h) + strlen(key) + about_size + size), limit);
}
