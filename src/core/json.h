/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Growing text, and the small JSON reader and writer for graphs, checkpoints and statistics. */
#pragma once

#include "core/error.h"

/* Growing text. A failed allocation sets `failed`; later appends then do nothing. */
typedef struct hr_text {
    char *data;
    size_t size, capacity;
    bool failed;
} hr_text;

void hr_text_append(hr_text *text, const char *fmt, ...) HR_PRINTF(2, 3);
void hr_text_append_bytes(hr_text *text, const char *bytes, size_t size);
/* Appends a JSON string; a byte that is not UTF-8 becomes \udcXX, as in Python's surrogateescape.
 */
void hr_text_append_quoted(hr_text *text, const char *string);
/* Appends the shortest form that reads back equal, with a decimal point in every locale; NaN and
 * infinities become null. */
void hr_text_append_double(hr_text *text, double v);
double hr_text_number(const char *number); /* strtod in the C locale */
/* Moves the zero-terminated text to `*out` (free it with hr_string_free), or fails. `size` may be
 * NULL. `text` is empty afterwards. */
hr_status hr_text_take(hr_text *text, char **out, size_t *size, hr_error *error);
void hr_text_fini(hr_text *text);

/* Parses all of `text` (hr_json is in operator.h), which may be hostile: depth is at most 32,
 * memory at most 65 x size; strings must be UTF-8 without zero bytes. HR_STATUS_CORRUPT names the
 * byte. Free with hr_json_destroy. */
hr_status hr_json_parse(hr_json **out, const char *text, size_t size, hr_error *error);
void hr_json_destroy(hr_json *json);
/* Whether two values are the same, with keys in the same order. */
bool hr_json_equal(const hr_json *a, const hr_json *b);
