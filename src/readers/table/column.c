/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/table/column.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LENGTH (INT64_MAX / 16)
#define INLINE_BYTES 12 /* of a view */

static bool valid_at(const struct ArrowArray *array, int64_t i)
{
    const uint8_t *bits = array->n_buffers > 0 ? array->buffers[0] : NULL;
    return !bits || (bits[i / 8] >> (i % 8) & 1);
}

static hr_dtype number_of(char format)
{
    static const struct {
        char format;
        hr_dtype dtype;
    } known[] = {{'c', HR_DTYPE_INT8},   {'C', HR_DTYPE_UINT8},  {'s', HR_DTYPE_INT16},
                 {'S', HR_DTYPE_UINT16}, {'i', HR_DTYPE_INT32},  {'I', HR_DTYPE_UINT32},
                 {'l', HR_DTYPE_INT64},  {'L', HR_DTYPE_UINT64}, {'e', HR_DTYPE_FLOAT16},
                 {'f', HR_DTYPE_FLOAT},  {'g', HR_DTYPE_FLOAT64}};
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (known[i].format == format)
            return known[i].dtype;
    return HR_DTYPE_COUNT;
}

static bool parse_width(const char *text, int64_t *width)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    *width = value;
    return end > text && !*end && value >= 0 && value <= INT32_MAX;
}

/* Kind, type and width of a format of the C data interface. false: another type. */
static bool parse_format(const struct ArrowSchema *schema, hr_table_column *c)
{
    static const struct {
        const char *format;
        hr_column_kind kind;
    } known[] = {{"b", HR_COLUMN_KIND_BOOL},        {"z", HR_COLUMN_KIND_BYTES},
                 {"u", HR_COLUMN_KIND_BYTES},       {"Z", HR_COLUMN_KIND_LARGE_BYTES},
                 {"U", HR_COLUMN_KIND_LARGE_BYTES}, {"vz", HR_COLUMN_KIND_VIEWS},
                 {"vu", HR_COLUMN_KIND_VIEWS},      {"+l", HR_COLUMN_KIND_LIST},
                 {"+L", HR_COLUMN_KIND_LARGE_LIST}};
    const char *format = schema->format;
    if (schema->dictionary)
        return false;
    if (format[0] && !format[1] && number_of(format[0]) != HR_DTYPE_COUNT) {
        c->kind = HR_COLUMN_KIND_NUMBER;
        c->dtype = number_of(format[0]);
        return true;
    }
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (strcmp(format, known[i].format) == 0) {
            c->kind = known[i].kind;
            return true;
        }
    c->kind = format[0] == '+' ? HR_COLUMN_KIND_FIXED_LIST : HR_COLUMN_KIND_FIXED_BYTES;
    if (strncmp(format, "w:", 2) == 0)
        return parse_width(format + 2, &c->width);
    if (strncmp(format, "+w:", 3) == 0)
        return parse_width(format + 3, &c->width);
    c->kind = HR_COLUMN_KIND_FILE;
    return strcmp(format, "+s") == 0 && schema->n_children == 2;
}

static bool is_bytes(hr_column_kind kind)
{
    return kind == HR_COLUMN_KIND_BYTES || kind == HR_COLUMN_KIND_LARGE_BYTES ||
           kind == HR_COLUMN_KIND_VIEWS;
}

static bool is_list(hr_column_kind kind)
{
    return kind == HR_COLUMN_KIND_LIST || kind == HR_COLUMN_KIND_LARGE_LIST ||
           kind == HR_COLUMN_KIND_FIXED_LIST;
}

/* The numbers of buffers and children that an array of a kind has. */
static void parts_of(hr_column_kind kind, int64_t *buffers, int64_t *children)
{
    bool fixed = kind == HR_COLUMN_KIND_FIXED_LIST || kind == HR_COLUMN_KIND_FILE;
    *buffers = is_bytes(kind) ? 3 : fixed ? 1 : 2;
    *children = is_list(kind) ? 1 : kind == HR_COLUMN_KIND_FILE ? 2 : 0;
}

/* Views refer to any number of buffers, whose sizes are in the last one. */
static bool has_buffers(hr_column_kind kind, int64_t found, int64_t expected)
{
    return kind == HR_COLUMN_KIND_VIEWS ? found >= expected : found == expected;
}

/* A child: the elements of lists, or a field of a FILE. */
static hr_status init_child(hr_table_column *child, const struct ArrowSchema *schema,
                            const struct ArrowArray *array, int64_t number, int64_t base,
                            hr_error *error)
{
    return hr_table_column_init(child, schema->children[number], array->children[number], base,
                                error);
}

