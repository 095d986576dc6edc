/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Lists the members of a tar archive (v7, ustar, GNU, pax). Reads headers only.
 *
 * This folder reads archives: tar.c knows the format, wds_index.c the samples in it, webdataset.c
 * the operator. Kept scans have a version (wds_index.c) that changes with what they contain. */
#pragma once

#include "readers/scan.h"

/* What a member is. The contents of all but regular files are not in one piece, or not where the
 * header says. */
typedef enum hr_tar_kind {
    HR_TAR_KIND_FILE,
    HR_TAR_KIND_SPARSE,
    HR_TAR_KIND_HARD_LINK,
    HR_TAR_KIND_SYMBOLIC_LINK,
    HR_TAR_KIND_DEVICE, /* or a named pipe */
    HR_TAR_KIND_CONTINUED,
    HR_TAR_KIND_UNKNOWN,
    HR_TAR_KINDS
} hr_tar_kind;

/* Why a member that is not a regular file cannot be read, and what to do. */
const char *hr_tar_kind_advice(hr_tar_kind kind);

/* What an extended header says about the members that follow it. `path`: NULL without one;
 * `size`: -1. */
typedef struct hr_tar_extended {
    char *path, *sparse_path; /* the latter is that of a sparse file, whose `path` is made up */
    int64_t size;
    bool sparse;
} hr_tar_extended;

typedef struct hr_tar {
    hr_scan_window window;
    int64_t at; /* of the next header */
    hr_tar_extended next, all;
    char name[256 + 1]; /* of a ustar header: prefix/name */
} hr_tar;

typedef struct hr_tar_member {
    const char *name; /* until the next call */
    hr_tar_kind kind;
    int64_t offset, size; /* of a regular file's data, which lies within the archive; or 0 */
} hr_tar_member;

void hr_tar_init(hr_tar *tar, hr_object *object);
void hr_tar_fini(hr_tar *tar);
/* The next member that is not a folder; `*end`: there is none. */
hr_status hr_tar_next(hr_tar *tar, hr_tar_member *out, bool *end, hr_error *error);
