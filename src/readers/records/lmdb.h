/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Finds the values of LMDB databases in their files, which are read, never mapped. One walk over
 * the tree gives the place of every value, so that values are ranges of bytes like the items of any
 * other reader. */
#pragma once

#include "readers/records/records.h"
#include "readers/scan.h"

/* The databases of a reader, one after the other; each one in the order of its keys. */
typedef struct hr_lmdb {
    hr_record_table values;    /* the first member: hr_records_count and so on are for readers */
    const hr_strings *folders; /* borrowed */
    char **paths;              /* of the data files; folders->n */
    char *keys;                /* of all values, without separators */
    int64_t *key_end;          /* of a value: end of its key in `keys` */
} hr_lmdb;

/* The state of a reader begins with an hr_lmdb. `folders` lives as long as it. */
hr_status hr_lmdb_open(hr_lmdb *db, const hr_strings *folders, hr_error *error);
void hr_lmdb_close(hr_lmdb *db);

/* `name` of a source whose state begins with an hr_lmdb. */
const char *hr_lmdb_name(const void *state, int64_t index, char *room, size_t size);

/* What the scan of a data file gives: an int64_t count, `count` records, `count` ends of keys, and
 * the keys. */
extern const hr_scanner hr_lmdb_scanner;