hr_status hr_table_column_init(hr_table_column *c, const struct ArrowSchema *schema,
                               const struct ArrowArray *array, int64_t base, hr_error *error)
{
    hr_table_column child, path;
    int64_t buffers, children;
    *c = (hr_table_column){.array = array, .offset = array->offset + base};
    if (!parse_format(schema, c))
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the Arrow type '%s' cannot be read",
                       schema->dictionary ? "dictionary" : schema->format);
    parts_of(c->kind, &buffers, &children);
    if (array->length < 0 || array->offset < 0 || array->length > MAX_LENGTH ||
        c->offset > MAX_LENGTH || !has_buffers(c->kind, array->n_buffers, buffers) ||
        array->n_children != children || schema->n_children != children)
        return hr_fail(error, HR_STATUS_CORRUPT, "the Arrow array does not fit its type '%s'",
                       schema->format);
    if (c->kind == HR_COLUMN_KIND_BOOL)
        c->dtype = HR_DTYPE_BOOL;
    if (is_list(c->kind)) {
        HR_TRY(init_child(&child, schema, array, 0, 0, error));
        c->dtype = child.dtype;
        if (child.kind != HR_COLUMN_KIND_NUMBER && child.kind != HR_COLUMN_KIND_BOOL)
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "lists of '%s' cannot be read",
                           schema->children[0]->format);
    }
    if (c->kind == HR_COLUMN_KIND_FILE) {
        HR_TRY(init_child(&child, schema, array, 0, c->offset, error));
        HR_TRY(init_child(&path, schema, array, 1, c->offset, error));
        if (!is_bytes(child.kind) || !is_bytes(path.kind))
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "a struct of '%s' and '%s' is not one of bytes and a path",
                           schema->children[0]->format, schema->children[1]->format);
        c->fields[0] = child.kind;
        c->fields[1] = path.kind;
    }
    return HR_STATUS_OK;
}

/* Entries i and i + 1 of offsets, which must ascend. */
static hr_status range_at(const hr_table_column *c, int64_t i, int64_t *begin, int64_t *end,
                          hr_error *error)
{
    const void *offsets = c->array->n_buffers > 1 ? c->array->buffers[1] : NULL;
    bool wide = c->kind == HR_COLUMN_KIND_LARGE_BYTES || c->kind == HR_COLUMN_KIND_LARGE_LIST;
    if (c->kind == HR_COLUMN_KIND_FIXED_LIST || c->kind == HR_COLUMN_KIND_FIXED_BYTES) {
        *begin = i * c->width;
        *end = *begin + c->width;
        return HR_STATUS_OK;
    }
    if (!offsets)
        return hr_fail(error, HR_STATUS_CORRUPT, "the Arrow array has no offsets");
    if (wide) {
        *begin = ((const int64_t *)offsets)[i];
        *end = ((const int64_t *)offsets)[i + 1];
    } else {
        *begin = ((const int32_t *)offsets)[i];
        *end = ((const int32_t *)offsets)[i + 1];
    }
    if (*begin < 0 || *end < *begin || *end > MAX_LENGTH)
        return hr_fail(error, HR_STATUS_CORRUPT, "the Arrow array has offsets that do not ascend");
    return HR_STATUS_OK;
}

/* Copies elements `first` .. `first` + n - 1 of the buffers of numbers or bits. */
static hr_status copy_numbers(const hr_table_column *c, int64_t first, int64_t n, hr_arena *arena,
                              hr_tensor *out, hr_error *error)
{
    bool bits = c->kind == HR_COLUMN_KIND_BOOL;
    size_t size = bits ? 1 : hr_dtype_size(c->dtype), bytes;
    const uint8_t *from = c->array->buffers[1];
    for (int64_t i = 0; i < n; i++)
        if (!valid_at(c->array, first + i))
            return hr_fail(error, HR_STATUS_ERROR, "element %lld of the list is null",
                           (long long)i);
    if (!hr_size_mul((size_t)n, size, &bytes))
        return hr_fail_memory(error, SIZE_MAX);
    uint8_t *to = hr_arena_alloc(arena, bytes, error);
    HR_TRY_ALLOC(to);
    if (!bits && bytes > 0)
        memcpy(to, from + (size_t)first * size, bytes);
    for (int64_t i = 0; bits && i < n; i++)
        to[i] = from[(first + i) / 8] >> ((first + i) % 8) & 1;
    out->data = to;
    return HR_STATUS_OK;
}

