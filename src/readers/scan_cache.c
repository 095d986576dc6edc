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

#define MAX_PATH_SIZE 4096
#define LEAST_SIZE ((int64_t)1 << 20) /* smaller files are scanned as fast as a result is read */
#define LIMIT ((int64_t)4 << 30)      /* bytes of all results */

static hr_file_store store = HR_FILE_STORE(UINT64_C(0x33304e4143535248), ".scan"); /* HRSCAN03 */

typedef struct about { /* the version of the scanned file */
    int64_t size;
    uint64_t version;
} about;

/* ---- the folder ---- */

/* "DIR/PART" in `path`; false if it is too long. */
static bool append(char *path, const char *part)
{
    size_t size = strlen(path);
    int n = snprintf(path + size, MAX_PATH_SIZE - size, "/%s", part);
    return n > 0 && (size_t)n < MAX_PATH_SIZE - size;
}

/* The path of the folder, whose parents are made if they do not exist. */
static bool find_folder(char *path)
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
    return true;
}

int hr_scan_cache_open(void)
{
    char path[MAX_PATH_SIZE];
    return find_folder(path) ? hr_file_store_open(path) : -1;
}

void hr_scan_cache_close(int folder)
{
    if (folder >= 0)
        close(folder);
}

/* ---- results ---- */

/* The key: what a result belongs to, but for the version. */
static bool key_of(const hr_scan_source *source, char key[HR_SHA256_TEXT])
{
    char folder[MAX_PATH_SIZE] = "";
    bool whole = source->path[0] == '/' || strstr(source->path, "://");
    if (!whole && !getcwd(folder, sizeof(folder)))
        return false;
    return hr_file_store_key(key, "%s %s %s%s%s", source->kind,
                             source->server ? source->server : "", folder, whole ? "" : "/",
                             source->path);
}

/* Whether results for the file are kept. */
static bool is_kept(int folder, const hr_scan_source *source)
{
    return folder >= 0 && source->version != 0 && source->size >= LEAST_SIZE;
}

bool hr_scan_cache_load(int folder, const hr_scan_source *source, hr_scan *out)
{
    char key[HR_SHA256_TEXT];
    about of;
    hr_stored value;
    if (!is_kept(folder, source) || !key_of(source, key) ||
        !hr_file_store_find(&store, folder, key, &of, sizeof(of), &value))
        return false;
    *out = (hr_scan){.size = value.size, .capacity = value.size + 1};
    if (of.size == source->size && of.version == source->version)
        out->data = hr_calloc(out->capacity, 1, NULL);
    if (out->data && hr_stored_read(&value, out->data))
        return true;
    hr_stored_close(&value);
    hr_free(out->data);
    *out = (hr_scan){0};
    return false;
}

void hr_scan_cache_store(int folder, const hr_scan_source *source, const hr_scan *scan)
{
    char key[HR_SHA256_TEXT];
    const about of = {source->size, source->version};
    if (is_kept(folder, source) && key_of(source, key))
        hr_file_store_put(&store, folder, key, &of, sizeof(of), scan->data, scan->size, LIMIT);
}
