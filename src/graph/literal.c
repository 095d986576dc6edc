/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Python literals, as tables write defaults: numbers, True, strings, names, flat lists. */
#include "graph/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void skip_space(const char **p)
{
    while (**p == ' ')
        ++*p;
}

static bool number_parse(const char **p, hr_value *out)
{
    char *end = NULL;
    errno = 0;
    long long i = strtoll(*p, &end, 10);
    if (end != *p && errno == 0 && (*end == '\0' || !strchr(".eE", *end))) {
        out->kind = HR_VALUE_INT;
        out->u.i = i;
    } else {
        double f = strtod(*p, &end); /* also nan and inf */
        if (end == *p)
            return false;
        out->kind = HR_VALUE_FLOAT;
        out->u.f = f;
    }
    *p = end;
    return true;
}

/* A quoted string without escapes, or a bare name. Both become STRING, except True and False. */
static hr_status word_parse(hr_node *node, const char **p, hr_value *out, hr_error *error)
{
    const char *start = *p;
    char quote = *start == '"' || *start == '\'' ? *start : 0;
    const char *end = quote ? strchr(start + 1, quote) : start;
    if (quote)
        start++;
    else
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
    if (!end || (!quote && end == start))
        return hr_fail(error, HR_STATUS_VALUE, "not a literal: '%.40s'", *p);
    size_t size = (size_t)(end - start);
    char *text = hr__node_store(node, size + 1, 1, error);
    HR_TRY_ALLOC(text);
    memcpy(text, start, size);
    *p = end + (quote ? 1 : 0);
    bool yes = strcmp(text, "True") == 0;
    if (!quote && (yes || strcmp(text, "False") == 0)) {
        *out = (hr_value){.kind = HR_VALUE_BOOL, .u.i = yes};
        return HR_STATUS_OK;
    }
    *out = (hr_value){.kind = HR_VALUE_STRING, .u.s = text};
    return HR_STATUS_OK;
}

static hr_status scalar_parse(hr_node *node, const char **p, hr_value *out, hr_error *error)
{
    skip_space(p);
    *out = (hr_value){.kind = HR_VALUE_INT};
    bool numeric = isdigit((unsigned char)**p) || strchr("+-.", **p) ||
                   strncmp(*p, "nan", 3) == 0 || strncmp(*p, "inf", 3) == 0;
    if (**p && numeric && number_parse(p, out))
        return HR_STATUS_OK;
    return word_parse(node, p, out, error);
}

/* Makes the narrowest list that can hold all the scalars. */
static hr_status list_make(hr_node *node, const hr_value *items, int32_t n, hr_value *out,
                           hr_error *error)
{
    int32_t strings = 0, floats = 0;
    for (int32_t i = 0; i < n; i++) {
        strings += items[i].kind == HR_VALUE_STRING;
        floats += items[i].kind == HR_VALUE_FLOAT;
    }
    if (strings && strings != n)
        return hr_fail(error, HR_STATUS_VALUE, "a list mixes strings and numbers");
    void *memory = hr__node_store(node, (size_t)n + 1, sizeof(int64_t), error);
    HR_TRY_ALLOC(memory);
    out->count = n;
    if (strings) {
        const char **v = memory;
        for (int32_t i = 0; i < n; i++)
            v[i] = items[i].u.s;
        out->kind = HR_VALUE_STRINGS;
        out->u.strings = v;
    } else if (floats) {
        double *v = memory;
        for (int32_t i = 0; i < n; i++)
            v[i] = items[i].kind == HR_VALUE_FLOAT ? items[i].u.f : (double)items[i].u.i;
        out->kind = HR_VALUE_FLOATS;
        out->u.floats = v;
    } else {
        int64_t *v = memory;
        for (int32_t i = 0; i < n; i++)
            v[i] = items[i].u.i;
        out->kind = HR_VALUE_INTS;
        out->u.ints = v;
    }
    return HR_STATUS_OK;
}

#define LIST_MAX 64 /* elements of a list in a table */

static hr_status list_parse(hr_node *node, const char **p, hr_value *out, hr_error *error)
{
    hr_value items[LIST_MAX];
    char close = *(*p)++ == '[' ? ']' : ')';
    int32_t n = 0;
    for (skip_space(p); **p != close; skip_space(p)) {
        if (n == LIST_MAX)
            return hr_fail(error, HR_STATUS_VALUE, "a list has more than %d elements", LIST_MAX);
        HR_TRY(scalar_parse(node, p, &items[n++], error));
        skip_space(p);
        if (**p == ',')
            ++*p;
        else if (**p != close)
            return hr_fail(error, HR_STATUS_VALUE, "a list must end with '%c'", close);
    }
    ++*p;
    return list_make(node, items, n, out, error);
}

hr_status hr__literal_parse(hr_node *node, const char *text, hr_value *out, hr_error *error)
{
    const char *p = text;
    *out = (hr_value){.kind = HR_VALUE_INT};
    skip_space(&p);
    if (*p == '[' || *p == '(')
        HR_TRY(list_parse(node, &p, out, error));
    else
        HR_TRY(scalar_parse(node, &p, out, error));
    skip_space(&p);
    if (*p)
        return hr_fail(error, HR_STATUS_VALUE, "'%s' is not a single literal", text);
    return HR_STATUS_OK;
}
