/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/scan_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file_store.h"
#include "core/sha256.h"

#define MAX_PATH_SIZE 4096
#define LEAST_SIZE ((int64_t)1 << 20)  /* smaller files are scanned as fast as a result is read */
#define MOST_BYTES ((uint64_t)1 << 32) /* of a result */
#define MAGIC UINT64_C(0x32304e4143535248) /* "HRSCAN02" */

/* A cache file consists of this header, the key and the result. */
typedef struct header {
    uint64_t magic, version;
    int64_t size; /* of the scanned file */
    uint64_t key_size, data_size;
    uint64_t sum; /* of the result */
} header;

/* ---- the folder ---- */

/* "DIR/PART" in `path`; false if it is too long. */
static bool append(char *path, const char *part)
{
    size_t size = strlen(path);
    int n = snprintf(path + size, MAX_PATH_SIZE - size, "/%s", part);
    return n > 0 && (size_t)n < MAX_PATH_SIZE - size;
}

/* The path of the folder, whose last parts are made if they do not exist. */
static bool make_folder(char *path)
{
    const char *chosen = getenv("HEADRACE_SCAN_CACHE"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME"), *start = chosen ? chosen : cache && *cache ? cache : home;
    if (!start || start[0] != '/' || strlen(start) >= MAX_PATH_SIZE)
        return false;
    memcpy(path, start, strlen(start) + 1);
    if (!chosen) {
        if (start == home && (!append(path, ".cache") || (mkdir(path, 0700) && errno != EEXIST)))
            return false;
        if (!append(path, "headrace") || (mkdir(path, 0700) && errno != EEXIST) ||
            !append(path, "scans"))
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

int hr_scan_cache_open(void)
{
    char path[MAX_PATH_SIZE];
    if (!make_folder(path))
        return -1;
    return hr_private_folder_open(path);
}

void hr_scan_cache_close(int folder)
{
    if (folder >= 0)
        close(folder);
}

/* ---- results ---- */

/* What a result belongs to, but for the version: a hash, because a path may contain a password. The
 * file has it as its key and, shortened, as its name. */
static bool key_of(const hr_scan_source *source, char key[HR_SHA256_TEXT], char name[32])
{
    char folder[MAX_PATH_SIZE] = "", text[2 * MAX_PATH_SIZE];
    bool whole = source->path[0] == '/' || strstr(source->path, "://");
    if (!whole && !getcwd(folder, sizeof(folder)))
        return false;
    int n = snprintf(text, sizeof(text), "%s %s %s%s%s", source->kind,
                     source->server ? source->server : "", folder, whole ? "" : "/", source->path);
    if (n < 0 || (size_t)n >= sizeof(text))
        return false;
    hr_sha256_text(text, (size_t)n, key);
    snprintf(name, 32, "%.16s.scan", key);
    return true;
}

static bool load_from(int fd, const hr_scan_source *source, const char *key, hr_scan *out)
{
    header h;
    struct stat st;
    char found[HR_SHA256_TEXT];
    size_t key_size = strlen(key);
    if (fstat(fd, &st) != 0 || !hr_read_all(fd, &h, sizeof(h), 0) || h.magic != MAGIC ||
        h.version != source->version || h.size != source->size || h.key_size != key_size ||
        h.data_size > MOST_BYTES || (uint64_t)st.st_size != sizeof(h) + h.key_size + h.data_size ||
        !hr_read_all(fd, found, key_size, sizeof(h)) || memcmp(found, key, key_size) != 0)
        return false;
    *out = (hr_scan){.size = (size_t)h.data_size, .capacity = (size_t)h.data_size + 1};
    out->data = hr_calloc(out->capacity, 1, NULL);
    if (out->data && hr_read_all(fd, out->data, out->size, (int64_t)(sizeof(h) + key_size)) &&
        hr_sum(out->data, out->size) == h.sum)
        return true;
    hr_free(out->data);
    *out = (hr_scan){0};
    return false;
}

bool hr_scan_cache_load(int folder, const hr_scan_source *source, hr_scan *out)
{
    char key[HR_SHA256_TEXT], name[32];
    if (folder < 0 || source->version == 0 || source->size < LEAST_SIZE ||
        !key_of(source, key, name))
        return false;
    int fd = hr_private_file_open(folder, name);
    if (fd < 0)
        return false;
    bool good = load_from(fd, source, key, out);
    close(fd);
    return good;
}

void hr_scan_cache_store(int folder, const hr_scan_source *source, const hr_scan *scan)
{
    char key[HR_SHA256_TEXT], name[32];
    if (folder < 0 || source->version == 0 || source->size < LEAST_SIZE ||
        scan->size > MOST_BYTES || !key_of(source, key, name))
        return;
    header h = {MAGIC,       source->version, source->size,
                strlen(key), scan->size,      hr_sum(scan->data, scan->size)};
    const hr_file_part parts[] = {{&h, sizeof(h)}, {key, strlen(key)}, {scan->data, scan->size}};
    (void)hr_private_file_store(folder, name, parts, HR_COUNT_OF(parts));
}
