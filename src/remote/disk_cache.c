/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/disk_cache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file_store.h"

#define LIMIT ((int64_t)16 << 30) /* bytes, if HEADRACE_NET_CACHE_SIZE is not set */

static hr_file_store store = HR_FILE_STORE(UINT64_C(0x3330454741525248), ".range"); /* HRRAGE03 */

bool hr_disk_cache_is_on(void)
{
    const char *path = getenv("HEADRACE_NET_CACHE");
    return path && path[0] == '/';
}

static int open_folder(void)
{
    return hr_disk_cache_is_on() ? hr_file_store_open(getenv("HEADRACE_NET_CACHE")) : -1;
}

static int64_t limit_of(void)
{
    const char *text = getenv("HEADRACE_NET_CACHE_SIZE");
    char *end = NULL;
    long long n = text && text[0] ? strtoll(text, &end, 10) : 0;
    return end && !*end && n >= 0 ? (int64_t)n : LIMIT;
}

static bool key_of(const hr_disk_range *range, char key[HR_SHA256_TEXT])
{
    return hr_file_store_key(key, "%lld %zu %s %s", (long long)range->offset, range->size,
                             range->server ? range->server : "", range->uri);
}

static bool load_from(int folder, const hr_disk_range *range, void *dst, size_t *got,
                      hr_disk_about *about)
{
    char key[HR_SHA256_TEXT];
    hr_stored value;
    if (!key_of(range, key) ||
        !hr_file_store_find(&store, folder, key, about, sizeof(*about), &value))
        return false;
    *got = value.size;
    if (value.size > range->size)
        hr_stored_close(&value);
    return value.fd >= 0 && hr_stored_read(&value, dst) && about->size >= 0 &&
           memchr(about->tag, 0, sizeof(about->tag));
}

bool hr_disk_cache_load(const hr_disk_range *range, void *dst, size_t *got, hr_disk_about *about)
{
    int folder = open_folder();
    bool good = folder >= 0 && load_from(folder, range, dst, got, about);
    if (folder >= 0)
        close(folder);
    return good;
}

void hr_disk_cache_store(const hr_disk_range *range, const void *data, size_t got,
                         const hr_disk_about *about)
{
    char key[HR_SHA256_TEXT];
    int folder = open_folder();
    if (folder < 0)
        return;
    if (key_of(range, key))
        hr_file_store_put(&store, folder, key, about, sizeof(*about), data, got, limit_of());
    close(folder);
}
