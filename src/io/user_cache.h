/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Folders of the user's cache: headrace/PART in XDG_CACHE_HOME, or in ~/.cache. */
#ifndef HR_IO_USER_CACHE_H
#define HR_IO_USER_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the folder PART, whose parents are made if they do not exist. False if there
 * is no home, the parents cannot be made, or the path does not fit. */
bool hr_user_cache(const char *part, char *path, size_t size);

#endif
