/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A JSON reader (RFC 8259) for untrusted text. A first pass counts the values, so that all memory
 * is one block: an array of values, one of keys, one of decoded bytes. Values wait at the
 * low end of the array until their list closes and then move to the high end, where they are
 * contiguous. The two ends cannot meet. */
#include "core/json.h"
#include "core/alloc.h"
#include "core/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JSON_DEPTH 32
#define JSON_NUMBER 64 /* the longest number; those written here have at most 25 characters */

typedef struct json_tree {
    hr_json root; /* must be first: it is freed by its address */
    hr_json *values;
    const char **keys;
} json_tree;

typedef struct json_parser {
    const char *text, *at, *end;
    json_tree *tree;
    size_t low, high; /* values[0..low) wait, values[high..) are done; the same for keys */
    char *bytes;      /* where the next decoded byte goes */
    int depth;
    hr_error *error;
} json_parser;

static hr_status bad(json_parser *p, const char *what)
{
    return hr_fail(p->error, HR_STATUS_CORRUPT, "JSON, byte %zu: %s", (size_t)(p->at - p->text),
                   what);
}

static void skip_space(json_parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static bool take(json_parser *p, char c)
{
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* ---- strings ---- */

static hr_status parse_hex(json_parser *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = p->at < p->end && *p->at ? strchr(digits, *p->at) : NULL;
        if (!digit)
            return bad(p, "\\u needs four hexadecimal digits");
        uint32_t value = (uint32_t)(digit - digits);
        *code = *code << 4 | (value < 16 ? value : value - 6);
        p->at++;
    }
    return HR_STATUS_OK;
}

static void put_utf8(json_parser *p, uint32_t code)
{
    if (code < 0x80) {
        *p->bytes++ = (char)code;
    } else if (code < 0x800) {
        *p->bytes++ = (char)(0xc0 | code >> 6);
        *p->bytes++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *p->bytes++ = (char)(0xe0 | code >> 12);
        *p->bytes++ = (char)(0x80 | (code >> 6 & 0x3f));
        *p->bytes++ = (char)(0x80 | (code & 0x3f));
    } else {
        *p->bytes++ = (char)(0xf0 | code >> 18);
        *p->bytes++ = (char)(0x80 | (code >> 12 & 0x3f));
        *p->bytes++ = (char)(0x80 | (code >> 6 & 0x3f));
        *p->bytes++ = (char)(0x80 | (code & 0x3f));
    }
}

/* After "\u". */
static hr_status parse_unicode(json_parser *p)
{
    uint32_t code, low;
    HR_TRY(parse_hex(p, &code));
    if (code == 0)
        return bad(p, "a string contains a zero byte");
    if (code >= 0xdc80 &&
        code <= 0xdcff) { /* a byte that is not UTF-8, as in Python's surrogateescape */
        *p->bytes++ = (char)(code & 0xff);
        return HR_STATUS_OK;
    }
    if (code >= 0xdc00 && code <= 0xdfff)
        return bad(p, "unpaired low surrogate");
    if (code >= 0xd800 && code <= 0xdbff) {
        if (!take(p, '\\') || !take(p, 'u'))
            return bad(p, "unpaired high surrogate");
        HR_TRY(parse_hex(p, &low));
        if (low < 0xdc00 || low > 0xdfff)
            return bad(p, "unpaired high surrogate");
        code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
    }
    put_utf8(p, code);
    return HR_STATUS_OK;
}

static hr_status parse_escape(json_parser *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (take(p, 'u'))
        return parse_unicode(p);
    const char *known = p->at < p->end && *p->at ? strchr(from, *p->at) : NULL;
    if (!known)
        return bad(p, "unknown escape");
    *p->bytes++ = to[known - from];
    p->at++;
    return HR_STATUS_OK;
}

/* After the opening quote. The decoded text is never longer than the source: an escape of 6 bytes
 * gives at most 3, one of 12 gives 4, and the quotes make room for the terminating zero. */
static hr_status parse_string(json_parser *p, const char **out)
{
    *out = p->bytes;
    while (!take(p, '"')) {
        if (p->at == p->end)
            return bad(p, "unterminated string");
        if (take(p, '\\')) {
            HR_TRY(parse_escape(p));
            continue;
        }
        size_t n = hr_utf8_length(p->at, (size_t)(p->end - p->at));
        if (n == 0)
            return bad(p, "a string is not UTF-8");
        if ((unsigned char)*p->at < 0x20)
            return bad(p, "a string contains a control character");
        memcpy(p->bytes, p->at, n);
        p->bytes += n;
        p->at += n;
    }
    *p->bytes++ = '\0';
    return HR_STATUS_OK;
}

/* ---- numbers ---- */

static bool skip_digits(json_parser *p)
{
    const char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > start;
}

static hr_status parse_number(json_parser *p, hr_json *out)
{
    const char *start = p->at;
    bool whole = true;
    take(p, '-');
    if (!take(p, '0') && !skip_digits(p))
        return bad(p, "unexpected character");
    if (take(p, '.')) {
        whole = false;
        if (!skip_digits(p))
            return bad(p, "a digit is missing");
    }
    if (take(p, 'e') || take(p, 'E')) {
        whole = false;
        if (!take(p, '-'))
            take(p, '+');
        if (!skip_digits(p))
            return bad(p, "a digit is missing");
    }
    size_t size = (size_t)(p->at - start);
    char number[JSON_NUMBER + 1];
    if (size > JSON_NUMBER)
        return bad(p, "a number is too long");
    memcpy(number, start, size);
    number[size] = '\0';
    out->kind = HR_JSON_KIND_NUMBER;
    out->f = hr_text_number(number);
    if (!isfinite(out->f))
        return bad(p, "a number is too large");
    if (whole) {
        errno = 0;
        long long i = strtoll(number, NULL, 10);
        out->is_integer = errno == 0;
        out->i = out->is_integer ? i : 0;
    }
    return HR_STATUS_OK;
}

/* ---- values ---- */

static hr_status parse_value(json_parser *p, hr_json *out);

/* Moves the values (and keys) waiting since `from` to the high end, as members of `out`. */
static void close_list(json_parser *p, hr_json *out, size_t from)
{
    size_t count = p->low - from;
    p->high -= count;
    p->low = from;
    out->count = (int32_t)count;
    if (count == 0)
        return;
    out->items = p->tree->values + p->high;
    memmove(out->items, p->tree->values + from, count * sizeof *out->items);
    if (out->kind == HR_JSON_KIND_OBJECT) {
        out->keys = p->tree->keys + p->high;
        memmove(out->keys, p->tree->keys + from, count * sizeof *out->keys);
    }
}

static hr_status parse_member(json_parser *p, bool is_object)
{
    const char *key = NULL;
    hr_json value = {.kind = HR_JSON_KIND_NULL};
    if (is_object) {
        skip_space(p);
        if (!take(p, '"'))
            return bad(p, "an object's key must be a string");
        HR_TRY(parse_string(p, &key));
        skip_space(p);
        if (!take(p, ':'))
            return bad(p, "':' is missing");
    }
    HR_TRY(parse_value(p, &value));
    p->tree->keys[p->low] = key;
    p->tree->values[p->low++] = value;
    return HR_STATUS_OK;
}

/* After the opening bracket. */
static hr_status parse_list(json_parser *p, hr_json *out, bool is_object)
{
    const char close = is_object ? '}' : ']';
    size_t from = p->low;
    if (++p->depth > JSON_DEPTH)
        return bad(p, "lists and objects are nested too deeply");
    out->kind = is_object ? HR_JSON_KIND_OBJECT : HR_JSON_KIND_LIST;
    skip_space(p);
    if (!take(p, close)) {
        do {
            HR_TRY(parse_member(p, is_object));
            skip_space(p);
        } while (take(p, ','));
        if (!take(p, close))
            return bad(p, is_object ? "',' or '}' is missing" : "',' or ']' is missing");
    }
    p->depth--;
    close_list(p, out, from);
    return HR_STATUS_OK;
}

static bool take_word(json_parser *p, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0)
        return false;
    p->at += size;
    return true;
}

