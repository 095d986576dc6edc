/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The tables of packets of many video files, made when a pipeline is built and kept in the cache of
 * scans (scan_cache.h). */
#pragma once

#include "codecs/video/video.h"

typedef struct hr_video_table {
    hr_video video; /* its arrays are in the scan; no frames: the file cannot be used */
    int64_t size;   /* of the file */
} hr_video_table;

typedef struct hr_video_tables {
    int32_t count;
    hr_video_table *tables; /* one per path */
    struct hr_scan *scans;
    int32_t bad;       /* files that cannot be used */
    int32_t first_bad; /* the first of them, and what was wrong with it */
    hr_error why;
} hr_video_tables;

hr_status hr_video_tables_make(hr_video_tables *t, const hr_strings *paths, hr_error *error);
void hr_video_tables_fini(hr_video_tables *t);
