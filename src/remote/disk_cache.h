/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A folder that keeps what was read from remote storage: one file per range. HEADRACE_NET_CACHE
 * names it; without the variable there is none. Objects are assumed not to change. Any number of
 * processes may share the folder, up to a limit of bytes (io/file_store.h). */
#pragma once

#include "core/core.h"

/* What is known of an object; kept with each of its ranges. */
typedef struct hr_disk_about {
    int64_t size;
    uint64_t version;
    char tag[128];
} hr_disk_about;

bool hr_disk_cache_is_on(void); /* whether the variable is set */
/* What was asked of whom: the same name means another object on another server. */
typedef struct hr_disk_range {
    const char *server; /* hr_object's */
    const char *uri;
    int64_t offset;
    size_t size;
} hr_disk_range;

/* Reads at most `size` bytes of a range that was kept; `*got` is how many it has. False: it is not
 * there. */
bool hr_disk_cache_load(const hr_disk_range *range, void *dst, size_t *got, hr_disk_about *about);
void hr_disk_cache_store(const hr_disk_range *range, const void *data, size_t got,
                         const hr_disk_about *about);
