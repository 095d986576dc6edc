/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/file_store.h"
#include "core/sha256.h"

#define MAGIC UINT64_C(0x3230454741525248) /* "HRRAGE02" */
#define SUFFIX ".range"
#define TEXT_SIZE 8192
#define NAME_SIZE 128
#define LIMIT ((int64_t)16 << 30) /* bytes, if HEADRACE_NET_CACHE_SIZE is not set */
#define TOUCH_AFTER 60            /* seconds since a file was last used */
#define ABANDONED 3600            /* seconds after which a file that is being written is garbage */

/* A file consists of this header, the key and the bytes of the range. */
typedef struct header {
    uint64_t magic, sum; /* of the bytes */
    uint64_t key_size, data_size;
    hr_disk_about about;
} header;

/* Bytes that this process has written since it last looked at the whole folder; -1: never looked.
 */
static atomic_llong written = -1;

bool hr_disk_cache_is_on(void)
{
    const char *path = getenv("HEADRACE_NET_CACHE");
    return path && path[0] == '/';
}

static int open_folder(void)
{
    if (!hr_disk_cache_is_on())
        return -1;
    const char *path = getenv("HEADRACE_NET_CACHE");
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    return hr_private_folder_open(path);
}

static int64_t limit_of(void)
{
    const char *text = getenv("HEADRACE_NET_CACHE_SIZE");
    char *end = NULL;
    long long n = text && text[0] ? strtoll(text, &end, 10) : 0;
    return end && !*end && n >= 0 ? (int64_t)n : LIMIT;
}

/* The key of a range, which is a hash because a URI may contain a password, and the name of its
 * file. */
static bool key_of(const hr_disk_range *range, char key[HR_SHA256_TEXT], char name[NAME_SIZE])
{
    char text[TEXT_SIZE];
    int n = snprintf(text, sizeof(text), "%lld %zu %s %s", (long long)range->offset, range->size,
                     range->server ? range->server : "", range->uri);
    if (n < 0 || (size_t)n >= sizeof(text))
        return false;
    hr_sha256_text(text, (size_t)n, key);
    snprintf(name, NAME_SIZE, "%.16s" SUFFIX, key);
    return true;
}

/* ---- loading ---- */

static bool load_from(int fd, const char *key, size_t size, void *dst, size_t *got,
                      hr_disk_about *about)
{
    header h;
    struct stat st;
    char found[HR_SHA256_TEXT];
    size_t key_size = strlen(key);
    if (fstat(fd, &st) != 0 || !hr_read_all(fd, &h, sizeof(h), 0) || h.magic != MAGIC ||
        h.key_size != key_size || h.data_size > size ||
        (uint64_t)st.st_size != sizeof(h) + h.key_size + h.data_size ||
        !hr_read_all(fd, found, key_size, sizeof(h)) || memcmp(found, key, key_size) != 0 ||
        !hr_read_all(fd, dst, (size_t)h.data_size, (int64_t)(sizeof(h) + key_size)) ||
        hr_sum(dst, (size_t)h.data_size) != h.sum || h.about.size < 0 ||
        !memchr(h.about.tag, 0, sizeof(h.about.tag)))
        return false;
    if (time(NULL) - st.st_mtime > TOUCH_AFTER)
        (void)futimens(fd, NULL); /* it was used now */
    *got = (size_t)h.data_size;
    *about = h.about;
    return true;
}

bool hr_disk_cache_load(const hr_disk_range *range, void *dst, size_t *got, hr_disk_about *about)
{
    char key[HR_SHA256_TEXT], name[NAME_SIZE];
    int folder = open_folder();
    if (folder < 0)
        return false;
    int fd = key_of(range, key, name) ? hr_private_file_open(folder, name) : -1;
    bool good = fd >= 0 && load_from(fd, key, range->size, dst, got, about);
    if (fd >= 0)
        close(fd);
    close(folder);
    return good;
}

/* ---- the limit ---- */

typedef struct kept {
    int64_t used, size; /* seconds since 1970; bytes */
    char name[32];
} kept;

static int by_use(const void *a, const void *b)
{
    int64_t x = ((const kept *)a)->used, y = ((const kept *)b)->used;
    return (x > y) - (x < y);
}

/* Lists the ranges of the folder; removes what writers have left behind. */
static kept *list_ranges(int folder, size_t *count, int64_t *total)
{
    kept *all = NULL;
    size_t capacity = 0;
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    *count = 0;
    *total = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct stat st;
        const char *suffix = strstr(e->d_name, SUFFIX);
        if (!suffix || fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (strcmp(suffix, SUFFIX) != 0 || strlen(e->d_name) >= sizeof(all->name)) {
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

/* Removes the ranges that were not used for the longest time, if there are too many bytes. */
static void make_room(int folder, int64_t limit)
{
    size_t count;
    int64_t total;
    kept *all = list_ranges(folder, &count, &total);
    if (total > limit && count > 0) {
        qsort(all, count, sizeof(*all), by_use);
        for (size_t i = 0; i < count && total > limit / 10 * 9; i++)
            if (unlinkat(folder, all[i].name, 0) == 0)
                total -= all[i].size;
    }
    hr_free(all);
}

/* Every process looks at the folder after it has written a sixteenth of the limit. */
static void keep_limit(int folder, int64_t size)
{
    int64_t limit = limit_of();
    long long before = atomic_fetch_add(&written, size);
    if (before >= 0 && before + size <= limit / 16)
        return;
    atomic_store(&written, 0);
    make_room(folder, limit);
}

/* ---- storing ---- */

void hr_disk_cache_store(const hr_disk_range *range, const void *data, size_t got,
                         const hr_disk_about *about)
{
    char key[HR_SHA256_TEXT], name[NAME_SIZE];
    int folder = open_folder();
    if (folder < 0)
        return;
    if (!key_of(range, key, name) || (int64_t)got > limit_of() / 16) {
        close(folder);
        return;
    }
    header h = {MAGIC, hr_sum(data, got), strlen(key), got, *about};
    const hr_file_part parts[] = {{&h, sizeof(h)}, {key, strlen(key)}, {data, got}};
    (void)hr_private_file_store(folder, name, parts, HR_COUNT_OF(parts));
    keep_limit(folder, (int64_t)(sizeof(h) + strlen(key) + got));
    close(folder);
}
