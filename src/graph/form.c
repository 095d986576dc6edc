/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arguments of type JSON, and the forms that tables demand of them (hr_arg_def.form):
 *
 *   form = term {"|" term}
 *   term = "any" | "None" | "bool" | "int" | "float" | "str" | "dtype"
 *        | 'word'                 this string
 *        | "[" form "]"           a list of any length
 *        | "(" form {"," form} ")" a list of these elements
 *        | "{" "str" ":" form "}" a dictionary
 *
 * A form is read along with the value, again for every element of a list. Parts to which nothing in
 * the value corresponds are read with NULL: so the whole form is always checked. */
#include "graph/value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define FORM_DEPTH 16

/* The first of the deepest mismatches; alternatives further out are of less help. */
typedef struct fault {
    char path[160];
    const char *form, *end; /* what is allowed there */
    const hr_json *got;
    int32_t depth;
} fault;

typedef struct match {
    char path[160]; /* of the current value: ["label"][1] */
    int32_t depth;
    fault fault;
} match;

static const char *read_form(match *m, const char *p, const hr_json *v, bool *ok);

static const char *skip_space(const char *p)
{
    return p + strspn(p, " ");
}

/* Reads the form of an element of the current value. */
static const char *read_element(match *m, const char *p, const hr_json *list, int32_t i, bool *ok)
{
    size_t used = strlen(m->path), room = sizeof(m->path) - used;
    const hr_json *v = list && i < list->count ? &list->items[i] : NULL;
    if (m->depth == FORM_DEPTH)
        return NULL;
    if (v && list->keys)
        snprintf(m->path + used, room, "[\"%.60s\"]", list->keys[i]);
    else if (v)
        snprintf(m->path + used, room, "[%d]", i);
    m->depth++;
    p = read_form(m, p, v, ok);
    m->depth--;
    m->path[used] = '\0';
    *ok = *ok && v;
    return p;
}

/* After "[" or "{str:". */
static const char *read_all(match *m, const char *p, const hr_json *v, hr_json_kind kind, bool *ok)
{
    const hr_json *list = v && v->kind == kind ? v : NULL;
    const char *end = NULL;
    bool one = false;
    *ok = list != NULL;
    for (int32_t i = 0; list && i < list->count; i++) {
        end = read_element(m, p, list, i, &one);
        if (!end)
            return NULL;
        *ok = *ok && one;
    }
    if (!end) /* nothing was read */
        end = read_element(m, p, NULL, 0, &one);
    return end && *end == (kind == HR_JSON_KIND_LIST ? ']' : '}') ? end + 1 : NULL;
}

/* After "(". */
static const char *read_fixed(match *m, const char *p, const hr_json *v, bool *ok)
{
    const hr_json *list = v && v->kind == HR_JSON_KIND_LIST ? v : NULL;
    int32_t n = 0;
    *ok = list != NULL;
    for (bool more = true; more; p += more) {
        bool one = false;
        p = read_element(m, p, list, n++, &one);
        if (!p)
            return NULL;
        *ok = *ok && one;
        more = *p == ',';
    }
    *ok = *ok && list->count == n;
    return *p == ')' ? p + 1 : NULL;
}

static const char *read_quoted(const char *p, const hr_json *v, bool *ok)
{
    const char *end = strchr(p, '\'');
    size_t size = end ? (size_t)(end - p) : 0;
    *ok = v && v->kind == HR_JSON_KIND_STRING && strlen(v->s) == size && memcmp(v->s, p, size) == 0;
    return end ? end + 1 : NULL;
}

static bool is_of(const hr_json *v, const char *word, size_t size, bool *known)
{
    bool whole = v && v->kind == HR_JSON_KIND_NUMBER && v->is_integer;
    const struct {
        const char *word;
        bool matches;
    } words[] = {
        {"any", v != NULL},
        {"None", v && v->kind == HR_JSON_KIND_NULL},
        {"bool", v && v->kind == HR_JSON_KIND_BOOL},
        {"int", whole},
        {"float", v && v->kind == HR_JSON_KIND_NUMBER},
        {"str", v && v->kind == HR_JSON_KIND_STRING},
        {"dtype", whole && hr__enum_name(HR_ARG_TYPE_DTYPE, v->i)},
    };
    for (size_t i = 0; i < HR_COUNT_OF(words); i++) {
        if (strlen(words[i].word) == size && memcmp(words[i].word, word, size) == 0)
            return *known = true, words[i].matches;
    }
    return *known = false;
}

