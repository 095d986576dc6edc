/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.tfrecord: a record is a length of 8 bytes, its checksum of 4, the payload, and the
 * checksum of the payload; the payload is a tf.train.Example (tf_example.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headrace/operator.h"
#include "kernels/kernels.h"
#include "readers/records/records.h"
#include "readers/scan.h"
#include "readers/records/tf_example.h"

enum { HEAD = 12, FRAME = 16 }; /* bytes before the payload; before and behind it */

typedef struct tfrecord_args {
    hr_sampler_args sampler;
    hr_strings path, index_path;
    const hr_json *features;
    int32_t check_crc, fill_missing, dont_use_mmap;
} tfrecord_args;

typedef struct tfrecord_state {
    hr_record_table table; /* the first member */
    hr_tf_feature *features;
    hr_tf_reading reading;
    bool check_crc;
} tfrecord_state;

/* ---- features ---- */

static hr_tf_kind kind_of(const char *name)
{
    return name[0] == 's'   ? HR_TF_KIND_STRING
           : name[0] == 'f' ? HR_TF_KIND_FLOAT
                            : HR_TF_KIND_INT64;
}

static hr_status parse_shape(const hr_json *shape, hr_tf_feature *f, hr_error *error)
{
    int32_t most = HR_MAX_NDIM - f->var;
    if (shape->count > most)
        return hr_fail(error, HR_STATUS_ERROR,
                       "its shape has %d dimensions; at most %d are "
                       "possible",
                       shape->count, most);
    f->shape.ndim = shape->count;
    f->volume = 1;
    for (int32_t i = 0; i < shape->count; i++) {
        int64_t extent = shape->items[i].i;
        if (extent < f->var || extent > INT32_MAX || f->volume > INT32_MAX)
            return hr_fail(error, HR_STATUS_ERROR, "%s cannot have the extent %lld",
                           f->var ? "partial_shape" : "its shape", (long long)extent);
        f->shape.extent[i] = extent;
        f->volume *= extent;
    }
    if (f->kind == HR_TF_KIND_STRING && (f->var || f->volume != 1))
        return hr_fail(error, HR_STATUS_ERROR,
                       "tensors of strings are not supported: use FixedLenFeature with the shape "
                       "(), which reads one string");
    return HR_STATUS_OK;
}

static hr_status parse_default(const hr_json *value, hr_tf_feature *f, hr_error *error)
{
    bool text = f->kind == HR_TF_KIND_STRING;
    if (text != (value->kind == HR_JSON_KIND_STRING) ||
        (f->kind == HR_TF_KIND_INT64 && !value->is_integer))
        return hr_fail(error, HR_STATUS_ERROR, "its default must be %s",
                       text                          ? "a string"
                       : f->kind == HR_TF_KIND_INT64 ? "an integer"
                                                     : "a number");
    f->text_default = text ? value->s : "";
    f->int_default = value->i;
    f->float_default = (float)value->f;
    return HR_STATUS_OK;
}

static hr_status parse_feature(const hr_json *features, int32_t i, hr_tf_feature *f,
                               hr_error *error)
{
    const hr_json *items = features->items[i].items; /* as `form` says */
    *f = (hr_tf_feature){.name = features->keys[i],
                         .name_size = strlen(features->keys[i]),
                         .kind = kind_of(items[2].s),
                         .var = strcmp(items[0].s, "var") == 0};
    hr_status status = parse_shape(&items[1], f, error);
    if (status == HR_STATUS_OK)
        status = parse_default(&items[3], f, error);
    return status == HR_STATUS_OK ? status : hr_error_prefix(error, "feature '%s'", f->name);
}

static hr_status tfrecord_check(const void *args, const hr_given *given, hr_error *error)
{
    const tfrecord_args *a = args;
    hr_tf_feature feature;
    (void)given;
    if (a->features->count == 0)
        return hr_fail(error, HR_STATUS_ERROR, "features is empty: name at least one");
    for (int32_t i = 0; i < a->features->count; i++)
        HR_TRY(parse_feature(a->features, i, &feature, error));
    if (a->path.n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "path is empty: name at least one file");
    if (a->index_path.v && a->index_path.n != a->path.n)
        return hr_fail(error, HR_STATUS_ERROR, "there are %d index files for %d files",
                       a->index_path.n, a->path.n);
    if (a->sampler.use_o_direct && !a->dont_use_mmap)
        return hr_fail(error, HR_STATUS_ERROR, "use_o_direct needs dont_use_mmap=True");
    return HR_STATUS_OK;
}

/* ---- finding records ---- */

/* Checksums are stored rotated and with a constant added, because data may contain checksums. */
static bool crc_matches(const hr_kernels *kernels, const uint8_t *data, size_t size)
{
    uint32_t stored, crc = kernels->crc32c(data, size);
    memcpy(&stored, data + size, sizeof(stored));
    return stored == (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static hr_status fail_length(hr_scan_window *window, int64_t offset, hr_error *error)
{
    const char *format = offset == 0 ? hr_scan_compression(window) : NULL;
    if (format)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "it is compressed (%s), so that its records cannot be found by their "
                       "offsets: decompress the file, or write it without compression",
                       format);
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "at offset %lld the checksum of the record's length is wrong: the file is "
                   "damaged, compressed, or not a TFRecord file",
                   (long long)offset);
}

/* The record at an offset of a file that ends at `end`. */
static hr_status scan_record(hr_scan_window *window, hr_record *record, int64_t end,
                             hr_error *error)
{
    uint64_t size;
    int64_t left = end - record->offset - FRAME;
    if (left < 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "the record at offset %lld is cut off",
                       (long long)record->offset);
    const uint8_t *head = hr_scan_bytes(window, record->offset, HEAD, error);
    if (!head)
        return HR_STATUS_IO;
    memcpy(&size, head, sizeof(size));
    if (!crc_matches(hr_kernels_get(HR_CPU_LEVEL_BASE), head, sizeof(size)))
        return fail_length(window, record->offset, error);
    if (size > (uint64_t)left)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the record at offset %lld has a length of %llu bytes, but the file has "
                       "only %lld more: it was cut off",
                       (long long)record->offset, (unsigned long long)size, (long long)left);
    record->size = (int64_t)size + FRAME;
    return HR_STATUS_OK;
}

