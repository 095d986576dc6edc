/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reads a JSON file value by value, in the order of the file, through a window: annotations of
 * large data sets are never in memory as text or as a tree. The caller knows what comes next.
 * Errors say at which byte the file is wrong or ends. */
#pragma once

#include "readers/scan.h"

typedef struct hr_json_stream {
    hr_object *object;
    int64_t offset; /* in the file, of `end` */
    char *window;
    const char *at, *end; /* what is left of the window */
    hr_scan text;         /* of the last string or key, zero-terminated */
    hr_error *error;
} hr_json_stream;

hr_status hr_json_stream_init(hr_json_stream *s, hr_object *object, hr_error *error);
void hr_json_stream_fini(hr_json_stream *s);
/* The first character of the next value: { [ " digit - t f n; 0 at the end of the file or after an
 * error, which the next function returns. */
char hr_json_stream_peek(hr_json_stream *s);
/* Go through a list or an object. `*first` is true before the first call. `*more`: there is a
 * member, whose value comes next; that of an object has the key in `text`. */
hr_status hr_json_stream_item(hr_json_stream *s, bool *first, bool *more);
hr_status hr_json_stream_key(hr_json_stream *s, bool *first, bool *more);
hr_status hr_json_stream_string(hr_json_stream *s); /* to `text` */
hr_status hr_json_stream_number(hr_json_stream *s, double *out);
/* A number without fraction, or true or false, in the range. */
hr_status hr_json_stream_int(hr_json_stream *s, int64_t low, int64_t high, int64_t *out);
hr_status hr_json_stream_skip(hr_json_stream *s); /* any value */
hr_status hr_json_stream_end(hr_json_stream *s);  /* nothing may follow */
/* An error at the current byte. */
hr_status hr_json_stream_fail(hr_json_stream *s, const char *what);
