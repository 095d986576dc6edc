/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The rules are those of protocol buffers: the last entry of a name and the last kind of list in a
 * Feature count; lists of the same kind are joined; numbers may be packed or not. */
#include "readers/records/tf_example.h"

#include <string.h>

#include "readers/records/wire.h"

static const char *const kind_names[] = {"nothing", "strings", "FLOAT numbers", "INT64 numbers"};

/* ---- finding features ---- */

static hr_status fail_damaged(const hr_tensor *payload, const hr_wire *w, hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "the payload is not a tf.train.Example: byte %lld of %lld cannot be parsed",
                   (long long)(w->at - (const uint8_t *)payload->data),
                   (long long)payload->shape.extent[0]);
}

/* Name and Feature of a map entry, in any order. */
static bool parse_entry(hr_wire *entry, hr_wire *name, hr_wire *feature)
{
    hr_wire_field field;
    *name = *feature = hr_wire_make(entry->at, 0);
    while (hr_wire_next(entry, &field)) {
        if (field.type == HR_WIRE_BYTES && field.number == 1)
            *name = field.bytes;
        if (field.type == HR_WIRE_BYTES && field.number == 2)
            *feature = field.bytes;
    }
    return !entry->bad;
}

/* `found[k].at` is NULL if feature k is absent. On damage, `*features` says where. */
static bool parse_features(const hr_tf_reading *r, hr_wire *features, hr_wire *found)
{
    hr_wire_field field;
    hr_wire name, feature;
    while (hr_wire_next(features, &field)) {
        if (field.type != HR_WIRE_BYTES || field.number != 1)
            continue;
        if (!parse_entry(&field.bytes, &name, &feature)) {
            *features = field.bytes;
            return false;
        }
        for (int32_t k = 0; k < r->count; k++)
            if (hr_wire_left(&name) == r->features[k].name_size &&
                memcmp(name.at, r->features[k].name, r->features[k].name_size) == 0)
                found[k] = feature;
    }
    return !features->bad;
}

/* ---- lists ---- */

/* The kind of a Feature, and the part of it that begins with the list that counts. */
static hr_tf_kind find_list(hr_wire *feature)
{
    hr_wire_field field;
    hr_wire w = *feature;
    hr_tf_kind kind = HR_TF_KIND_NONE;
    for (const uint8_t *at = w.at; hr_wire_next(&w, &field); at = w.at) {
        if (field.type != HR_WIRE_BYTES || field.number > HR_TF_KIND_INT64 ||
            field.number == (uint32_t)kind)
            continue;
        kind = (hr_tf_kind)field.number;
        feature->at = at;
    }
    if (w.bad)
        *feature = w;
    return kind;
}

/* Counts and, if `to` is given, stores the numbers of all lists of this kind. On damage, `*feature`
 * says where. */
static bool take_numbers(hr_wire *feature, hr_tf_kind kind, void *to, int64_t *count)
{
    hr_wire_field list, field;
    *count = 0;
    while (hr_wire_next(feature, &list)) {
        if (list.type != HR_WIRE_BYTES || list.number != (uint32_t)kind)
            continue;
        while (hr_wire_next(&list.bytes, &field)) {
            if (field.number != 1)
                continue;
            bool good = kind == HR_TF_KIND_INT64 ? hr_wire_ints(&field, to, count)
                                                 : hr_wire_floats(&field, to, count);
            if (!good) {
                *feature = field.bytes;
                return false;
            }
        }
        if (list.bytes.bad) {
            *feature = list.bytes;
            return false;
        }
    }
    return !feature->bad;
}

/* The first string; `out->at` is NULL if there is none. */
static bool first_string(hr_wire *feature, hr_wire *out)
{
    hr_wire_field list, field;
    *out = (hr_wire){0};
    while (!out->at && hr_wire_next(feature, &list)) {
        if (list.type != HR_WIRE_BYTES || list.number != HR_TF_KIND_STRING)
            continue;
        while (!out->at && hr_wire_next(&list.bytes, &field))
            if (field.type == HR_WIRE_BYTES && field.number == 1)
                *out = field.bytes;
        if (list.bytes.bad) {
            *feature = list.bytes;
            return false;
        }
    }
    return !feature->bad;
}

/* ---- outputs ---- */

/* Memory for a tensor of numbers, of which those from `filled` on become the default. */
static hr_status make_numbers(const hr_tf_feature *f, hr_shape shape, int64_t volume,
                              int64_t filled, hr_arena *arena, hr_tensor *out, hr_error *error)
{
    bool ints = f->kind == HR_TF_KIND_INT64;
    size_t size;
    if (!hr_size_mul((size_t)volume, ints ? sizeof(int64_t) : sizeof(float), &size))
        return hr_fail_memory(error, SIZE_MAX);
    hr_tensor_describe(out, ints ? HR_DTYPE_INT64 : HR_DTYPE_FLOAT, shape, NULL);
    out->data = hr_arena_alloc(arena, size, error);
    HR_TRY_ALLOC(out->data);
    for (int64_t i = filled; i < volume; i++) {
        if (ints)
            ((int64_t *)out->data)[i] = f->int_default;
        else
            ((float *)out->data)[i] = f->float_default;
    }
    return HR_STATUS_OK;
}

/* (n, *shape) for n * volume values. */
static hr_shape var_shape(const hr_tf_feature *f, int64_t values)
{
    hr_shape shape = {.ndim = f->shape.ndim + 1, .extent = {values / f->volume}};
    memcpy(shape.extent + 1, f->shape.extent, (size_t)f->shape.ndim * sizeof(shape.extent[0]));
    return shape;
}