static hr_status list_value(const hr_table_column *c, int64_t i, hr_arena *arena, hr_tensor *out,
                            hr_error *error)
{
    const struct ArrowArray *elements = c->array->children[0];
    int64_t begin = 0, end = 0;
    HR_TRY(range_at(c, i, &begin, &end, error));
    if (end > elements->length)
        return hr_fail(error, HR_STATUS_CORRUPT, "the list has elements %lld to %lld of %lld",
                       (long long)begin, (long long)end, (long long)elements->length);
    hr_table_column child = {.kind = c->dtype == HR_DTYPE_BOOL ? HR_COLUMN_KIND_BOOL
                                                               : HR_COLUMN_KIND_NUMBER,
                             .dtype = c->dtype,
                             .array = elements};
    hr_tensor_describe(out, c->dtype, (hr_shape){1, {end - begin}}, NULL);
    return copy_numbers(&child, elements->offset + begin, end - begin, arena, out, error);
}

/* Bytes are in the view, if there are few, or in one of the buffers behind the views. */
static hr_status view_value(const struct ArrowArray *array, int64_t i, hr_tensor *out,
                            hr_error *error)
{
    struct {
        int32_t size;
        uint8_t start[4];
        int32_t buffer, offset;
    } view;
    const uint8_t *at = (const uint8_t *)array->buffers[1] + i * (int64_t)sizeof(view);
    const int64_t buffers = array->n_buffers - 3;
    const int64_t *sizes = array->buffers[array->n_buffers - 1];
    memcpy(&view, at, sizeof(view));
    const uint8_t *data = at + sizeof(view.size);
    if (view.size > INLINE_BYTES) {
        if (view.buffer < 0 || view.buffer >= buffers || view.offset < 0 ||
            view.offset > sizes[view.buffer] - view.size)
            return hr_fail(error, HR_STATUS_CORRUPT, "a view is beyond its buffer");
        data = (const uint8_t *)array->buffers[2 + view.buffer] + view.offset;
    }
    if (view.size < 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "a view has a negative size");
    hr_tensor_describe(out, HR_DTYPE_UINT8, (hr_shape){1, {view.size}}, NULL);
    out->data = (void *)(uintptr_t)data;
    return HR_STATUS_OK;
}

static hr_status bytes_value(const hr_table_column *c, int64_t i, hr_tensor *out, hr_error *error)
{
    int64_t begin = 0, end = 0;
    int32_t buffer = c->kind == HR_COLUMN_KIND_FIXED_BYTES ? 1 : 2;
    if (c->kind == HR_COLUMN_KIND_VIEWS)
        return view_value(c->array, i, out, error);
    HR_TRY(range_at(c, i, &begin, &end, error));
    const char *data = c->array->buffers[buffer] ? c->array->buffers[buffer] : "";
    hr_tensor_describe(out, HR_DTYPE_UINT8, (hr_shape){1, {end - begin}}, NULL);
    out->data = (void *)(uintptr_t)(data + (end > begin ? begin : 0));
    return HR_STATUS_OK;
}

/* Field 0 (bytes) or 1 (path) of a FILE. */
static hr_table_column field_of(const hr_table_column *c, int32_t number)
{
    const struct ArrowArray *array = c->array->children[number];
    return (hr_table_column){
        .kind = c->fields[number], .array = array, .offset = array->offset + c->offset};
}

bool hr_table_column_path(const hr_table_column *c, int64_t row, hr_tensor *out)
{
    if (c->kind != HR_COLUMN_KIND_FILE || !valid_at(c->array, c->offset + row))
        return false;
    hr_table_column bytes = field_of(c, 0), path = field_of(c, 1);
    return !valid_at(bytes.array, bytes.offset + row) && valid_at(path.array, path.offset + row) &&
           bytes_value(&path, path.offset + row, out, NULL) == HR_STATUS_OK;
}

hr_status hr_table_column_value(const hr_table_column *c, int64_t row, hr_arena *arena,
                                hr_tensor *out, bool *borrowed, hr_error *error)
{
    int64_t i = c->offset + row;
    *borrowed = false;
    if (!valid_at(c->array, i))
        return hr_fail(error, HR_STATUS_ERROR, "the value is null");
    switch (c->kind) {
    case HR_COLUMN_KIND_NUMBER:
    case HR_COLUMN_KIND_BOOL:
        hr_tensor_describe(out, c->dtype, (hr_shape){0}, NULL);
        return copy_numbers(c, i, 1, arena, out, error);
    case HR_COLUMN_KIND_LIST:
    case HR_COLUMN_KIND_LARGE_LIST:
    case HR_COLUMN_KIND_FIXED_LIST:
        return list_value(c, i, arena, out, error);
    case HR_COLUMN_KIND_FILE:
        break;
    default:
        *borrowed = true;
        return bytes_value(c, i, out, error);
    }
    hr_table_column bytes = field_of(c, 0);
    return hr_table_column_value(&bytes, row, arena, out, borrowed, error);
}
