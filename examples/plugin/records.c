/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* example.records: a reader of files that consist of records of one size. Order, shuffling, shards,
 * reading ahead, checkpoints and bad files are the library's work. */
#include <stdio.h>

#include "headrace/operator.h"

typedef struct records_args {
    hr_sampler_args sampler; /* first, in every reader */
    hr_strings path;
    int32_t size;
} records_args;

typedef struct records_state {
    const records_args *args;
    int64_t *first; /* path.n + 1: number of each file's first record */
} records_state;

static void records_destroy(void *state)
{
    records_state *s = state;

    hr_free(s->first);
    hr_free(s);
}

/* Adds the records of a file. */
static hr_status measure(records_state *s, int32_t file, hr_error *error)
{
    const char *path = s->args->path.v[file];
    hr_object *object;

    if (hr_object_open(&object, NULL, path, NULL, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "path '%s'", path);
    int64_t size = hr_object_size(object);
    hr_object_close(object);
    if (size % s->args->size != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "path '%s': the size of %lld bytes is not a multiple of the record size "
                       "of %d bytes",
                       path, (long long)size, s->args->size);
    s->first[file + 1] = s->first[file] + size / s->args->size;
    return HR_STATUS_OK;
}

static hr_status records_create(const void *args, void **state, hr_error *error)
{
    records_state *s = hr_calloc(1, sizeof(*s), error);
    hr_status status = HR_STATUS_OK;

    HR_TRY_ALLOC(s);
    s->args = args;
    s->first = hr_calloc((size_t)s->args->path.n + 1, sizeof(*s->first), error);
    if (!s->first)
        status = HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < s->args->path.n && status == HR_STATUS_OK; i++)
        status = measure(s, i, error);
    if (status != HR_STATUS_OK) {
        records_destroy(s);
        return status;
    }
    *state = s;
    return HR_STATUS_OK;
}

static int64_t records_count(const void *state)
{
    const records_state *s = state;

    return s->first[s->args->path.n];
}

static int64_t records_mean_bytes(const void *state)
{
    return ((const records_state *)state)->args->size;
}

/* The file that contains a record. */
static int32_t file_of(const records_state *s, int64_t index)
{
    int32_t low = 0, high = s->args->path.n - 1;

    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (index < s->first[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const char *records_name(const void *state, int64_t index, char *room, size_t size)
{
    const records_state *s = state;
    int32_t file = file_of(s, index);

    snprintf(room, size, "%s: record %lld", s->args->path.v[file],
             (long long)(index - s->first[file]));
    return room;
}

static hr_status records_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                                hr_error *error)
{
    const records_state *s = state;
    int32_t file = file_of(s, index);

    (void)error;
    spans[0] = (hr_span){.path = s->args->path.v[file],
                         .offset = (index - s->first[file]) * s->args->size,
                         .size = s->args->size,
                         .keep_open = true};
    *count = 1;
    return HR_STATUS_OK;
}

/* The record is returned where it was read, without a copy. */
static hr_status records_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    (void)index;
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, bytes[0].shape, NULL);
    c->out[0].data = bytes[0].data;
    c->out[0].buffer = bytes[0].buffer;
    return HR_STATUS_OK;
}

static const hr_source_def records_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = records_count,
    .mean_bytes = records_mean_bytes,
    .name = records_name,
    .locate = records_locate,
    .emit = records_emit,
};

const hr_op_def hr_op_records = {
    HR_OP("example.records"),
    .doc = "Reads records of one size from files. The output is UINT8 of shape (size,).",
    .devices = "cpu",
    HR_ARGS(records_args,
            HR_ARG(records_args, path, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                   "Paths of the files.", .count_min = 1, .count_max = 1 << 20),
            HR_ARG(records_args, size, INT, HR_ARG_REQUIRED, NULL, "Bytes of a record.", .min = 1,
                   .max = 1 << 30),
            HR_SAMPLER_ARG_DEFS(records_args)),
    .create = records_create,
    .destroy = records_destroy,
    .source = &records_source,
};
