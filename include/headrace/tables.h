/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What reads columnar files for readers.parquet. The Python package does it with pyarrow; a C
 * program may bring its own. */
#ifndef HEADRACE_TABLES_H
#define HEADRACE_TABLES_H

#include "headrace/headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The C data interface of Apache Arrow, in the form that its specification fixes:
 * https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
    const char *format; /* of a type: "i" is int32 */
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *); /* NULL: released */
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset;
    int64_t n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *); /* NULL: released */
    void *private_data;
};

#endif

/* An open table: rows in groups, each of which is read as a whole. What it points to lives until
 * the table is closed. */
typedef struct hr_table_info {
    void *table;
    int32_t files;
    const char *const *names;   /* of the files, for messages */
    const int64_t *file_groups; /* the first group of each file, and the number of all: files + 1 */
    const int64_t *first;       /* the first row of each group, and the number of all */
    int64_t bytes;              /* of the columns, about; INT64_MAX: all groups are in memory */
} hr_table_info;

/* Any thread may call these functions, several at once. */
typedef struct hr_tables {
    void *context;
    hr_status (*open)(void *context, const char *const *paths, int32_t path_count,
                      const char *const *columns, int32_t column_count, hr_table_info *out,
                      hr_error *error);
    /* Both structs are released by the caller. The array is a struct with the columns as its
     * children, in their order, and has the rows of the group. A column is of numbers, bytes or
     * text, of lists of numbers, or a struct of bytes and a path. */
    hr_status (*read)(void *table, int64_t group, struct ArrowSchema *schema,
                      struct ArrowArray *array, hr_error *error);
    void (*close)(void *table);
} hr_tables;

/* Sets what reads tables in this process. `tables` lives as long as the process; pipelines that
 * exist keep what they were built with. */
HR_API void hr_tables_set(const hr_tables *tables);

/* A file, or an object of a remote store, for those who read tables. Any number of threads may read
 * it at once. Failures do not name it. */
typedef struct hr_file hr_file;
HR_API hr_status hr_file_open(hr_file **out, const char *path, hr_error *error);
HR_API int64_t hr_file_size(const hr_file *file);
HR_API hr_status hr_file_read(hr_file *file, int64_t offset, size_t size, void *dst,
                              hr_error *error);
HR_API void hr_file_close(hr_file *file); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