/* Returns the end of the term, or NULL if it is not a term. `*ok`: `v` matches it. */
static const char *read_term(match *m, const char *p, const hr_json *v, bool *ok)
{
    size_t size = 0;
    bool known = false;
    switch (*p) {
    case '[':
        return read_all(m, p + 1, v, HR_JSON_KIND_LIST, ok);
    case '(':
        return read_fixed(m, p + 1, v, ok);
    case '{':
        p = skip_space(p + 1);
        if (strncmp(p, "str", 3) != 0 || *(p = skip_space(p + 3)) != ':')
            return NULL;
        return read_all(m, p + 1, v, HR_JSON_KIND_OBJECT, ok);
    case '\'':
        return read_quoted(p + 1, v, ok);
    default:
        while (isalpha((unsigned char)p[size]))
            size++;
        *ok = is_of(v, p, size, &known);
        return known ? p + size : NULL;
    }
}

static const char *read_form(match *m, const char *p, const hr_json *v, bool *ok)
{
    const char *start = skip_space(p);
    *ok = false;
    for (p = start; p; p++) {
        bool one = false;
        p = read_term(m, skip_space(p), *ok ? NULL : v, &one);
        if (!p)
            return NULL;
        *ok = *ok || one;
        p = skip_space(p);
        if (*p != '|')
            break;
    }
    if (v && !*ok && (!m->fault.form || m->depth > m->fault.depth)) {
        m->fault = (fault){.form = start, .end = p, .got = v, .depth = m->depth};
        memcpy(m->fault.path, m->path, sizeof(m->path));
    }
    return p;
}

hr_status hr__form_check(const char *form, hr_error *error)
{
    match m = {0};
    bool ok;
    const char *end = read_form(&m, form, NULL, &ok);
    return end && !*end ? HR_STATUS_OK
                        : hr_fail(error, HR_STATUS_VALUE, "its form '%.80s' is not valid", form);
}

/* Appends a value as Python writes it. */
static void put(hr_text *text, const hr_json *v)
{
    bool object = v->kind == HR_JSON_KIND_OBJECT;
    switch (v->kind) {
    case HR_JSON_KIND_NULL:
        hr_text_append(text, "None");
        break;
    case HR_JSON_KIND_BOOL:
        hr_text_append(text, v->i ? "True" : "False");
        break;
    case HR_JSON_KIND_NUMBER:
        if (v->is_integer)
            hr_text_append(text, "%lld", (long long)v->i);
        else
            hr_text_append_double(text, v->f);
        break;
    case HR_JSON_KIND_STRING:
        hr_text_append(text, "\"%s\"", v->s);
        break;
    default:
        hr_text_append(text, object ? "{" : "[");
        for (int32_t i = 0; i < v->count && text->size < 100; i++) {
            hr_text_append(text, i ? ", " : "");
            if (object)
                hr_text_append(text, "\"%s\": ", v->keys[i]);
            put(text, &v->items[i]);
        }
        hr_text_append(text, object ? "}" : "]");
        break;
    }
}

static hr_status fail(const hr__conversion *c, const fault *f, hr_error *error)
{
    char node[HR_NODE_TEXT_SIZE];
    hr_text got = {0};
    put(&got, f->got);
    size_t end = (size_t)(f->end - f->form);
    while (end > 0 && f->form[end - 1] == ' ')
        end--;
    hr_status status =
        hr_fail(error, HR_STATUS_TYPE, "%s: argument \"%s\"%s%s: must be %.*s; got %.100s%s",
                hr_node_text(c->node, node, sizeof(node)), c->arg->name, f->path[0] ? ", at " : "",
                f->path, (int)HR_MIN(end, (size_t)200), f->form, got.failed ? "?" : got.data,
                got.size > 100 ? "..." : "");
    hr_text_fini(&got);
    return status;
}

hr_status hr__json_convert(const hr__conversion *c, const hr_json **field, hr_error *error)
{
    char node[HR_NODE_TEXT_SIZE], given[128];
    const hr_value *v = c->value;
    hr_json *json = NULL;
    if (v->kind != HR_VALUE_STRING)
        return hr_fail(error, HR_STATUS_TYPE, "%s: argument \"%s\": must be JSON text; got %s",
                       hr_node_text(c->node, node, sizeof(node)), c->arg->name,
                       hr__value_text(v, given, sizeof(given)));
    hr_status status = hr_json_parse(&json, v->u.s, strlen(v->u.s), error);
    if (status == HR_STATUS_OK)
        status = hr__node_own(c->store, json, error);
    if (status == HR_STATUS_CORRUPT)
        error->status = HR_STATUS_VALUE;
    if (status != HR_STATUS_OK)
        return hr_error_prefix(error, "%s: argument \"%s\"",
                               hr_node_text(c->node, node, sizeof(node)), c->arg->name);
    match m = {0};
    bool ok = true;
    if (c->arg->form)
        read_form(&m, c->arg->form, json, &ok);
    if (!ok)
        return fail(c, &m.fault, error);
    *field = json;
    return HR_STATUS_OK;
}
