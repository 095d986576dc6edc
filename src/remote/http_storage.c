/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Objects that are read with HTTP: http://, https://, s3://, gs://, az://. Opening one reads its
 * first bytes, because that takes as long as asking for its size; a small object is then complete.
 */
#include "io/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "remote/disk_cache.h"
#include "remote/net.h"
#include "remote/s3.h"

#define PART ((size_t)8 << 20) /* bytes of a request; longer reads are several */
#define PARTS 4                /* of one read that are in flight */

extern const hr_storage hr_storage_http;

typedef struct remote {
    hr_object object;
    char *uri; /* as the user wrote it */
    char *url; /* of http:// and https:// */
    hr_s3 s3;  /* of the others: `key` is not NULL */
    char server[HR_S3_SERVER_SIZE];
    char tag[128];         /* ETag; "" if the server sends none */
    bool no_ranges;        /* the server sends whole objects only */
    const hr_place *place; /* the caller's, while it is opened; or NULL */
    void *own;             /* memory of the first bytes, unless they are where the caller wanted */
} remote;

/* A request for a range. */
typedef struct fetch {
    hr_net_call call;
    remote *remote;
    int64_t offset;
    size_t size;  /* of the range; when opening, the most */
    bool opening; /* the size of the object is not known yet */
    char url[HR_URL_SIZE];
} fetch;

/* ---- answers ---- */

/* "bytes FIRST-LAST/TOTAL"; "bytes * /TOTAL" gives -1 for both. */
static bool parse_content_range(const char *text, int64_t *first, int64_t *last, int64_t *total)
{
    char end;
    long long a = -1, b = -1, n = -1;
    if (sscanf(text, "bytes %19lld-%19lld/%19lld%c", &a, &b, &n, &end) != 3 &&
        sscanf(text, "bytes */%19lld%c", &n, &end) != 1)
        return false;
    *first = a;
    *last = b;
    *total = n;
    return n >= 0 && (a < 0 ? a == -1 && b == -1 : a <= b && b < n);
}

static uint64_t version_of(const char *text)
{
    uint64_t h = hr_fnv1a(HR_FNV1A, text, strlen(text));
    return h ? h : 1;
}

/* Takes the size and the version of an object that is being opened; otherwise they must not have
 * changed. */
static hr_status check_version(fetch *f, int64_t total, hr_error *error)
{
    char tag[sizeof(f->remote->tag)], modified[64];
    remote *o = f->remote;
    const hr_net_request *r = &f->call.request;
    if (!hr_net_header(r, "ETag", tag, sizeof(tag)))
        tag[0] = 0;
    if (!f->opening) {
        if (total != o->object.size || strcmp(tag, o->tag) != 0)
            return hr_fail(error, HR_STATUS_IO, "the object changed while it was read");
        return HR_STATUS_OK;
    }
    o->object.size = total;
    memcpy(o->tag, tag, sizeof(tag));
    if (tag[0])
        o->object.version = version_of(tag);
    else if (hr_net_header(r, "Last-Modified", modified, sizeof(modified)))
        o->object.version = version_of(modified);
    return HR_STATUS_OK;
}

static hr_status judge_range(fetch *f, bool *again, hr_error *error)
{
    const hr_net_request *r = &f->call.request;
    char text[96];
    int64_t first, last, total;
    if (!hr_net_header(r, "Content-Range", text, sizeof(text)) ||
        !parse_content_range(text, &first, &last, &total))
        return hr_fail(error, HR_STATUS_IO,
                       "the server sent a range without a valid Content-Range");
    int64_t wanted = HR_MIN(f->offset + (int64_t)f->size, total) - 1;
    if (first != f->offset || last != wanted)
        return hr_fail(error, HR_STATUS_IO,
                       "the server sent the bytes %lld-%lld of %lld instead of %lld-%lld",
                       (long long)first, (long long)last, (long long)total, (long long)f->offset,
                       (long long)f->offset + (long long)f->size - 1);
    if (r->longer || (int64_t)r->size != last - first + 1) {
        *again = true;
        return hr_fail(error, HR_STATUS_IO, "the server sent %s%zu of %lld bytes",
                       r->longer ? "more than " : "", r->size, (long long)(last - first + 1));
    }
    return check_version(f, total, error);
}

