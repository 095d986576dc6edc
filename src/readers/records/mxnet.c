/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.mxnet: images and labels in RecordIO files. A record is a magic number, a word with its
 * kind and length, and its data, padded to four bytes. Data that contains the magic number is split
 * there into several records, which are put together again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shown.h"
#include "headrace/operator.h"

#define MAGIC 0xced7230au

enum { PART_WHOLE, PART_FIRST, PART_MIDDLE, PART_LAST };

typedef struct mxnet_args {
    hr_sampler_args sampler;
    hr_strings path, index_path;
} mxnet_args;

typedef struct mxnet_state {
    const hr_strings *path; /* of the node's arguments */
    int64_t *file_start;    /* path->n + 1: offsets in the concatenated files */
    int64_t *start;         /* count + 1: offsets of the records */
    int64_t count, capacity;
    int64_t *first; /* of a file: the number of the first record that begins in it; path->n + 1 */
} mxnet_state;

/* The header of an image record, which follows that of RecordIO. */
typedef struct image_header {
    uint32_t label_count; /* 0: `label` is the only one */
    float label;
    uint64_t id[2];
} image_header;

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static hr_status add_offset(mxnet_state *s, int64_t offset, hr_error *error)
{
    if (s->count + 1 >= s->capacity) {
        int64_t capacity = HR_MAX(1024, 2 * s->capacity);
        int64_t *start = hr_realloc(s->start, (size_t)capacity, sizeof(*start), error);
        HR_TRY_ALLOC(start);
        s->start = start;
        s->capacity = capacity;
    }
    s->start[s->count++] = offset;
    return HR_STATUS_OK;
}

static hr_status parse_index(mxnet_state *s, char *text, hr_error *error)
{
    int64_t number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (line[strspn(line, " \t\r")] == 0)
            continue;
        char *end;
        errno = 0;
        strtoll(line, &end, 10); /* the key, which means nothing here */
        char *second = end;
        long long offset = strtoll(second, &end, 10);
        if (second == line || end == second || end[strspn(end, " \t\r")] || errno || offset < 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "line %lld of the index, '%s', is not a key and an offset",
                           (long long)number, line);
        HR_TRY(add_offset(s, offset, error));
    }
    return HR_STATUS_OK;
}

/* Sorts the offsets, drops records of size 0 and adds the end of the last one. */
static hr_status finish_index(mxnet_state *s, int64_t total, hr_error *error)
{
    if (s->count == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the index contains no records");
    qsort(s->start, (size_t)s->count, sizeof(*s->start), by_value);
    if (s->start[s->count - 1] >= total)
        return hr_fail(error, HR_STATUS_ERROR,
                       "a record of the index is at offset %lld, but the files have %lld bytes",
                       (long long)s->start[s->count - 1], (long long)total);
    int64_t kept = 1;
    for (int64_t i = 1; i < s->count; i++)
        if (s->start[i] != s->start[kept - 1])
            s->start[kept++] = s->start[i];
    s->count = kept;
    s->start[kept] = total;
    return HR_STATUS_OK;
}

static hr_status measure_files(mxnet_state *s, hr_error *error)
{
    s->file_start = hr_calloc((size_t)s->path->n + 1, sizeof(*s->file_start), error);
    HR_TRY_ALLOC(s->file_start);
    for (int32_t i = 0; i < s->path->n; i++) {
        hr_object *object;
        hr_status status = hr_object_open(&object, NULL, s->path->v[i], NULL, error);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "path '%s'", s->path->v[i]);
        s->file_start[i + 1] = s->file_start[i] + hr_object_size(object);
        hr_object_close(object);
    }
    return HR_STATUS_OK;
}

static hr_status group_records(mxnet_state *s, hr_error *error)
{
    s->first = hr_calloc((size_t)s->path->n + 1, sizeof(*s->first), error);
    HR_TRY_ALLOC(s->first);
    int64_t record = 0;
    for (int32_t i = 0; i < s->path->n; i++) {
        while (record < s->count && s->start[record] < s->file_start[i + 1])
            record++;
        s->first[i + 1] = record;
    }
    return HR_STATUS_OK;
}

static void mxnet_destroy(void *state)
{
    mxnet_state *s = state;
    hr_free(s->file_start);
    hr_free(s->start);
    hr_free(s->first);
    hr_free(s);
}

static hr_status load_index(mxnet_state *s, const char *path, hr_error *error)
{
    char *text;
    size_t size;
    HR_TRY(hr_object_text(path, &text, &size, error));
    hr_status status = parse_index(s, text, error);
    hr_free(text);
    HR_TRY(status);
    return finish_index(s, s->file_start[s->path->n], error);
}

