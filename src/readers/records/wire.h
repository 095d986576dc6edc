/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reads messages in the wire format of protocol buffers, field by field. The bytes may be hostile:
 * nothing is read outside of them, and groups may be nested 64 deep. */
#pragma once

#include "core/core.h"

typedef enum hr_wire_type {
    HR_WIRE_VARINT = 0,
    HR_WIRE_64 = 1,
    HR_WIRE_BYTES = 2, /* strings, messages, packed numbers */
    HR_WIRE_GROUP = 3, /* skipped: no message here has groups */
    HR_WIRE_END = 4,
    HR_WIRE_32 = 5
} hr_wire_type;

/* The bytes of a message that are left. */
typedef struct hr_wire {
    const uint8_t *at, *end;
    bool bad; /* they are damaged: `at` is where, and there are no more fields */
} hr_wire;

typedef struct hr_wire_field {
    uint32_t number;
    hr_wire_type type;
    uint64_t value; /* VARINT, 64, 32 */
    hr_wire bytes;  /* BYTES: the contents; 64 and 32: the number's bytes */
} hr_wire_field;

static inline hr_wire hr_wire_make(const void *data, size_t size)
{
    return (hr_wire){.at = data, .end = (const uint8_t *)data + size};
}

static inline size_t hr_wire_left(const hr_wire *w)
{
    return (size_t)(w->end - w->at);
}

/* A varint. false: there are no more bytes, or they are damaged (`bad`). */
bool hr_wire_varint(hr_wire *w, uint64_t *out);
/* The next field that is not a group. false: the end, or damage. */
bool hr_wire_next(hr_wire *w, hr_wire_field *out);

/* Counts the numbers of a repeated field, packed or not, and, if `to` is given, stores them at
 * to[*count]. Other types of fields have none. false: damage. */
bool hr_wire_ints(hr_wire_field *field, int64_t *to, int64_t *count);
bool hr_wire_floats(hr_wire_field *field, float *to, int64_t *count);
