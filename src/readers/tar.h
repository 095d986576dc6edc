/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Lists the regular files of a tar archive (v7, ustar, GNU, pax). Reads headers only. */
#ifndef HR_READERS_TAR_H
#define HR_READERS_TAR_H

#include "readers/scan.h"

/* What an extended header says about the members that follow it. `path`: NULL without one;
 * `size`: -1. */
typedef struct hr_tar_extended {
    char *path;
    int64_t size;
} hr_tar_extended;

typedef struct hr_tar {
    hr_scan_window window;
    int64_t at; /* of the next header */
    hr_tar_extended next, all;
    char name[256 + 1]; /* of a ustar header: prefix/name */
} hr_tar;

typedef struct hr_tar_member {
    const char *name;     /* until the next call */
    int64_t offset, size; /* of the data, which lies within the archive */
} hr_tar_member;

void hr_tar_init(hr_tar *tar, hr_object *object);
void hr_tar_fini(hr_tar *tar);
/* The next regular file; `*end`: there is none. */
hr_status hr_tar_next(hr_tar *tar, hr_tar_member *out, bool *end, hr_error *error);

#endif