static hr_status mxnet_create(const void *args, void **state, hr_error *error)
{
    const mxnet_args *a = args;
    mxnet_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->path = &a->path;
    hr_status status = measure_files(s, error);
    if (status == HR_STATUS_OK) {
        status = load_index(s, a->index_path.v[0], error);
        if (status != HR_STATUS_OK)
            hr_error_prefix(error, "index_path '%s'", a->index_path.v[0]);
    }
    if (status == HR_STATUS_OK)
        status = group_records(s, error);
    if (status != HR_STATUS_OK) {
        mxnet_destroy(s);
        return status;
    }
    *state = s;
    return HR_STATUS_OK;
}

static int64_t mxnet_count(const void *state)
{
    return ((const mxnet_state *)state)->count;
}

static int64_t mxnet_mean_bytes(const void *state)
{
    const mxnet_state *s = state;
    return s->file_start[s->path->n] / s->count;
}

static const int64_t *mxnet_files(const void *state, int32_t *count)
{
    const mxnet_state *s = state;
    *count = s->path->n;
    return s->first;
}

/* The file that contains the byte at this offset. */
static int32_t file_at(const mxnet_state *s, int64_t offset)
{
    int32_t low = 0, high = s->path->n - 1;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (offset < s->file_start[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const char *mxnet_name(const void *state, int64_t index, char *room, size_t size)
{
    const mxnet_state *s = state;
    int32_t file = file_at(s, s->start[index]);
    char shown[HR_SHOWN_SIZE];
    snprintf(room, size, "%s at index %lld", hr_shown_name(s->path->v[file], shown, sizeof(shown)),
             (long long)(s->start[index] - s->file_start[file]));
    return room;
}

/* A record may continue in the next files. */
static hr_status mxnet_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                              hr_error *error)
{
    const mxnet_state *s = state;
    int64_t at = s->start[index], end = s->start[index + 1];
    *count = 0;
    for (int32_t file = file_at(s, at); at < end; file++) {
        int64_t stop = HR_MIN(end, s->file_start[file + 1]);
        if (*count == HR_SOURCE_MAX_SPANS)
            return hr_fail(error, HR_STATUS_ERROR, "the record is in more than %d files",
                           HR_SOURCE_MAX_SPANS);
        if (stop > at)
            spans[(*count)++] = (hr_span){.path = s->path->v[file],
                                          .offset = at - s->file_start[file],
                                          .size = stop - at,
                                          .keep_open = true};
        at = HR_MAX(at, stop);
    }
    return HR_STATUS_OK;
}

static uint32_t word_at(const uint8_t *data)
{
    uint32_t word;
    memcpy(&word, data, sizeof(word));
    return word;
}

typedef struct part { /* of a record: the data between two RecordIO headers */
    const uint8_t *data;
    size_t size;
    uint32_t kind;
} part;

/* Reads the header at `at`. Returns where the next one is, or NULL. */
static const uint8_t *next_part(const uint8_t *at, const uint8_t *end, part *out, hr_error *error)
{
    *out = (part){0};
    if (end - at < 8 || word_at(at) != MAGIC) {
        hr_fail(error, HR_STATUS_CORRUPT, "no RecordIO record begins at this offset");
        return NULL;
    }
    uint32_t word = word_at(at + 4);
    size_t size = word & ((1u << 29) - 1), left = (size_t)(end - at) - 8;
    if (size > left) {
        hr_fail(error, HR_STATUS_CORRUPT,
                "the record says that it has %zu bytes, but only %zu are there", size, left);
        return NULL;
    }
    *out = (part){at + 8, size, word >> 29};
    return at + 8 + HR_MIN((size + 3) & ~(size_t)3, left);
}

/* Puts the parts of a split record together, with the magic number between them. */
static hr_status join_parts(const uint8_t *at, const uint8_t *end, uint8_t *joined, part *out,
                            hr_error *error)
{
    part p = {0};
    const uint32_t magic = MAGIC;
    *out = (part){.data = joined};
    for (bool first = true; p.kind != PART_LAST; first = false) {
        if (!(at = next_part(at, end, &p, error)))
            return HR_STATUS_CORRUPT;
        if (first ? p.kind != PART_FIRST : p.kind != PART_MIDDLE && p.kind != PART_LAST)
            return hr_fail(error, HR_STATUS_CORRUPT, "the parts of the record are out of order");
        if (!first) {
            memcpy(joined + out->size, &magic, sizeof(magic));
            out->size += sizeof(magic);
        }
        memcpy(joined + out->size, p.data, p.size);
        out->size += p.size;
    }
    return HR_STATUS_OK;
}

/* The bytes of all spans in one piece. */
static const uint8_t *join_spans(hr_op_call *c, const hr_tensor *bytes, size_t size,
                                 hr_error *error)
{
    if ((size_t)bytes[0].shape.extent[0] == size)
        return bytes[0].data;
    uint8_t *joined = hr_arena_alloc(c->arena, size, error);
    for (size_t at = 0; joined && at < size; bytes++) {
        memcpy(joined + at, bytes->data, (size_t)bytes->shape.extent[0]);
        at += (size_t)bytes->shape.extent[0];
    }
    return joined;
}

/* The record of an item, in the memory of its span or in the arena. */
static hr_status find_record(hr_op_call *c, int64_t index, const hr_tensor *bytes, part *out,
                             hr_error *error)
{
    const mxnet_state *s = c->state;
    size_t size = (size_t)(s->start[index + 1] - s->start[index]);
    const uint8_t *data = join_spans(c, bytes, size, error);
    HR_TRY_ALLOC(data);
    if (!next_part(data, data + size, out, error))
        return HR_STATUS_CORRUPT;
    if (out->kind == PART_WHOLE)
        return HR_STATUS_OK;
    uint8_t *joined = hr_arena_alloc(c->arena, size, error);
    return joined ? join_parts(data, data + size, joined, out, error) : HR_STATUS_NO_MEMORY;
}

static hr_status put_labels(hr_op_call *c, const image_header *header, const uint8_t *labels,
                            hr_error *error)
{
    int64_t n = HR_MAX((int64_t)header->label_count, 1);
    float *to = hr_arena_alloc(c->arena, (size_t)n * sizeof(*to), error);
    HR_TRY_ALLOC(to);
    *to = header->label;
    if (header->label_count > 0)
        memcpy(to, labels, (size_t)n * sizeof(*to));
    hr_tensor_describe(&c->out[1], HR_DTYPE_FLOAT, (hr_shape){1, {n}}, NULL);
    c->out[1].data = to;
    return HR_STATUS_OK;
}

static hr_status mxnet_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    part record;
    image_header header;
    HR_TRY(find_record(c, index, bytes, &record, error));
    if (record.size < sizeof(header))
        return hr_fail(error, HR_STATUS_CORRUPT, "a record of %zu bytes has no image header",
                       record.size);
    memcpy(&header, record.data, sizeof(header));
    size_t labels = (size_t)header.label_count * sizeof(float);
    if (labels > record.size - sizeof(header))
        return hr_fail(error, HR_STATUS_CORRUPT, "a record of %zu bytes cannot have %u labels",
                       record.size, header.label_count);
    HR_TRY(put_labels(c, &header, record.data + sizeof(header), error));
    const uint8_t *image = record.data + sizeof(header) + labels, *span = bytes[0].data;
    int64_t size = record.data + record.size - image;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, (hr_shape){1, {size}}, NULL);
    c->out[0].data = (void *)image;
    if (image >= span && image <= span + bytes[0].shape.extent[0])
        c->out[0].buffer = bytes[0].buffer;
    return HR_STATUS_OK;
}