static hr_status scan_records(hr_object *object, hr_scan *out, hr_error *error)
{
    hr_scan_window window = {.object = object};
    hr_status status = HR_STATUS_OK;
    hr_record record = {0};
    for (int64_t end = hr_object_size(object); status == HR_STATUS_OK && record.offset < end;
         record.offset += record.size) {
        status = scan_record(&window, &record, end, error);
        if (status == HR_STATUS_OK)
            status = hr_scan_add(out, &record, sizeof(record), error);
    }
    hr_scan_window_fini(&window);
    return status;
}

static bool scan_valid(const hr_scan *scan, int64_t size)
{
    const hr_record *records = (const hr_record *)(const void *)scan->data;
    int64_t at = 0;
    for (size_t i = 0; i < scan->size / sizeof(*records); i++) {
        if (records[i].offset != at || records[i].size < FRAME || records[i].size > size - at)
            return false;
        at += records[i].size;
    }
    return scan->size % sizeof(*records) == 0 && at == size;
}

static const hr_scanner scanner = {"tfrecord 2", scan_records, scan_valid};

static hr_status find_by_scan(tfrecord_state *s, const hr_strings *paths, hr_error *error)
{
    hr_scan *scans;
    HR_TRY(hr_scan_files(paths, &scanner, &scans, error));
    hr_status status = HR_STATUS_OK;
    for (int32_t i = 0; status == HR_STATUS_OK && i < paths->n; i++) {
        status = hr_records_add(&s->table, (const hr_record *)(const void *)scans[i].data,
                                (int64_t)(scans[i].size / sizeof(hr_record)), error);
        hr_records_end_file(&s->table, i);
    }
    hr_scan_free(scans, paths->n);
    return status;
}

static hr_status parse_index(tfrecord_state *s, char *text, int64_t file_size, hr_error *error)
{
    int64_t number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (line[strspn(line, " \t\r")] == 0)
            continue;
        char *end, *second;
        errno = 0;
        long long offset = strtoll(line, &second, 10), size = strtoll(second, &end, 10);
        if (second == line || end == second || errno || offset < 0 || size < 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "line %lld of the index, '%s', is not an offset and a size",
                           (long long)number, line);
        if (offset >= file_size)
            return hr_fail(error, HR_STATUS_ERROR,
                           "line %lld has the offset %lld, but the file has %lld bytes",
                           (long long)number, offset, (long long)file_size);
        HR_TRY(hr_records_add(&s->table, &(hr_record){offset, size}, 1, error));
    }
    return HR_STATUS_OK;
}

static hr_status load_index(tfrecord_state *s, const char *path, const char *index, hr_error *error)
{
    hr_object *object;
    char *text;
    size_t size;
    if (hr_object_open(&object, NULL, path, NULL, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "path '%s'", path);
    int64_t file_size = hr_object_size(object);
    hr_object_close(object);
    hr_status status = hr_object_text(index, &text, &size, error);
    if (status == HR_STATUS_OK) {
        status = parse_index(s, text, file_size, error);
        hr_free(text);
    }
    return status == HR_STATUS_OK ? status : hr_error_prefix(error, "index_path '%s'", index);
}

static hr_status find_records(tfrecord_state *s, const tfrecord_args *a, hr_error *error)
{
    HR_TRY(hr_records_init(&s->table, a->path.v, a->path.n, error));
    if (!a->index_path.v)
        HR_TRY(find_by_scan(s, &a->path, error));
    for (int32_t i = 0; a->index_path.v && i < a->path.n; i++) {
        HR_TRY(load_index(s, a->path.v[i], a->index_path.v[i], error));
        hr_records_end_file(&s->table, i);
    }
    if (s->table.count == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the %s no records",
                       a->index_path.v ? "index files contain" : "files contain");
    return HR_STATUS_OK;
}

/* ---- the reader ---- */

static void tfrecord_destroy(void *state)
{
    tfrecord_state *s = state;
    hr_records_fini(&s->table);
    hr_free(s->features);
    hr_free(s);
}

static hr_status tfrecord_create(const void *args, void **state, hr_error *error)
{
    const tfrecord_args *a = args;
    tfrecord_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    int32_t count = a->features->count;
    s->features = hr_calloc((size_t)count, sizeof(*s->features), error);
    hr_status status = s->features ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; status == HR_STATUS_OK && i < count; i++)
        status = parse_feature(a->features, i, &s->features[i], error);
    if (status == HR_STATUS_OK)
        status = find_records(s, a, error);
    if (status != HR_STATUS_OK) {
        tfrecord_destroy(s);
        return status;
    }
    s->reading = (hr_tf_reading){s->features, count, a->fill_missing};
    s->check_crc = a->check_crc;
    *state = s;
    return HR_STATUS_OK;
}

