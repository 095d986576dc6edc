/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Items that are ranges of bytes in large files: where the records of TFRecord files and the values
 * of LMDB databases are.
 *
 * This folder reads containers of records: a format of containers or of messages is one pair of
 * files without arguments, and the operators (caffe.c, mxnet.c, tfrecord.c) combine them. */
#pragma once

#include "core/core.h"

typedef struct hr_record {
    int64_t offset, size;
} hr_record;

typedef struct hr_record_table {
    const char *const *paths; /* of the files; borrowed */
    int32_t files;
    int64_t *first; /* of a file: the number of its first record; files + 1 */
    hr_record *records;
    int64_t count, capacity, bytes;
} hr_record_table;

/* For the given files, without records. `paths` lives as long as the table. */
hr_status hr_records_init(hr_record_table *t, const char *const *paths, int32_t files,
                          hr_error *error);
void hr_records_fini(hr_record_table *t);
/* Files get their records one after the other: add, then end the file. */
hr_status hr_records_add(hr_record_table *t, const hr_record *records, int64_t count,
                         hr_error *error);
void hr_records_end_file(hr_record_table *t, int32_t file);

/* The file of a record; where it is. */
int32_t hr_records_file(const hr_record_table *t, int64_t index);
hr_span hr_records_span(const hr_record_table *t, int64_t index);

/* Functions of a source (hr_source_def) whose state begins with an hr_record_table. */
int64_t hr_records_count(const void *state);
int64_t hr_records_mean_bytes(const void *state);
const int64_t *hr_records_files(const void *state, int32_t *count);
hr_status hr_records_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                            hr_error *error);