static hr_status parse_value(json_parser *p, hr_json *out)
{
    *out = (hr_json){.kind = HR_JSON_KIND_NULL};
    skip_space(p);
    if (p->at == p->end)
        return bad(p, "unexpected end of the text");
    if (take(p, '['))
        return parse_list(p, out, false);
    if (take(p, '{'))
        return parse_list(p, out, true);
    if (take(p, '"')) {
        out->kind = HR_JSON_KIND_STRING;
        return parse_string(p, &out->s);
    }
    if (take_word(p, "null"))
        return HR_STATUS_OK;
    if (take_word(p, "true") || take_word(p, "false")) {
        out->kind = HR_JSON_KIND_BOOL;
        out->i = p->at[-2] == 'u';
        return HR_STATUS_OK;
    }
    return parse_number(p, out);
}

/* An upper bound on the values inside lists and objects: one per bracket and one per comma. */
static size_t count_values(const char *text, size_t size)
{
    size_t count = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        if (in_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_string = !in_string;
        else if (!in_string && (text[i] == ',' || text[i] == '[' || text[i] == '{'))
            count++;
    }
    return count;
}

hr_status hr_json_parse(hr_json **out, const char *text, size_t size, hr_error *error)
{
    *out = NULL;
    size_t count = count_values(text, size);
    if (count > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "JSON: more than 2^31 values");
    size_t values = count * sizeof(hr_json), keys = count * sizeof(char *);
    json_tree *tree = hr_calloc(1, sizeof(*tree) + values + keys + size, error);
    HR_TRY_ALLOC(tree);
    tree->values = (hr_json *)(tree + 1);
    tree->keys = (const char **)(tree->values + count);
    json_parser p = {.text = text, .at = text, .tree = tree, .high = count, .error = error};
    p.end = text + size;
    p.bytes = (char *)(tree->keys + count);
    hr_status status = parse_value(&p, &tree->root);
    skip_space(&p);
    if (status == HR_STATUS_OK && p.at != p.end)
        status = bad(&p, "unexpected text after the value");
    if (status != HR_STATUS_OK) {
        hr_json_destroy(&tree->root);
        return status;
    }
    *out = &tree->root;
    return HR_STATUS_OK;
}

void hr_json_destroy(hr_json *json)
{
    hr_free(json); /* the root is at the start of the block */
}

const hr_json *hr_json_get(const hr_json *object, const char *key)
{
    if (!object || object->kind != HR_JSON_KIND_OBJECT)
        return NULL;
    for (int32_t i = 0; i < object->count; i++) {
        if (strcmp(object->keys[i], key) == 0)
            return &object->items[i];
    }
    return NULL;
}

bool hr_json_equal(const hr_json *a, const hr_json *b)
{
    if (a->kind != b->kind || a->count != b->count || a->is_integer != b->is_integer ||
        a->i != b->i)
        return false;
    if (a->kind == HR_JSON_KIND_NUMBER && !a->is_integer)
        return a->f == b->f;
    if (a->kind == HR_JSON_KIND_STRING)
        return strcmp(a->s, b->s) == 0;
    for (int32_t i = 0; i < a->count; i++) {
        if (a->keys && strcmp(a->keys[i], b->keys[i]) != 0)
            return false;
        if (!hr_json_equal(&a->items[i], &b->items[i]))
            return false;
    }
    return true;
}
