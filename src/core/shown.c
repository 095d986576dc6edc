/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "core/shown.h"

#include "headrace/headrace.h"

#include <ctype.h>
#include <string.h>

#define SCHEME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-"

typedef struct writer {
    char *to;
    size_t size, used;
} writer;

static void put(writer *w, const char *text, size_t size)
{
    if (w->used + 1 >= w->size)
        return;
    size = size < w->size - w->used - 1 ? size : w->size - w->used - 1;
    memcpy(w->to + w->used, text, size);
    w->used += size;
}

static void put_mask(writer *w)
{
    put(w, "***", 3);
}

/* The size of a URL in a text. A quote ends it unless it seems to be part of a value. */
static size_t url_size(const char *url)
{
    size_t n = 0;
    for (; url[n]; n++) {
        unsigned char next = (unsigned char)url[n + 1];
        if (isspace((unsigned char)url[n]) || strchr("\"<>", url[n]) ||
            (url[n] == '\'' && !isalnum(next) && !(next && strchr("%&=@", next))))
            break;
    }
    return n;
}

/* Whether a URL of this scheme has a query. Everything in the names of local files and of the
 * objects of stores is part of the name. */
static bool has_query(const char *scheme, size_t size)
{
    static const char *const without[] = {"s3", "gs", "az", "file"};
    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
        if (size == strlen(without[i]) && memcmp(scheme, without[i], size) == 0)
            return false;
    return true;
}

static const char *last_at(const char *start, const char *end)
{
    while (end > start)
        if (*--end == '@')
            return end;
    return NULL;
}

/* Whether what stands before the path is a host and a port. */
static bool is_host(const char *start, const char *end)
{
    const char *colon = memchr(start, ':', (size_t)(end - start));
    if (*start == '[') /* an address of IPv6 */
        return true;
    for (const char *at = colon ? colon + 1 : end; at < end; at++)
        if (!isdigit((unsigned char)*at))
            return *at == '\'' || *at == ')' || *at == ',' ||
                   *at == ':'; /* of the text around it */
    return true;
}

/* Writes what follows "://". A slash in a password should be escaped, but may not be. */
static void put_url(writer *w, const char *rest, const char *end, bool query, bool cut)
{
    const char *path = rest;
    while (path < end && !strchr("/?#", *path))
        path++;
    bool host = is_host(rest, path);
    const char *at = last_at(rest, host ? path : end);
    if (at || (cut && path == end && !host)) {
        put_mask(w);
        rest = at ? at : end;
    }
    const char *mark = rest;
    while (query && mark < end && *mark != '?' && *mark != '#')
        mark++;
    mark = query ? mark : end;
    put(w, rest, (size_t)(mark - rest));
    if (mark < end) {
        put(w, mark, 1);
        if (strncmp(mark + 1, "***", 3) == 0)
            put(w, mark + 1, (size_t)(end - mark - 1));
        else if (mark + 1 < end || cut)
            put_mask(w);
    }
}

static void copy(const char *text, bool whole, bool cut, char *to, size_t size)
{
    writer w = {to, size, 0};
    for (const char *found; (found = strstr(text, "://"));) {
        const char *scheme = found, *rest = found + 3;
        while (scheme > text && strchr(SCHEME_CHARS, scheme[-1]))
            scheme--;
        const char *end = rest + (whole ? strlen(rest) : url_size(rest));
        put(&w, text, (size_t)(rest - text));
        put_url(&w, rest, end, has_query(scheme, (size_t)(found - scheme)), cut && !*end);
        text = end;
    }
    put(&w, text, strlen(text));
    if (size > 0)
        to[w.used] = 0;
}

void hr_mask_secrets(const char *text, char *to, size_t size)
{
    copy(text, false, false, to, size);
}

void hr_shown_text(const char *text, bool cut, char *to, size_t size)
{
    copy(text, false, cut, to, size);
}

const char *hr_shown_name(const char *name, char *room, size_t size)
{
    if (!strstr(name, "://"))
        return name;
    copy(name, true, strlen(name) + 1 >= size, room, size);
    return strcmp(room, name) == 0 ? name : room;
}
