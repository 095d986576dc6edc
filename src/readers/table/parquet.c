/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.parquet: rows of columnar files. The files are opened and decoded by what hr_tables_set
 * has set; here are the order of the rows, reading ahead, and the values. */
#include <stdio.h>
#include <string.h>

#include "headrace/operator.h"
#include "readers/table/groups.h"
#include "readers/table/provider.h"

#define FEW 4 /* groups that are kept for rows in order */
#define MAX_PATH 4096

typedef struct parquet_args {
    hr_sampler_args sampler;
    hr_strings paths, columns;
    int32_t open_paths;
} parquet_args;

typedef struct parquet_state {
    const parquet_args *args;
    const hr_tables *tables;
    hr_table_info info;
    hr_groups *groups;
} parquet_state;

static int32_t parquet_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return ((const parquet_args *)args)->columns.n;
}

static void parquet_destroy(void *state)
{
    parquet_state *s = state;
    hr_groups_destroy(s->groups);
    if (s->info.table)
        s->tables->close(s->info.table);
    hr_free(s);
}

static int64_t group_count(const parquet_state *s)
{
    return s->info.file_groups[s->info.files];
}

static int64_t row_count(const parquet_state *s)
{
    return s->info.first[group_count(s)];
}

/* The groups that rows in flight are from: with random_shuffle, those of two windows. */
static int64_t groups_wanted(const parquet_state *s)
{
    const hr_sampler_args *a = &s->args->sampler;
    int64_t rows = HR_MAX(row_count(s) / HR_MAX(group_count(s), 1), 1);
    int64_t windows = a->random_shuffle ? 2 * (int64_t)a->initial_fill / rows + 2 : 0;
    return HR_MIN(windows + FEW, HR_MAX(group_count(s), 1));
}

static hr_status open_table(parquet_state *s, hr_error *error)
{
    const parquet_args *a = s->args;
    s->tables = hr_tables_get();
    if (!s->tables)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Parquet files are read by the Python package headrace; a C program must "
                       "call hr_tables_set first");
    HR_TRY(s->tables->open(s->tables->context, a->paths.v, a->paths.n, a->columns.v, a->columns.n,
                           &s->info, error));
    HR_TRY(hr_table_info_check(&s->info, error));
    if (row_count(s) == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the files contain no rows");
    return hr_groups_create(&s->groups, s->tables, &s->info, a->columns.n, groups_wanted(s), error);
}

static hr_status parquet_create(const void *args, void **state, hr_error *error)
{
    parquet_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->args = args;
    hr_status status = open_table(s, error);
    if (status != HR_STATUS_OK) {
        parquet_destroy(s);
        return status;
    }
    *state = s;
    return HR_STATUS_OK;
}

static int64_t parquet_count(const void *state)
{
    return row_count(state);
}

static int64_t parquet_mean_bytes(const void *state)
{
    const parquet_state *s = state;
    return s->info.bytes == INT64_MAX ? INT64_MAX : HR_MAX(s->info.bytes / row_count(s), 1);
}

static const int64_t *parquet_files(const void *state, int32_t *count)
{
    const parquet_state *s = state;
    *count = (int32_t)group_count(s);
    return s->info.first;
}

