/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What is in the archives of a WebDataset: found by a scan, or read from an index file. */
#pragma once

#include "readers/tar/tar.h"

/* Lists the members of a tar archive. */
extern const hr_scanner hr_wds_scanner;

typedef struct hr_wds_member {
    int64_t offset, size; /* of the data */
    const char *name;     /* in the scan; not zero-terminated */
    size_t name_size;
    hr_tar_kind kind;
} hr_wds_member;

/* The member at `*at`, which moves on to the next one; false at the end. */
bool hr_wds_member_at(const hr_scan *scan, size_t *at, hr_wds_member *out);

typedef struct hr_wds_component { /* of a sample; the texts are not zero-terminated */
    int64_t offset, size;
    const char *name;
    size_t name_size;
    const char *ext;
    size_t ext_size;
} hr_wds_component;

typedef hr_status (*hr_wds_sample_fn)(void *context, const hr_wds_component *parts, int32_t count,
                                      hr_error *error);

/* Reads an index file, version v1.1 or v1.2: the version, the number of samples, and one line per
 * sample with "EXTENSION OFFSET SIZE" (v1.2: and the member's name) per component. */
hr_status hr_wds_index_read(const char *path, hr_wds_sample_fn found, void *context,
                            hr_error *error);