/* The whole object, although a range may have been asked for. */
static hr_status judge_whole(fetch *f, hr_error *error)
{
    const hr_net_request *r = &f->call.request;
    remote *o = f->remote;
    char text[32], *end = text;
    long long length = (long long)r->size;
    if (hr_net_header(r, "Content-Length", text, sizeof(text)) && text[0] >= '0' && text[0] <= '9')
        length = strtoll(text, &end, 10);
    if (r->longer && (end == text || *end || length <= (long long)r->size))
        return hr_fail(error, HR_STATUS_IO, "the server neither states the size nor serves ranges");
    if (f->opening) {
        o->no_ranges = r->longer;
        return check_version(f, length, error);
    }
    if (f->offset != 0 || r->longer || r->size != f->size)
        return hr_fail(error, HR_STATUS_IO, "the server does not serve ranges of this object");
    return check_version(f, length, error);
}

/* No byte could be sent although the first ones were asked for. S3 does not send Content-Range. */
static bool is_empty(const hr_net_request *r)
{
    char text[96];
    int64_t first, last, total;
    if (!hr_net_header(r, "Content-Range", text, sizeof(text)))
        return r->code == 416;
    return r->code == 416 && parse_content_range(text, &first, &last, &total) && total == 0;
}

static hr_status judge(void *context, hr_net_call *call, bool *again, hr_error *error)
{
    fetch *f = context;
    const hr_net_request *r = &call->request;
    if (r->end == HR_NET_END_ANSWERED && r->code == 206)
        return judge_range(f, again, error);
    if (r->end == HR_NET_END_ANSWERED && r->code == 200)
        return judge_whole(f, error);
    if (r->end == HR_NET_END_ANSWERED && f->opening && is_empty(r))
        return check_version(f, 0, error);
    return f->remote->s3.key ? hr_s3_fail(&f->remote->s3, call, again, error)
                             : hr_net_fail(call, error);
}

static hr_status sign(void *context, hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    fetch *f = context;
    const remote *o = f->remote;
    char range[64];
    snprintf(range, sizeof(range), "bytes=%lld-%lld", (long long)f->offset,
             (long long)f->offset + (long long)f->size - 1);
    if (o->s3.key)
        return hr_s3_sign(&o->s3, call, f->url, o->s3.key, "", o->no_ranges ? NULL : range, cancel,
                          error);
    return o->no_ranges ? HR_STATUS_OK : hr_net_call_header(call, error, "Range: %s", range);
}

static void fetch_init(fetch *f, remote *o, int64_t offset, size_t size, void *dst)
{
    *f = (fetch){.remote = o, .offset = offset, .size = size, .opening = o->object.size < 0};
    f->call.request.url = o->url;
    f->call.request.follow = o->url != NULL; /* a signature is for one server */
    f->call.request.body = dst;
    f->call.request.room = size;
    f->call.sign = sign;
    f->call.judge = judge;
    f->call.context = f;
}

/* ---- the storage ---- */

static void remote_close(hr_object *object)
{
    remote *o = (remote *)object;
    hr_free(o->own);
    hr_free(o->uri);
    hr_free(o->url);
    hr_s3_fini(&o->s3);
    hr_free(o);
}

/* Bytes that may not be in a URL are escaped; the rest is the user's. */
static char *url_of(const char *uri, hr_error *error)
{
    size_t size = strlen(uri);
    char *url = hr_calloc(3 * size + 1, 1, error), *to = url;
    for (const char *at = uri; url && *at; at++) {
        if (*at > ' ' && *at < 127 && !strchr("\"<>\\^`{|}", *at))
            *to++ = *at;
        else
            to += sprintf(to, "%%%02X", (unsigned)(uint8_t)*at);
    }
    return url;
}

