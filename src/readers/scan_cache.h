/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Keeps what scans found (scan.h) in files, one per scanned file, in the folder that
 * HEADRACE_SCAN_CACHE names, or in ~/.cache/headrace/scans. A result is used only for the version
 * of the file that it was made from. There is a limit of bytes (io/file_store.h). Nothing here
 * fails: without a usable folder, files are scanned every time. */
#pragma once

#include "readers/scan.h"

typedef struct hr_scan_source { /* what a result belongs to */
    const char *path, *server;  /* `server`: hr_object's */
    const char *kind;
    int64_t size;
    uint64_t version;
} hr_scan_source;

/* The folder's descriptor, or -1: there is none that only this user can write to. */
int hr_scan_cache_open(void);
void hr_scan_cache_close(int folder);
/* The result may contain anything: the caller checks it. */
bool hr_scan_cache_load(int folder, const hr_scan_source *source, hr_scan *out);
void hr_scan_cache_store(int folder, const hr_scan_source *source, const hr_scan *scan);