static hr_status put_text(const char *text, size_t size, bool scalar, hr_arena *arena,
                          hr_tensor *out, hr_error *error)
{
    hr_shape shape = {.ndim = scalar ? 0 : 1, .extent = {(int64_t)size}};
    hr_tensor_describe(out, HR_DTYPE_UINT8, shape, NULL);
    out->data = hr_arena_alloc(arena, HR_MAX(size, 1), error);
    HR_TRY_ALLOC(out->data);
    memcpy(out->data, text, HR_MAX(size, 1)); /* its end, if it is empty */
    return HR_STATUS_OK;
}

static hr_status put_absent(const hr_tf_feature *f, bool fill, hr_arena *arena, hr_tensor *out,
                            hr_error *error)
{
    if (f->kind == HR_TF_KIND_STRING) {
        size_t size = strlen(f->text_default);
        return put_text(f->text_default, fill ? size : HR_MIN(size, 1), !fill, arena, out, error);
    }
    if (!fill)
        return make_numbers(f, (hr_shape){0}, 1, 0, arena, out, error);
    if (f->var)
        return make_numbers(f, var_shape(f, 0), 0, 0, arena, out, error);
    return make_numbers(f, f->shape, f->volume, 0, arena, out, error);
}

static hr_status put_string(const hr_tf_feature *f, hr_wire *feature, const hr_tensor *payload,
                            hr_arena *arena, hr_tensor *out, hr_error *error)
{
    hr_wire text;
    if (!first_string(feature, &text))
        return fail_damaged(payload, feature, error);
    if (!text.at)
        return put_text(f->text_default, strlen(f->text_default), false, arena, out, error);
    hr_shape shape = {1, {(int64_t)hr_wire_left(&text)}};
    hr_tensor_describe(out, HR_DTYPE_UINT8, shape, NULL);
    out->data = (void *)text.at;
    out->buffer = payload->buffer;
    return HR_STATUS_OK;
}

/* Fails if the list of a feature has values of another kind than was asked for. Without values, a
 * list has no kind that matters. */
static hr_status check_kind(const hr_tf_feature *f, hr_wire *feature, hr_tf_kind kind,
                            const hr_tensor *payload, hr_error *error)
{
    hr_wire text = {0};
    int64_t count = 0;
    bool good = true;
    if (kind == f->kind || kind == HR_TF_KIND_NONE)
        return HR_STATUS_OK;
    if (kind == HR_TF_KIND_STRING)
        good = first_string(feature, &text);
    else
        good = take_numbers(feature, kind, NULL, &count);
    if (!good)
        return fail_damaged(payload, feature, error);
    if (text.at || count > 0)
        return hr_fail(error, HR_STATUS_ERROR, "it contains %s, not %s", kind_names[kind],
                       kind_names[f->kind]);
    return HR_STATUS_OK;
}

static hr_status put_numbers(const hr_tf_feature *f, hr_wire *feature, hr_tf_kind kind,
                             const hr_tensor *payload, hr_arena *arena, hr_tensor *out,
                             hr_error *error)
{
    hr_wire again = *feature;
    int64_t count = 0;
    if (kind == f->kind && !take_numbers(feature, kind, NULL, &count))
        return fail_damaged(payload, feature, error);
    if (f->var && count % f->volume != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "its %lld values are not a multiple of the %lld of partial_shape",
                       (long long)count, (long long)f->volume);
    if (!f->var && count > f->volume)
        return hr_fail(error, HR_STATUS_ERROR, "it has %lld values, but its shape holds only %lld",
                       (long long)count, (long long)f->volume);
    HR_TRY(make_numbers(f, f->var ? var_shape(f, count) : f->shape, f->var ? count : f->volume,
                        count, arena, out, error));
    if (count > 0)
        take_numbers(&again, kind, out->data, &count);
    return HR_STATUS_OK;
}

static hr_status put_feature(const hr_tf_reading *r, int32_t k, hr_wire feature,
                             const hr_tensor *payload, hr_arena *arena, hr_tensor *out,
                             hr_error *error)
{
    const hr_tf_feature *f = &r->features[k];
    if (!feature.at)
        return put_absent(f, r->fill, arena, out, error);
    hr_tf_kind kind = find_list(&feature);
    if (feature.bad)
        return fail_damaged(payload, &feature, error);
    hr_wire again = feature;
    HR_TRY(check_kind(f, &again, kind, payload, error));
    if (f->kind == HR_TF_KIND_STRING)
        return put_string(f, &feature, payload, arena, out, error);
    return put_numbers(f, &feature, kind, payload, arena, out, error);
}

hr_status hr_tf_example(const hr_tf_reading *r, const hr_tensor *payload, hr_arena *arena,
                        hr_tensor *out, hr_error *error)
{
    hr_wire found[HR_OP_MAX_OUTPUTS] = {{0}};
    hr_wire example = hr_wire_make(payload->data, (size_t)payload->shape.extent[0]);
    hr_wire_field field;
    while (hr_wire_next(&example, &field))
        if (field.type == HR_WIRE_BYTES && field.number == 1 &&
            !parse_features(r, &field.bytes, found))
            return fail_damaged(payload, &field.bytes, error);
    if (example.bad)
        return fail_damaged(payload, &example, error);
    for (int32_t k = 0; k < r->count; k++)
        if (put_feature(r, k, found[k], payload, arena, &out[k], error) != HR_STATUS_OK)
            return hr_error_prefix(error, "feature '%s'", r->features[k].name);
    return HR_STATUS_OK;
}
