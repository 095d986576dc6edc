/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/records/wire.h"

#include <string.h>

#define MAX_DEPTH 64
#define MAX_TAG UINT32_MAX

static bool fail(hr_wire *w, const uint8_t *at)
{
    w->at = at;
    w->bad = true;
    return false;
}

bool hr_wire_varint(hr_wire *w, uint64_t *out)
{
    const uint8_t *start = w->at;
    uint64_t value = 0;
    if (w->bad || w->at == w->end)
        return false;
    for (int32_t shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        uint64_t byte = *w->at++;
        value |= (byte & 127) << shift;
        if (byte < 128) {
            *out = value;
            return true;
        }
    }
    return fail(w, start);
}

static bool take(hr_wire *w, size_t size, hr_wire_field *out)
{
    if (size > hr_wire_left(w))
        return fail(w, w->at);
    out->bytes = hr_wire_make(w->at, size);
    w->at += size;
    if (size <= sizeof(out->value))
        memcpy(&out->value, out->bytes.at, size); /* little endian, as on every host so far */
    return true;
}

/* One field; for groups, only their beginning or end. */
static bool next(hr_wire *w, hr_wire_field *out)
{
    const uint8_t *start = w->at;
    uint64_t tag, size;
    if (!hr_wire_varint(w, &tag))
        return false;
    *out = (hr_wire_field){.number = (uint32_t)(tag >> 3), .type = (hr_wire_type)(tag & 7)};
    if (tag > MAX_TAG || out->number == 0)
        return fail(w, start);
    switch (out->type) {
    case HR_WIRE_VARINT:
        return hr_wire_varint(w, &out->value) || fail(w, start);
    case HR_WIRE_64:
        return take(w, 8, out);
    case HR_WIRE_32:
        return take(w, 4, out);
    case HR_WIRE_BYTES:
        if (!hr_wire_varint(w, &size) || size > hr_wire_left(w))
            return fail(w, start);
        return take(w, (size_t)size, out);
    case HR_WIRE_GROUP:
    case HR_WIRE_END:
        return true;
    }
    return fail(w, start);
}

/* Skips a group whose beginning was read. */
static bool skip_group(hr_wire *w, uint32_t number)
{
    const uint8_t *start = w->at;
    uint32_t open[MAX_DEPTH] = {number};
    hr_wire_field field;
    for (int32_t depth = 1; depth > 0;) {
        if (!next(w, &field))
            return fail(w, start);
        if (field.type == HR_WIRE_GROUP) {
            if (depth == MAX_DEPTH)
                return fail(w, start);
            open[depth++] = field.number;
        } else if (field.type == HR_WIRE_END && open[--depth] != field.number) {
            return fail(w, start);
        }
    }
    return true;
}

bool hr_wire_next(hr_wire *w, hr_wire_field *out)
{
    const uint8_t *start = w->at;
    while (next(w, out)) {
        if (out->type == HR_WIRE_END)
            return fail(w, start);
        if (out->type != HR_WIRE_GROUP)
            return true;
        if (!skip_group(w, out->number))
            return false;
        start = w->at;
    }
    return false;
}

bool hr_wire_ints(hr_wire_field *field, int64_t *to, int64_t *count)
{
    uint64_t value = field->value;
    if (field->type == HR_WIRE_VARINT) {
        if (to)
            to[*count] = (int64_t)value;
        ++*count;
    } else if (field->type == HR_WIRE_BYTES) {
        for (; hr_wire_varint(&field->bytes, &value); ++*count)
            if (to)
                to[*count] = (int64_t)value;
    }
    return !field->bytes.bad;
}

bool hr_wire_floats(hr_wire_field *field, float *to, int64_t *count)
{
    if (field->type != HR_WIRE_32 && field->type != HR_WIRE_BYTES)
        return true;
    size_t size = hr_wire_left(&field->bytes);
    if (size % sizeof(*to) != 0)
        return false;
    if (to && size > 0)
        memcpy(to + *count, field->bytes.at, size);
    *count += (int64_t)(size / sizeof(*to));
    return true;
}