static const char *tfrecord_name(const void *state, int64_t index, char *room, size_t size)
{
    const tfrecord_state *s = state;
    hr_span span = hr_records_span(&s->table, index);
    char shown[HR_SHOWN_SIZE];
    snprintf(room, size, "%s at index %lld", hr_shown_name(span.path, shown, sizeof(shown)),
             (long long)span.offset);
    return room;
}

static hr_status tfrecord_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes,
                               hr_error *error)
{
    const tfrecord_state *s = c->state;
    const uint8_t *data = bytes->data;
    int64_t left = bytes->shape.extent[0] - FRAME;
    uint64_t size = 0;
    (void)index;
    if (left < 0)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the index gives the record %lld bytes, but a record has at least %d",
                       (long long)left + FRAME, FRAME);
    memcpy(&size, data, sizeof(size));
    if (!crc_matches(c->kernels, data, sizeof(size)))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the checksum of the record's length is wrong: the file is damaged, or no "
                       "record begins at this offset");
    if (size != (uint64_t)left)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the payload has %llu bytes, but by the index it has %lld",
                       (unsigned long long)size, (long long)left);
    if (s->check_crc && !crc_matches(c->kernels, data + HEAD, (size_t)size))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the checksum of the payload, %llu bytes, is "
                       "wrong",
                       (unsigned long long)size);
    hr_tensor payload = *bytes;
    payload.data = (void *)(data + HEAD);
    payload.shape.extent[0] = (int64_t)size;
    return hr_tf_example(&s->reading, &payload, c->arena, c->out, error);
}

static const hr_source_def tfrecord_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = hr_records_count,
    .mean_bytes = hr_records_mean_bytes,
    .files = hr_records_files,
    .name = tfrecord_name,
    .locate = hr_records_locate,
    .emit = tfrecord_emit,
};

const hr_op_def hr_op_readers_tfrecord = {
    HR_OP("readers.tfrecord"),
    .doc =
        "Reads features of tf.train.Example records from TFRecord files. Returns a dictionary with "
        "one output per feature: strings as UINT8 of shape (size,), numbers as INT64 or FLOAT.",
    .aliases = HR_NAMES("tfrecord_reader"),
    .devices = "cpu",
    HR_ARGS(tfrecord_args,
            HR_ARG(tfrecord_args, path, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                   "Paths of the TFRecord files."),
            HR_ARG(tfrecord_args, index_path, STRINGS, HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK, NULL,
                   "Paths of the index files, one per file of `path`, with a line 'offset size' "
                   "per record. `tfrecord2idx` writes them. Without them the lengths of all "
                   "records are read when the pipeline is built."),
            HR_ARG(tfrecord_args, features, JSON, HR_ARG_REQUIRED, NULL,
                   "The names of the features to read, each with a `tfrecord.FixedLenFeature` or a "
                   "`tfrecord.VarLenFeature`: kind, shape, type, default.",
                   .form = "{str: ('fixed' | 'var', [int], 'string' | 'float32' | 'int64', int | "
                           "float | str)}"),
            HR_ARG(tfrecord_args, check_crc, BOOL, 0, "True",
                   "Verify the checksum of the payload of every record that is read. The checksum "
                   "of its length is always verified."),
            HR_ARG(tfrecord_args, fill_missing, BOOL, 0, "False",
                   "Give a feature that a record lacks the number of dimensions that it has in "
                   "others: the shape of FixedLenFeature, filled with the default; no values for "
                   "VarLenFeature; the default text for strings. By default it is one number "
                   "without dimensions, as in DALI, which cannot be in a batch with other shapes."),
            HR_ARG(tfrecord_args, dont_use_mmap, BOOL, 0, "False",
                   "Accepted: files are read, never mapped."),
            HR_SAMPLER_ORDER_DEFS(tfrecord_args), HR_SAMPLER_FILES_DEFS(tfrecord_args),
            HR_READER_ALWAYS_DEFS),
    .out_keys = "features",
    .check = tfrecord_check,
    .create = tfrecord_create,
    .destroy = tfrecord_destroy,
    .source = &tfrecord_source,
};
