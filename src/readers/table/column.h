/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Columns of Arrow arrays: the value of a row as a tensor.
 *
 * This folder reads tables whose rows are in groups. A back end (provider.h) gives the groups as
 * Arrow arrays; they are read ahead and kept by groups.h. */
#pragma once

#include "core/core.h"
#include "headrace/tables.h"

typedef enum hr_column_kind {
    HR_COLUMN_KIND_NUMBER = 0,
    HR_COLUMN_KIND_BOOL,        /* bits */
    HR_COLUMN_KIND_BYTES,       /* and text; offsets of 32 bits ... */
    HR_COLUMN_KIND_LARGE_BYTES, /* ... or 64 */
    HR_COLUMN_KIND_FIXED_BYTES,
    HR_COLUMN_KIND_VIEWS, /* of bytes */
    HR_COLUMN_KIND_LIST,
    HR_COLUMN_KIND_LARGE_LIST,
    HR_COLUMN_KIND_FIXED_LIST,
    HR_COLUMN_KIND_FILE /* a struct of the bytes of a file and its path */
} hr_column_kind;

/* A column, or the elements of its lists. The arrays are borrowed. */
typedef struct hr_table_column {
    hr_column_kind kind;
    hr_dtype dtype;           /* of numbers, or of the elements of a list */
    int64_t width;            /* of fixed bytes and lists */
    hr_column_kind fields[2]; /* of a FILE: those of its bytes and its path */
    const struct ArrowArray *array;
    int64_t offset; /* of row 0 in the buffers of the array */
} hr_table_column;

/* `base`: the offset of an array whose child this one is. HR_STATUS_NOT_IMPLEMENTED: another type;
 * the message begins with it. */
hr_status hr_table_column_init(hr_table_column *c, const struct ArrowSchema *schema,
                               const struct ArrowArray *array, int64_t base, hr_error *error);
/* Sets type, shape and data of `out`. `*borrowed`: data is in the memory of the array; otherwise it
 * is in the arena. Nulls are errors. */
hr_status hr_table_column_value(const hr_table_column *c, int64_t row, hr_arena *arena,
                                hr_tensor *out, bool *borrowed, hr_error *error);
/* Of a FILE: whether its bytes are null and its path is not. `out`: the path. */
bool hr_table_column_path(const hr_table_column *c, int64_t row, hr_tensor *out);
