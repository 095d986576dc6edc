/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/tar/wds_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define MAX_COMPONENTS 1024 /* of a sample in an index */

/* ---- scans: per member its offset, size, kind and size of the name, and the name ---- */

typedef struct record {
    int64_t offset, size;
    uint32_t kind, name_size;
} record;

static hr_status scan_members(hr_object *object, hr_scan *out, hr_error *error)
{
    hr_tar tar;
    hr_tar_init(&tar, object);
    hr_status status;
    bool end = false;
    for (;;) {
        hr_tar_member m;
        status = hr_tar_next(&tar, &m, &end, error);
        if (status != HR_STATUS_OK || end)
            break;
        record r = {m.offset, m.size, (uint32_t)m.kind, (uint32_t)strlen(m.name)};
        status = hr_scan_add(out, &r, sizeof(r), error);
        if (status == HR_STATUS_OK)
            status = hr_scan_add(out, m.name, r.name_size, error);
        if (status != HR_STATUS_OK)
            break;
    }
    hr_tar_fini(&tar);
    return status;
}

bool hr_wds_member_at(const hr_scan *scan, size_t *at, hr_wds_member *out)
{
    record r;
    if (scan->size - *at < sizeof(r))
        return false;
    memcpy(&r, scan->data + *at, sizeof(r));
    *at += sizeof(r);
    if (scan->size - *at < r.name_size || r.kind >= HR_TAR_KINDS)
        return false;
    *out = (hr_wds_member){r.offset, r.size, scan->data + *at, r.name_size, (hr_tar_kind)r.kind};
    *at += r.name_size;
    return true;
}

static bool members_valid(const hr_scan *scan, int64_t size)
{
    hr_wds_member m;
    size_t at = 0;
    while (hr_wds_member_at(scan, &at, &m))
        if (m.offset < 0 || m.size < 0 || m.offset > size || m.size > size - m.offset ||
            memchr(m.name, 0, m.name_size))
            return false;
    return at == scan->size;
}

const hr_scanner hr_wds_scanner = {
    .kind = "tar 2",
    .scan = scan_members,
    .valid = members_valid,
};

/* ---- index files ---- */

typedef struct line {
    char *at; /* rest of it, zero-terminated */
    int64_t number;
} line;

/* The next word of a line, or NULL. */
static char *word(line *l, size_t *size)
{
    l->at += strspn(l->at, " \t\r");
    char *start = l->at;
    *size = strcspn(start, " \t\r");
    l->at += *size;
    return *size ? start : NULL;
}

static bool whole(line *l, int64_t *out)
{
    size_t size;
    char *text = word(l, &size), *end;
    errno = 0;
    *out = text ? strtoll(text, &end, 10) : 0;
    return text && !errno && end == text + size;
}

static hr_status component(line *l, bool named, hr_wds_component *out, hr_error *error)
{
    if (!whole(l, &out->offset) || !whole(l, &out->size) ||
        (named && !(out->name = word(l, &out->name_size))))
        return hr_fail(error, HR_STATUS_ERROR,
                       "line %lld: Could not find all necessary component parameters: an "
                       "extension, an offset%s",
                       (long long)l->number, named ? ", a size and a name" : " and a size");
    if (out->offset % BLOCK != 0)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "line %lld: tar offset is not a multiple of tar block size (%d): offset %lld",
            (long long)l->number, BLOCK, (long long)out->offset);
    if (out->offset < 0 || out->size < 0)
        return hr_fail(error, HR_STATUS_ERROR, "line %lld: offset %lld or size %lld is negative",
                       (long long)l->number, (long long)out->offset, (long long)out->size);
    return HR_STATUS_OK;
}

static hr_status sample_line(line *l, bool named, hr_wds_component *parts, hr_wds_sample_fn found,
                             void *context, hr_error *error)
{
    int32_t n = 0;
    for (;;) {
        hr_wds_component c = {.name = ""};
        char *ext = word(l, &c.ext_size);
        if (!ext)
            break;
        if (n == MAX_COMPONENTS)
            return hr_fail(error, HR_STATUS_LIMIT, "line %lld: more than %d components",
                           (long long)l->number, MAX_COMPONENTS);
        c.ext = ext;
        HR_TRY(component(l, named, &c, error));
        parts[n++] = c;
    }
    if (n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "line %lld: no extensions provided for the sample",
                       (long long)l->number);
    hr_status status = found(context, parts, n, error);
    return status == HR_STATUS_OK ? status
                                  : hr_error_prefix(error, "line %lld", (long long)l->number);
}

/* Cuts the line off `*text`, which moves on to the next one. */
static bool next_line(char **text, line *l)
{
    if (!*text)
        return false;
    l->at = *text;
    l->number++;
    char *end = strchr(*text, '\n');
    if (end)
        *end = 0;
    *text = end ? end + 1 : NULL;
    return true;
}

static hr_status parse(char *text, hr_wds_component *parts, hr_wds_sample_fn found, void *context,
                       hr_error *error)
{
    line l = {0};
    int64_t count;
    size_t size;
    if (!next_line(&text, &l))
        return HR_STATUS_OK;
    const char *version = word(&l, &size);
    if (!version)
        return hr_fail(error, HR_STATUS_ERROR,
                       "no version signature found; wds2idx makes an index");
    bool old = size == 4 && memcmp(version, "v1.1", 4) == 0;
    bool named = size == 4 && memcmp(version, "v1.2", 4) == 0;
    if (!old && !named)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Unsupported version of the index file (%.*s). It must be v1.1 or v1.2",
                       (int)HR_MIN(size, 16), version);
    char *rest = word(&l, &size);
    if (!rest)
        return hr_fail(error, HR_STATUS_ERROR, "no sample count found");
    l.at = rest;
    if (!whole(&l, &count) || count <= 0)
        return hr_fail(error, HR_STATUS_ERROR, "sample count must be positive, got %.*s",
                       (int)HR_MIN(size, 24), rest);
    for (int64_t i = 0; i < count; i++) {
        if (!next_line(&text, &l))
            return hr_fail(error, HR_STATUS_ERROR, "it ends after %lld of %lld samples",
                           (long long)i, (long long)count);
        HR_TRY(sample_line(&l, named, parts, found, context, error));
    }
    return HR_STATUS_OK;
}

hr_status hr_wds_index_read(const char *path, hr_wds_sample_fn found, void *context,
                            hr_error *error)
{
    char *text;
    size_t size;
    HR_TRY(hr_object_text(path, &text, &size, error));
    hr_wds_component *parts = hr_calloc(MAX_COMPONENTS, sizeof(*parts), error);
    hr_status status = parts ? parse(text, parts, found, context, error) : HR_STATUS_NO_MEMORY;
    hr_free(parts);
    hr_free(text);
    return status;
}
