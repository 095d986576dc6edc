/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/coco/json_stream.h"

#include <string.h>

#define WINDOW ((size_t)1 << 20)
#define MAX_DEPTH 64
#define MAX_STRING ((size_t)64 << 20)
#define MAX_NUMBER 64

hr_status hr_json_stream_init(hr_json_stream *s, hr_object *object, hr_error *error)
{
    *s = (hr_json_stream){.object = object, .error = error};
    s->window = hr_calloc((size_t)HR_MIN(hr_object_size(object), (int64_t)WINDOW) + 1, 1, error);
    s->at = s->end = s->window;
    return s->window ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr_json_stream_fini(hr_json_stream *s)
{
    hr_free(s->window);
    hr_free(s->text.data);
    *s = (hr_json_stream){0};
}

hr_status hr_json_stream_fail(hr_json_stream *s, const char *what)
{
    return hr_fail(s->error, HR_STATUS_CORRUPT, "byte %lld: %s",
                   (long long)(s->offset - (s->end - s->at)), what);
}

/* Reads on if the window is used up. `*more`: there is a byte. */
static hr_status fill(hr_json_stream *s, bool *more)
{
    int64_t left = hr_object_size(s->object) - s->offset;
    *more = s->at < s->end || left > 0;
    if (s->at < s->end || left <= 0)
        return HR_STATUS_OK;
    size_t size = (size_t)HR_MIN(left, (int64_t)WINDOW);
    HR_TRY(hr_object_read(s->object, s->offset, size, s->window, NULL, NULL, s->error));
    s->at = s->window;
    s->end = s->window + size;
    s->offset += (int64_t)size;
    return HR_STATUS_OK;
}

/* The next byte, which must exist; it is not taken. */
static hr_status look(hr_json_stream *s, char *out)
{
    bool more = true;
    *out = 0;
    if (s->at == s->end)
        HR_TRY(fill(s, &more));
    if (!more)
        return hr_json_stream_fail(s, "the JSON ends here, in the middle of a value");
    *out = *s->at;
    return HR_STATUS_OK;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The next byte that is not a blank. */
static hr_status look_on(hr_json_stream *s, char *out)
{
    HR_TRY(look(s, out));
    while (is_space(*out)) {
        s->at++;
        HR_TRY(look(s, out));
    }
    return HR_STATUS_OK;
}

char hr_json_stream_peek(hr_json_stream *s)
{
    char c;
    return look_on(s, &c) == HR_STATUS_OK ? c : 0;
}

/* ---- lists and objects ---- */

static hr_status member(hr_json_stream *s, char open, char close, bool *first, bool *more)
{
    char c;
    HR_TRY(look_on(s, &c));
    if (*first && c != open)
        return hr_json_stream_fail(s, open == '{' ? "'{' is missing" : "'[' is missing");
    if (!*first && c != ',' && c != close)
        return hr_json_stream_fail(s,
                                   open == '{' ? "',' or '}' is missing" : "',' or ']' is missing");
    *more = c != close;
    s->at++;
    if (*first) {
        HR_TRY(look_on(s, &c));
        *more = c != close;
        s->at += c == close;
    }
    *first = false;
    return HR_STATUS_OK;
}

hr_status hr_json_stream_item(hr_json_stream *s, bool *first, bool *more)
{
    return member(s, '[', ']', first, more);
}

hr_status hr_json_stream_key(hr_json_stream *s, bool *first, bool *more)
{
    char c;
    HR_TRY(member(s, '{', '}', first, more));
    if (!*more)
        return HR_STATUS_OK;
    HR_TRY(hr_json_stream_string(s));
    HR_TRY(look_on(s, &c));
    if (c != ':')
        return hr_json_stream_fail(s, "':' is missing");
    s->at++;
    return HR_STATUS_OK;
}

/* ---- strings ---- */

static hr_status put(hr_json_stream *s, const char *bytes, size_t size)
{
    if (size > MAX_STRING - HR_MIN(s->text.size, MAX_STRING))
        return hr_json_stream_fail(s, "a string is too long");
    return hr_scan_add(&s->text, bytes, size, s->error);
}

static hr_status read_hex(hr_json_stream *s, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c;
        HR_TRY(look(s, &c));
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return hr_json_stream_fail(s, "\\u needs four hexadecimal digits");
        *code = *code << 4 | digit;
        s->at++;
    }
    return HR_STATUS_OK;
}

static hr_status put_code(hr_json_stream *s, uint32_t code)
{
    char b[4];
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint32_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        b[i] = (char)(0x80 | (code & 0x3f));
    b[0] = (char)(lead[n] | code);
    return put(s, b, n);
}

/* After "\u". */
static hr_status read_unicode(hr_json_stream *s)
{
    uint32_t code, low;
    HR_TRY(read_hex(s, &code));
    if (code == 0)
        return hr_json_stream_fail(s, "a string contains a zero byte");
    if (code < 0xd800 || code > 0xdfff)
        return put_code(s, code);
    char c = 0, u = 0;
    HR_TRY(look(s, &c));
    s->at++;
    HR_TRY(look(s, &u));
    s->at++;
    if (code > 0xdbff || c != '\\' || u != 'u')
        return hr_json_stream_fail(s, "unpaired surrogate");
    HR_TRY(read_hex(s, &low));
    if (low < 0xdc00 || low > 0xdfff)
        return hr_json_stream_fail(s, "unpaired surrogate");
    return put_code(s, 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff)));
}

