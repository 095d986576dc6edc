/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Finds the items of large files when a pipeline is built: the members of archives, the records of
 * TFRecord files. Several files are scanned at once, and what was found is kept for the next time
 * (scan_cache.h). */
#pragma once

#include "core/core.h"

/* What the scan of one file found, in a form that the reader defines; without pointers, because it
 * is written to a file. */
typedef struct hr_scan {
    char *data;
    size_t size, capacity;
} hr_scan;

hr_status hr_scan_add(hr_scan *scan, const void *data, size_t size, hr_error *error);

typedef struct hr_scanner {
    const char *kind; /* names the form of the result, with a version: "tar 2" */
    /* May run on any thread. Errors do not name the file. */
    hr_status (*scan)(hr_object *object, hr_scan *out, hr_error *error);
    /* Whether `scan` can have made this from a file of this size. It comes from a cache file, so
     * that it may contain anything. */
    bool (*valid)(const hr_scan *scan, int64_t size);
} hr_scanner;

/* Scans all files; `*out` has one result per path. Errors are those of the first file that has one:
 * "path 'name': ...". */
hr_status hr_scan_files(const hr_strings *paths, const hr_scanner *scanner, hr_scan **out,
                        hr_error *error);
/* The same, but a file that fails does not keep the others from being scanned: (*errors)[i] says
 * what was wrong with file i, whose result is empty; free it with hr_free. */
hr_status hr_scan_each(const hr_strings *paths, const hr_scanner *scanner, hr_scan **out,
                       hr_error **errors, hr_error *error);
void hr_scan_free(hr_scan *scans, int32_t count); /* NULL is fine */

/* A window of a file for parsers that go through it from front to back and skip most of it. */
typedef struct hr_scan_window {
    hr_object *object;
    int64_t start; /* of the bytes in `data` */
    int64_t last;  /* offset that was asked for */
    size_t size, capacity;
    uint8_t *data;
} hr_scan_window;

/* The `size` bytes at `offset`, valid until the next call; NULL and the error if they cannot be
 * read. Reads far ahead only if the steps are small. */
const uint8_t *hr_scan_bytes(hr_scan_window *w, int64_t offset, size_t size, hr_error *error);
void hr_scan_window_fini(hr_scan_window *w);
/* The compression that the first bytes of the file are those of ("gzip"), or NULL. For messages
 * about a file that is not what it should be; what was in the window is gone. */
const char *hr_scan_compression(hr_scan_window *w);
