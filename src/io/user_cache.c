/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "io/user_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool append(char *path, size_t room, const char *part)
{
    size_t size = strlen(path);
    int n = snprintf(path + size, room - size, "/%s", part);
    return n > 0 && (size_t)n < room - size;
}

static bool make(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool hr_user_cache(const char *part, char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *start = cache && *cache ? cache : home;
    if (!start || start[0] != '/' || strlen(start) >= size)
        return false;
    memcpy(path, start, strlen(start) + 1);
    if (start == home && (!append(path, size, ".cache") || !make(path)))
        return false;
    return append(path, size, "headrace") && make(path) && append(path, size, part);
}
