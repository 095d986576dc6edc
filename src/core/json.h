/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Text that grows, and the little JSON the library writes and reads (graphs, checkpoints,
 * statistics). */
#ifndef HR_CORE_JSON_H
#define HR_CORE_JSON_H

#include "core/error.h"

/* A growing text; after a failed allocation `failed` is set and further appends do nothing. */
typedef struct hr_text {
    char *data;
    size_t size, capacity;
    bool failed;
} hr_text;

void hr_text_append(hr_text *text, const char *fmt, ...) HR_PRINTF(2, 3);
void hr_text_append_bytes(hr_text *text, const char *bytes, size_t size);
/* A JSON string; a byte that is no UTF-8 becomes \udcXX, as Python's surrogateescape has it. */
void hr_text_append_quoted(hr_text *text, const char *string);
/* The shortest that reads back equal, with a point in every locale; nan and inf as null. */
void hr_text_append_double(hr_text *text, double v);
double hr_text_number(const char *number); /* strtod of the C locale */
/* Hands over the zero-terminated text (hr_string_free), or fails; `size` may be NULL. `text` is
 * empty afterwards. */
hr_status hr_text_take(hr_text *text, char **out, size_t *size, hr_error *error);
void hr_text_fini(hr_text *text);

typedef enum hr_json_kind {
    HR_JSON_KIND_NULL,
    HR_JSON_KIND_BOOL,
    HR_JSON_KIND_NUMBER,
    HR_JSON_KIND_STRING,
    HR_JSON_KIND_LIST,
    HR_JSON_KIND_OBJECT
} hr_json_kind;

typedef struct hr_json hr_json;
struct hr_json {
    hr_json_kind kind;
    bool is_integer; /* NUMBER without fraction or exponent that fits int64 */
    int64_t i;       /* BOOL, integer */
    double f;        /* NUMBER */
    const char *s;   /* STRING, zero-terminated, decoded (\udcXX back to bytes) */
    int32_t count;   /* members of LIST and OBJECT */
    hr_json *items;
    const char **keys; /* OBJECT */
};

/* Parses all of `text` (hostile: depth <= 32, memory bounded by 65 x size; strings are UTF-8
 * without zero bytes). HR_STATUS_CORRUPT says at which byte. Free with hr_json_destroy. */
hr_status hr_json_parse(hr_json **out, const char *text, size_t size, hr_error *error);
void hr_json_destroy(hr_json *json);
const hr_json *hr_json_get(const hr_json *object,
                           const char *key); /* NULL when absent or not an object */

#endif