/* The last of `count` ascending starts that is not greater than `i`. */
static int64_t part_of(const int64_t *first, int64_t count, int64_t i)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (i < first[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int64_t group_of(const parquet_state *s, int64_t index)
{
    return part_of(s->info.first, group_count(s), index);
}

static const char *parquet_name(const void *state, int64_t index, char *room, size_t size)
{
    const parquet_state *s = state;
    int64_t group = group_of(s, index);
    int64_t file = part_of(s->info.file_groups, s->info.files, group);
    char shown[HR_SHOWN_SIZE];
    snprintf(room, size, "%s: row %lld of row group %lld",
             hr_shown_name(s->info.names[file], shown, sizeof(shown)),
             (long long)(index - s->info.first[group]),
             (long long)(group - s->info.file_groups[file]));
    return room;
}

static hr_status parquet_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                                hr_error *error)
{
    const parquet_state *s = state;
    (void)spans;
    *count = 0;
    return hr_groups_want(s->groups, group_of(s, index), error);
}

/* Reads the file that a path names. */
static hr_status read_path(hr_op_call *c, const hr_tensor *path, hr_tensor *out, hr_error *error)
{
    char name[MAX_PATH + 1];
    hr_object *object;
    size_t size = (size_t)path->shape.extent[0];
    if (size > MAX_PATH || memchr(path->data, 0, size))
        return hr_fail(error, HR_STATUS_CORRUPT, "its path, %zu bytes, is not a path", size);
    memcpy(name, path->data, size);
    name[size] = 0;
    hr_status status = hr_object_open(&object, NULL, name, NULL, error);
    if (status == HR_STATUS_OK) {
        int64_t bytes = hr_object_size(object);
        hr_tensor_describe(out, HR_DTYPE_UINT8, (hr_shape){1, {bytes}}, NULL);
        out->data = hr_arena_alloc(c->arena, (size_t)bytes, error);
        status = out->data ? hr_object_read(object, 0, (size_t)bytes, out->data, NULL, NULL, error)
                           : HR_STATUS_NO_MEMORY;
        hr_object_close(object);
    }
    char shown[HR_SHOWN_SIZE];
    return status == HR_STATUS_OK ? status
                                  : hr_error_prefix(error, "the file at its path, '%s'",
                                                    hr_shown_name(name, shown, sizeof(shown)));
}

static hr_status emit_value(hr_op_call *c, const hr_table_column *column, int64_t row,
                            hr_buffer *buffer, hr_tensor *out, hr_error *error)
{
    const parquet_state *s = c->state;
    hr_tensor path;
    bool borrowed = false;
    if (hr_table_column_path(column, row, &path)) {
        if (s->args->open_paths)
            return read_path(c, &path, out, error);
        return hr_fail(error, HR_STATUS_ERROR,
                       "the value has a path and no bytes: open_paths=True reads the file there");
    }
    HR_TRY(hr_table_column_value(column, row, c->arena, out, &borrowed, error));
    out->buffer = borrowed ? buffer : NULL;
    return HR_STATUS_OK;
}

static hr_status parquet_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const parquet_state *s = c->state;
    int64_t group = group_of(s, index), row = index - s->info.first[group];
    const hr_group_rows *rows;
    hr_buffer *buffer;
    (void)bytes;
    HR_TRY(hr_groups_take(s->groups, group, &rows, &buffer, error));
    HR_TRY(hr_task_hold(c->task, buffer, error));
    for (int32_t k = 0; k < c->n_out; k++)
        if (emit_value(c, &rows->columns[k], row, buffer, &c->out[k], error) != HR_STATUS_OK)
            return hr_error_prefix(error, "column '%s'", s->args->columns.v[k]);
    return HR_STATUS_OK;
}

static const hr_source_def parquet_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = parquet_count,
    .mean_bytes = parquet_mean_bytes,
    .files = parquet_files,
    .name = parquet_name,
    .locate = parquet_locate,
    .emit = parquet_emit,
};

const hr_op_def hr_op_readers_parquet = {
    HR_OP("readers.parquet"),
    .doc = "Reads rows of Parquet and Arrow files with pyarrow: bytes and text as UINT8 of shape "
           "(size,), numbers without dimensions, lists of numbers as (n,). Not in DALI. A null is "
           "an error of its sample.",
    .devices = "cpu",
    .flags = HR_OP_GROUPS,
    HR_ARGS(
        parquet_args,
        HR_ARG(parquet_args, paths, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
               "Paths or URIs of the files, in Parquet or in Arrow's IPC format; patterns with "
               "`*`, `?` and `[]` stand for the files that they match, in the order of their "
               "names. All files have the columns, with the same types.",
               .count_min = 1, .count_max = INT32_MAX),
        HR_ARG(parquet_args, columns, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
               "The columns, one output for each. `image.bytes` is the field `bytes` of the column "
               "`image`. A column with the fields `bytes` and `path`, as Hugging Face has them, "
               "stands for the bytes.",
               .count_min = 1, .count_max = HR_OP_MAX_OUTPUTS),
        HR_ARG(parquet_args, open_paths, BOOL, 0, "False",
               "Where the bytes of a column with `bytes` and `path` are null, read the file at the "
               "path. Only for tables that you trust: the paths may be those of any files."),
        HR_SAMPLER_ORDER_DEFS(parquet_args), HR_SAMPLER_FILES_DEFS(parquet_args),
        HR_READER_ACCEPTED_DEFS),
    .out = HR_OUTPUTS({"column"}),
    .outputs = parquet_outputs,
    .create = parquet_create,
    .destroy = parquet_destroy,
    .source = &parquet_source,
};
