/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/tar/braces.h"

#include <stdio.h>
#include <string.h>

#define MAX_PATHS 1000000
#define MAX_PATH_SIZE 8192
#define MAX_GROUPS 16 /* in one path */

void hr_string_list_fini(hr_string_list *list)
{
    for (int32_t i = 0; i < list->n; i++)
        hr_free((void *)(uintptr_t)list->v[i]);
    hr_free(list->v);
    *list = (hr_string_list){0};
}

hr_strings hr_string_list_view(const hr_string_list *list)
{
    return (hr_strings){list->v, list->n};
}

static hr_status add(hr_string_list *list, const char *text, hr_error *error)
{
    if (list->n == MAX_PATHS)
        return hr_fail(error, HR_STATUS_LIMIT, "the braces stand for more than %d paths",
                       MAX_PATHS);
    if (list->n == list->capacity) {
        int32_t capacity = HR_MAX(16, 2 * list->capacity);
        const char **v = hr_realloc(list->v, (size_t)capacity, sizeof(*v), error);
        HR_TRY_ALLOC(v);
        list->v = v;
        list->capacity = capacity;
    }
    char *copy = hr_strdup(text, error);
    HR_TRY_ALLOC(copy);
    list->v[list->n++] = copy;
    return HR_STATUS_OK;
}

/* Parses digits; false if there are none or more than nine. */
static bool digits(const char **at, long *value)
{
    const char *start = *at;
    for (*value = 0; **at >= '0' && **at <= '9' && *at - start < 10; (*at)++)
        *value = 10 * *value + (**at - '0');
    return *at > start && *at - start < 10;
}

typedef struct group { /* one pair of braces in a path */
    const char *open, *close;
    bool range;
    long first, last;
    int width; /* of the numbers, 0: as they are */
} group;

static bool parse_range(group *g)
{
    const char *at = g->open + 1;
    if (!digits(&at, &g->first))
        return false;
    long size = at - g->open - 1;
    g->width = g->open[1] == '0' ? (int)size : 0;
    if (strncmp(at, "..", 2) != 0)
        return false;
    at += 2;
    return digits(&at, &g->last) && at == g->close && g->first <= g->last;
}

/* The first braces that stand for something. */
static bool find_group(const char *path, group *g)
{
    for (const char *open = strchr(path, '{'); open; open = strchr(open + 1, '{')) {
        *g = (group){.open = open, .close = open + 1 + strcspn(open + 1, "{}")};
        if (*g->close != '}')
            continue;
        g->range = parse_range(g);
        if (g->range || memchr(open, ',', (size_t)(g->close - open)))
            return true;
    }
    return false;
}

static hr_status expand(hr_string_list *out, const char *path, int32_t depth, hr_error *error);

/* The path with `size` bytes of `text` in place of the braces. */
static hr_status replace(hr_string_list *out, const char *path, const group *g, const char *text,
                         size_t size, int32_t depth, hr_error *error)
{
    char joined[MAX_PATH_SIZE];
    int n = snprintf(joined, sizeof(joined), "%.*s%.*s%s", (int)(g->open - path), path, (int)size,
                     text, g->close + 1);
    if (n < 0 || (size_t)n >= sizeof(joined))
        return hr_fail(error, HR_STATUS_LIMIT, "a path has more than %d bytes", MAX_PATH_SIZE - 1);
    return expand(out, joined, depth + 1, error);
}

/* `depth`: how many pairs of braces have been replaced. */
static hr_status expand(hr_string_list *out, const char *path, int32_t depth, hr_error *error)
{
    group g;
    if (!find_group(path, &g))
        return add(out, path, error);
    if (depth == MAX_GROUPS)
        return hr_fail(error, HR_STATUS_LIMIT, "a path has more than %d pairs of braces",
                       MAX_GROUPS);
    if (g.range) {
        char text[24];
        for (long i = g.first; i <= g.last; i++) {
            int n = snprintf(text, sizeof(text), "%0*ld", g.width, i);
            HR_TRY(replace(out, path, &g, text, (size_t)n, depth, error));
        }
        return HR_STATUS_OK;
    }
    for (const char *at = g.open + 1; at <= g.close;) {
        size_t size = strcspn(at, ",}");
        HR_TRY(replace(out, path, &g, at, size, depth, error));
        at += size + 1;
    }
    return HR_STATUS_OK;
}

hr_status hr_braces_expand(hr_string_list *out, const hr_strings *paths, hr_error *error)
{
    for (int32_t i = 0; i < paths->n; i++) {
        if (strlen(paths->v[i]) >= MAX_PATH_SIZE)
            return hr_fail(error, HR_STATUS_LIMIT, "a path has more than %d bytes",
                           MAX_PATH_SIZE - 1);
        HR_TRY(expand(out, paths->v[i], 0, error));
    }
    return HR_STATUS_OK;
}