/* After the backslash. */
static hr_status read_escape(hr_json_stream *s)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c;
    HR_TRY(look(s, &c));
    const char *known = c ? strchr(from, c) : NULL;
    if (!known && c != 'u')
        return hr_json_stream_fail(s, "unknown escape");
    s->at++;
    return known ? put(s, &to[known - from], 1) : read_unicode(s);
}

hr_status hr_json_stream_string(hr_json_stream *s)
{
    char c;
    s->text.size = 0;
    HR_TRY(look_on(s, &c));
    if (c != '"')
        return hr_json_stream_fail(s, "a string is missing");
    s->at++;
    for (;;) {
        HR_TRY(look(s, &c));
        const char *start = s->at;
        while (s->at < s->end && (unsigned char)*s->at >= 0x20 && *s->at != '"' && *s->at != '\\')
            s->at++;
        HR_TRY(put(s, start, (size_t)(s->at - start)));
        if (s->at == s->end)
            continue;
        c = *s->at;
        if ((unsigned char)c < 0x20)
            return hr_json_stream_fail(s, "a string contains a control character");
        s->at++;
        if (c == '"')
            return put(s, "", 1);
        HR_TRY(read_escape(s));
    }
}

/* ---- numbers ---- */

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Whether the text is a number, and its value if it has few digits: a quotient or product of two
 * doubles that are exact is rounded correctly. */
static bool parse_number(const char *t, double *out, bool *done)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative = *t == '-';
    uint64_t digits = 0;
    int32_t count = 0, fraction = 0;
    t += negative;
    const char *start = t;
    for (; *t >= '0' && *t <= '9'; t++, count++)
        digits = digits * 10 + (uint64_t)(*t - '0');
    if (t == start || (*start == '0' && t > start + 1))
        return false;
    if (*t == '.') {
        for (start = ++t; *t >= '0' && *t <= '9'; t++, count++, fraction++)
            digits = digits * 10 + (uint64_t)(*t - '0');
        if (t == start)
            return false;
    }
    *done = *t == 0 && count <= 19 && digits <= (uint64_t)1 << 53 && fraction <= 22;
    if (*done) {
        double value = (double)digits / ten[fraction];
        *out = negative ? -value : value;
    }
    if (*t == 'e' || *t == 'E') {
        t += t[1] == '-' || t[1] == '+' ? 2 : 1;
        for (start = t; *t >= '0' && *t <= '9';)
            t++;
        if (t == start)
            return false;
    }
    return *t == 0;
}

