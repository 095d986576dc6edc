/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Finds the values of LMDB databases in their files, which are read, never mapped. One walk over
 * the tree gives the place of every value, so that values are ranges of bytes like the items of any
 * other reader. */
#ifndef HR_READERS_RECORDS_LMDB_H
#define HR_READERS_RECORDS_LMDB_H

#include "readers/records/records.h"
#include "readers/scan.h"

/* The databases of a reader, one after the other; each one in the order of its keys. */
typedef struct hr_lmdb {
    const hr_strings *folders; /* borrowed */
    char **paths;              /* of the data files; folders->n */
    hr_record_table values;
    char *keys;       /* of all values, without separators */
    int64_t *key_end; /* of a value: end of its key in `keys` */
} hr_lmdb;

/* The state of a reader begins with an hr_lmdb. `folders` lives as long as it. */
hr_status hr_lmdb_open(hr_lmdb *db, const hr_strings *folders, hr_error *error);
void hr_lmdb_close(hr_lmdb *db);

/* Functions of a source (hr_source_def) whose state begins with an hr_lmdb. */
int64_t hr_lmdb_count(const void *state);
int64_t hr_lmdb_mean_bytes(const void *state);
const int64_t *hr_lmdb_files(const void *state, int32_t *count);
const char *hr_lmdb_name(const void *state, int64_t index, char *room, size_t size);
hr_status hr_lmdb_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                         hr_error *error);

/* What the scan of a data file gives: an int64_t count, `count` records, `count` ends of keys, and
 * the keys. */
extern const hr_scanner hr_lmdb_scanner;

#endif