/* Memory for the first bytes. The size of the object is not known until its answer begins, and it
 * is usually far below what was asked for. */
static void *place_first(void *context, size_t size)
{
    remote *o = context;
    void *memory = o->place ? o->place->memory(o->place->context, size) : NULL;
    hr_free(o->own); /* of an attempt that failed */
    o->own = memory ? NULL : hr_realloc(NULL, HR_MAX(size, (size_t)1), 1, NULL);
    o->object.first = memory ? memory : o->own;
    return (void *)(uintptr_t)o->object.first;
}

static hr_status fetch_first(remote *o, size_t want, hr_cancel *cancel, hr_error *error)
{
    fetch *f = hr_realloc(NULL, 1, sizeof(*f), error);
    if (!f)
        return HR_STATUS_NO_MEMORY;
    fetch_init(f, o, 0, want, NULL);
    f->call.request.place = place_first;
    f->call.request.context = o;
    hr_status status = hr_net_call_run(&f->call, cancel, error);
    o->object.first_size = status == HR_STATUS_OK ? f->call.request.size : 0;
    hr_free(f);
    return status;
}

static hr_disk_range range_of(const remote *o, int64_t offset, size_t size)
{
    return (hr_disk_range){o->object.server, o->uri, offset, size};
}

static hr_disk_about about_of(const remote *o)
{
    hr_disk_about about = {.size = o->object.size, .version = o->object.version};
    memcpy(about.tag, o->tag, sizeof(about.tag));
    return about;
}

/* Whether the cache has the first bytes. */
static bool load_first(remote *o, size_t want)
{
    size_t size;
    hr_disk_about about;
    const hr_disk_range range = range_of(o, 0, want);
    if (!hr_disk_cache_is_on() || !(o->own = hr_realloc(NULL, want, 1, NULL)) ||
        !hr_disk_cache_load(&range, o->own, &size, &about) ||
        (int64_t)size != HR_MIN((int64_t)want, about.size))
        return false;
    void *shorter = hr_realloc(o->own, HR_MAX(size, (size_t)1), 1, NULL);
    o->own = shorter ? shorter : o->own;
    o->object.first = o->own;
    o->object.first_size = size;
    o->object.size = about.size;
    o->object.version = about.version;
    memcpy(o->tag, about.tag, sizeof(o->tag));
    return true;
}

/* Reads the first bytes, at most `want`. */
static hr_status read_first(remote *o, size_t want, hr_cancel *cancel, hr_error *error)
{
    if (load_first(o, want))
        return HR_STATUS_OK;
    HR_TRY(fetch_first(o, want, cancel, error));
    const hr_disk_about about = about_of(o);
    const hr_disk_range range = range_of(o, 0, want);
    if (!o->no_ranges)
        hr_disk_cache_store(&range, o->object.first, o->object.first_size, &about);
    return HR_STATUS_OK;
}

static hr_status remote_open(hr_object **out, const char *uri, size_t want, const hr_place *place,
                             hr_cancel *cancel, hr_error *error)
{
    remote *o = hr_calloc(1, sizeof(*o), error);
    if (!o)
        return HR_STATUS_NO_MEMORY;
    o->object = (hr_object){.storage = &hr_storage_http, .size = -1};
    o->place = place;
    o->uri = hr_strdup(uri, error);
    hr_status status = o->uri ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    if (!o->uri)
        ;
    else if (strncmp(uri, "http", 4) != 0)
        status = hr_s3_init(&o->s3, uri, error);
    else if (!(o->url = url_of(uri, error)))
        status = HR_STATUS_NO_MEMORY;
    if (status == HR_STATUS_OK && o->s3.key) {
        hr_s3_server(&o->s3, o->server);
        o->object.server = o->server;
    }
    if (status == HR_STATUS_OK)
        status = read_first(o, HR_MAX(want, (size_t)1), cancel, error);
    if (status != HR_STATUS_OK) {
        remote_close(&o->object);
        return status;
    }
    *out = &o->object;
    return HR_STATUS_OK;
}

