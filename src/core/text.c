/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Growing text. Numbers are written as in the C locale, whatever locale the caller has set. */
#include "core/json.h"
#include "core/alloc.h"
#include "core/utf8.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and a zero. */
static bool text_reserve(hr_text *text, size_t more)
{
    size_t need;
    if (text->failed)
        return false;
    if (hr_size_add(text->size, more, &need) && hr_size_add(need, 1, &need)) {
        if (need <= text->capacity)
            return true;
        size_t capacity = HR_MAX(HR_MAX(need, text->capacity + text->capacity / 2), (size_t)128);
        char *data = hr_realloc(text->data, capacity, 1, NULL);
        if (data) {
            text->data = data;
            text->capacity = capacity;
            return true;
        }
    }
    text->failed = true;
    return false;
}

void hr_text_append_bytes(hr_text *text, const char *bytes, size_t size)
{
    if (!text_reserve(text, size))
        return;
    if (size)
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

static void text_format(hr_text *text, const char *fmt, va_list args) HR_PRINTF(2, 0);

static void text_format(hr_text *text, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, fmt, args);
    if (size < 0) {
        text->failed = true;
    } else if (text_reserve(text, (size_t)size)) {
        vsnprintf(text->data + text->size, (size_t)size + 1, fmt, again);
        text->size += (size_t)size;
    }
    va_end(again);
}

void hr_text_append(hr_text *text, const char *fmt, ...)
{
    if (text->failed)
        return;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) {
        text->failed = true;
        return;
    }
    locale_t before = uselocale(c);
    va_list args;
    va_start(args, fmt);
    text_format(text, fmt, args);
    va_end(args);
    uselocale(before);
    freelocale(c);
}

void hr_text_append_quoted(hr_text *text, const char *string)
{
    size_t left = strlen(string);
    hr_text_append_bytes(text, "\"", 1);
    while (left > 0 && !text->failed) {
        unsigned char c = (unsigned char)*string;
        size_t n = hr_utf8_length(string, left);
        if (n == 0)
            hr_text_append(text, "\\udc%02x", c);
        else if (c == '"' || c == '\\')
            hr_text_append(text, "\\%c", c);
        else if (c < 0x20)
            hr_text_append(text, "\\u%04x", c);
        else
            hr_text_append_bytes(text, string, n);
        n = n ? n : 1;
        string += n;
        left -= n;
    }
    hr_text_append_bytes(text, "\"", 1);
}

void hr_text_append_double(hr_text *text, double v)
{
    if (!isfinite(v)) {
        hr_text_append_bytes(text, "null", 4);
        return;
    }
    size_t start = text->size;
    for (int digits = 15; digits <= 17; digits++) {
        text->size = start;
        hr_text_append(text, "%.*g", digits, v);
        if (text->failed || hr_text_number(text->data + start) == v)
            return;
    }
}

double hr_text_number(const char *number)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return NAN;
    double v = strtod_l(number, NULL, c);
    freelocale(c);
    return v;
}

hr_status hr_text_take(hr_text *text, char **out, size_t *size, hr_error *error)
{
    text_reserve(text, 0);
    if (text->failed) {
        hr_status status = hr_fail_memory(error, text->capacity);
        hr_text_fini(text);
        *out = NULL;
        return status;
    }
    text->data[text->size] = '\0';
    *out = text->data;
    if (size)
        *size = text->size;
    *text = (hr_text){0};
    return HR_STATUS_OK;
}

void hr_text_fini(hr_text *text)
{
    hr_free(text->data);
    *text = (hr_text){0};
}