static const hr_source_def mxnet_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = mxnet_count,
    .mean_bytes = mxnet_mean_bytes,
    .files = mxnet_files,
    .name = mxnet_name,
    .locate = mxnet_locate,
    .emit = mxnet_emit,
};

const hr_op_def hr_op_readers_mxnet = {
    HR_OP("readers.mxnet"),
    .doc = "Reads images with labels from RecordIO files, as MXNet's im2rec makes them. Output 0: "
           "the coded image, UINT8 of shape (size,); output 1: its labels, FLOAT of shape (n,).",
    .aliases = HR_NAMES("mxnet_reader"),
    .devices = "cpu",
    HR_ARGS(mxnet_args,
            HR_ARG(mxnet_args, path, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                   "Paths of the RecordIO files (.rec)."),
            HR_ARG(mxnet_args, index_path, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                   "Path of the index file (.idx) with a line 'key offset' per record. One index "
                   "describes all files of `path`, concatenated.",
                   .count_min = 1, .count_max = 1),
            HR_SAMPLER_ORDER_DEFS(mxnet_args), HR_SAMPLER_FILES_DEFS(mxnet_args),
            HR_READER_ACCEPTED_DEFS),
    .out = HR_OUTPUTS({"images"}, {"labels"}),
    .create = mxnet_create,
    .destroy = mxnet_destroy,
    .source = &mxnet_source,
};