/* Reads a range in several requests. The parts of a round follow one another by PARTS. */
static hr_status read_parts(remote *o, int64_t offset, size_t size, char *dst, hr_cancel *cancel,
                            hr_error *error)
{
    size_t part = o->no_ranges ? size : PART, count = (size + part - 1) / part, begun = 0;
    fetch *f = hr_calloc(HR_MIN(count, (size_t)PARTS), sizeof(*f), error);
    hr_status status = f ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    for (size_t ended = 0; ended < count && status == HR_STATUS_OK; ended++) {
        for (; begun < count && begun < ended + PARTS && status == HR_STATUS_OK; begun++) {
            size_t at = begun * part;
            fetch_init(&f[begun % PARTS], o, offset + (int64_t)at, HR_MIN(part, size - at),
                       dst + at);
            status = hr_net_call_begin(&f[begun % PARTS].call, cancel, error);
        }
        if (status == HR_STATUS_OK)
            status = hr_net_call_end(&f[ended % PARTS].call, cancel, error);
    }
    for (size_t i = 0; f && i < HR_MIN(begun, (size_t)PARTS); i++)
        hr_net_call_drop(&f[i].call); /* those that have not ended, after a failure */
    hr_free(f);
    return status;
}

static hr_status remote_read(hr_object *object, int64_t offset, size_t size, void *dst,
                             bool *cached, hr_cancel *cancel, hr_error *error)
{
    remote *o = (remote *)object;
    const uint8_t *first = object->first;
    *cached = false;
    if (size == 0)
        return HR_STATUS_OK;
    if ((uint64_t)offset + size <= object->first_size) {
        memcpy(dst, first + offset, size);
        return HR_STATUS_OK;
    }
    if (o->no_ranges && (offset != 0 || (int64_t)size != object->size))
        return hr_fail(error, HR_STATUS_IO,
                       "the server does not serve ranges, but %zu of %lld bytes are needed", size,
                       (long long)object->size);
    if (!o->no_ranges && (uint64_t)offset < object->first_size) { /* came with the opening */
        size_t have = object->first_size - (size_t)offset;
        memcpy(dst, first + offset, have);
        offset += (int64_t)have;
        dst = (char *)dst + have;
        size -= have;
    }
    size_t got;
    hr_disk_about about = about_of(o), kept;
    const hr_disk_range range = range_of(o, offset, size);
    if (hr_disk_cache_load(&range, dst, &got, &kept) && got == size && kept.size == about.size &&
        strcmp(kept.tag, about.tag) == 0)
        return HR_STATUS_OK;
    HR_TRY(read_parts(o, offset, size, dst, cancel, error));
    hr_disk_cache_store(&range, dst, size, &about);
    return HR_STATUS_OK;
}

static int32_t requests(void)
{
    hr_net_settings settings;
    hr_net_settings_get(&settings);
    return settings.requests;
}

#define REMOTE(name, lists)                                                                        \
    {                                                                                              \
        .scheme = name, .requests = requests, .open = remote_open, .read = remote_read,            \
        .close = remote_close, .list = lists                                                       \
    }
const hr_storage hr_storage_http = REMOTE("http", NULL);
const hr_storage hr_storage_https = REMOTE("https", NULL);
const hr_storage hr_storage_s3 = REMOTE("s3", hr_s3_list);
const hr_storage hr_storage_gs = REMOTE("gs", hr_s3_list);
const hr_storage hr_storage_az = REMOTE("az", hr_s3_list);