hr_status hr_json_stream_number(hr_json_stream *s, double *out)
{
    char number[MAX_NUMBER + 1], c;
    size_t n = 0;
    bool more = true, done = false;
    HR_TRY(look_on(s, &c));
    while (more && in_number(c = *s->at)) {
        if (n == MAX_NUMBER)
            return hr_json_stream_fail(s, "a number is too long");
        number[n++] = c;
        s->at++;
        HR_TRY(fill(s, &more));
    }
    number[n] = 0;
    if (n == 0 || !parse_number(number, out, &done))
        return hr_json_stream_fail(s, n == 0 ? "a number is missing" : "this is not a number");
    if (!done)
        *out = hr_text_number(number);
    if (!(*out >= -1.7e308 && *out <= 1.7e308))
        return hr_json_stream_fail(s, "a number is too large");
    return HR_STATUS_OK;
}

static hr_status take_word(hr_json_stream *s, const char *word)
{
    for (; *word; word++) {
        char c;
        HR_TRY(look(s, &c));
        if (c != *word)
            return hr_json_stream_fail(s, "unexpected character");
        s->at++;
    }
    return HR_STATUS_OK;
}

hr_status hr_json_stream_int(hr_json_stream *s, int64_t low, int64_t high, int64_t *out)
{
    char c = hr_json_stream_peek(s);
    double value = c == 't';
    if (c == 't' || c == 'f')
        HR_TRY(take_word(s, c == 't' ? "true" : "false"));
    else
        HR_TRY(hr_json_stream_number(s, &value));
    if (!(value >= (double)low && value <= (double)high))
        return hr_json_stream_fail(s, "the number is out of range");
    *out = (int64_t)value;
    return (double)*out == value ? HR_STATUS_OK
                                 : hr_json_stream_fail(s, "the number is not an integer");
}

/* ---- skipping ---- */

static hr_status skip_string(hr_json_stream *s)
{
    char c;
    s->at++;
    for (;;) {
        HR_TRY(look(s, &c));
        while (s->at < s->end && *s->at != '"' && *s->at != '\\')
            s->at++;
        if (s->at == s->end)
            continue;
        if (*s->at++ == '"')
            return HR_STATUS_OK;
        HR_TRY(look(s, &c));
        s->at++;
    }
}

static bool in_word(char c)
{
    return in_number(c) || (c >= 'a' && c <= 'z');
}

static hr_status skip_word(hr_json_stream *s)
{
    bool more = true;
    if (!in_word(*s->at))
        return hr_json_stream_fail(s, "unexpected character");
    while (more && in_word(*s->at)) {
        s->at++;
        HR_TRY(fill(s, &more));
    }
    return HR_STATUS_OK;
}

/* Checks only brackets and strings. */
hr_status hr_json_stream_skip(hr_json_stream *s)
{
    char close[MAX_DEPTH], c;
    int32_t depth = 0;
    do {
        HR_TRY(look_on(s, &c));
        if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH)
                return hr_json_stream_fail(s, "lists and objects are nested too deeply");
            close[depth++] = c == '{' ? '}' : ']';
            s->at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0 || close[--depth] != c)
                return hr_json_stream_fail(s, "a bracket does not match");
            s->at++;
        } else if (c == '"') {
            HR_TRY(skip_string(s));
        } else if (depth > 0 && (c == ',' || c == ':')) {
            s->at++;
        } else {
            HR_TRY(skip_word(s));
        }
    } while (depth > 0);
    return HR_STATUS_OK;
}

hr_status hr_json_stream_end(hr_json_stream *s)
{
    bool more = true;
    HR_TRY(fill(s, &more));
    while (more && is_space(*s->at)) {
        s->at++;
        HR_TRY(fill(s, &more));
    }
    return more ? hr_json_stream_fail(s, "something follows the JSON") : HR_STATUS_OK;
}
