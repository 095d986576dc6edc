/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/net.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/clock.h"
#include "core/hash.h"
#include "core/library.h"
#include "io/storage.h"

#define WAIT_MS 50         /* how long a set `cancel` may go unnoticed */
#define PAUSE_MS 100       /* the most before the second attempt; doubles with each further one */
#define PAUSE_MAX 6400     /* ms */
#define RETRY_AFTER_MAX 30 /* seconds that a server may ask for */
#define SILENT_MAX 5000    /* ms */
#define SERVERS 16         /* that are remembered */
#define LEAST_TIME 8       /* an attempt has this fraction of the time, or is not made */
#define ATTEMPTS_MAX 100
#define REQUESTS_MAX 1024

static hr_status get_module(const hr_net_module_def **out, hr_error *error)
{
    static const hr_library library = {.name = "module for HTTP",
                                       .file = "libheadrace_net.so",
                                       .variable = "HEADRACE_NET_MODULE",
                                       .entry = "hr_net_module",
                                       .abi = HR_NET_ABI_VERSION,
                                       .size = sizeof(hr_net_module_def)};
    static _Atomic(const hr_net_module_def *) found;
    if ((*out = atomic_load(&found)))
        return HR_STATUS_OK;
    void *symbol = NULL;
    hr_net_module_fn entry = NULL;
    HR_TRY(hr_library_open(&library, &symbol, error));
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    HR_TRY(hr_library_check(&library, *out, error));
    atomic_store(&found, *out);
    return HR_STATUS_OK;
}

const char *hr_net_version(hr_error *error)
{
    const hr_net_module_def *module;
    char message[512] = "";
    if (get_module(&module, error) != HR_STATUS_OK)
        return NULL;
    const char *version = module->version(message, sizeof(message));
    if (!version)
        hr_fail(error, HR_STATUS_ERROR, "%s", message);
    return version;
}

/* ---- settings ---- */

static int32_t number_of(const char *variable, double scale, int32_t most, int32_t otherwise)
{
    const char *text = getenv(variable);
    char *end = NULL;
    double v = text && text[0] ? strtod(text, &end) * scale : 0;
    return end && !*end && v >= 1 && v <= (double)most ? (int32_t)v : otherwise;
}

void hr_net_settings_get(hr_net_settings *out)
{
    out->timeout_ms = number_of("HEADRACE_NET_TIMEOUT", 1000, 86400000, 30000);
    out->attempts = number_of("HEADRACE_NET_ATTEMPTS", 1, ATTEMPTS_MAX, 8);
    out->requests = number_of("HEADRACE_NET_REQUESTS", 1, REQUESTS_MAX, 64);
}

/* ---- headers ---- */

hr_status hr_net_call_header(hr_net_call *call, hr_error *error, const char *fmt, ...)
{
    va_list list;
    size_t room = sizeof(call->text) - call->text_size;
    char *text = call->text + call->text_size;
    va_start(list, fmt);
    int n = vsnprintf(text, room, fmt, list);
    va_end(list);
    if (n < 0 || (size_t)n >= room || call->request.header_count == HR_NET_HEADERS)
        return hr_fail(error, HR_STATUS_LIMIT, "the headers of the request are too long");
    if (text[strcspn(text, "\r\n")])
        return hr_fail(error, HR_STATUS_ERROR, "a header of the request has more than one line");
    call->text_size += (size_t)n + 1;
    call->header[call->request.header_count++] = text;
    return HR_STATUS_OK;
}

const char *hr_net_header(const hr_net_request *request, const char *name, char *room, size_t size)
{
    size_t length = strlen(name);
    for (const char *line = request->head, *end; *line; line = end) {
        end = line + strcspn(line, "\r\n");
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1;
            line += strspn(line, " \t");
            while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
            if ((size_t)(end - line) >= size)
                return NULL;
            memcpy(room, line, (size_t)(end - line));
            room[end - line] = 0;
            return room;
        }
        end += strspn(end, "\r\n");
    }
    return NULL;
}

/* ---- failures ---- */

/* The text of an element of a short XML answer, as S3 sends with failures; "" if it is not there.
 */
static const char *element(const char *text, const char *name, char *room, size_t size)
{
    char tag[32];
    snprintf(tag, sizeof(tag), "<%s>", name);
    const char *at = strstr(text, tag);
    room[0] = 0;
    if (!at)
        return room;
    at += strlen(tag);
    size_t n = HR_MIN(strcspn(at, "<&\r\n"), size - 1);
    for (size_t i = 0; i < n; i++)
        room[i] = at[i] >= ' ' && at[i] < 127 ? at[i] : '?';
    room[n] = 0;
    return room;
}

static const char *advice_of(int32_t code, const char *s3_code)
{
    if (strcmp(s3_code, "ExpiredToken") == 0 || strcmp(s3_code, "RequestExpired") == 0)
        return "; the credentials have expired";
    if (strcmp(s3_code, "RequestTimeTooSkewed") == 0)
        return "; the clock of this machine is wrong";
    if (code == 401 || code == 403)
        return "; check the credentials and their permissions";
    return code == 404 ? "; it does not exist" : "";
}

hr_status hr_net_fail(const hr_net_call *call, hr_error *error)
{
    const hr_net_request *r = &call->request;
    char code[64], text[256], after[64] = "";
    if (call->attempt > 1)
        snprintf(after, sizeof(after), " (%d attempts in %.1f s)", (int)call->attempt,
                 (double)call->spent_ms / 1000);
    if (r->end != HR_NET_END_ANSWERED)
        return hr_fail(error, HR_STATUS_IO, "%s%s, after %zu bytes%s",
                       r->end == HR_NET_END_SLOW ? "the server is too slow: " : "", r->message,
                       r->size, after);
    element(r->text, "Code", code, sizeof(code));
    element(r->text, "Message", text, sizeof(text));
    return hr_fail(error, HR_STATUS_IO, "the server answered HTTP %d%s%s%s%s%s%s", (int)r->code,
                   code[0] ? " " : "", code, text[0] ? ": " : "", text, advice_of(r->code, code),
                   after);
}

bool hr_net_again(const hr_net_call *call)
{
    static const int32_t codes[] = {408, 425, 429, 500, 502, 503, 504};
    const hr_net_request *r = &call->request;
    if (r->end != HR_NET_END_ANSWERED)
        return r->end == HR_NET_END_BROKEN || r->end == HR_NET_END_SLOW;
    for (size_t i = 0; i < HR_COUNT_OF(codes); i++)
        if (r->code == codes[i])
            return true;
    return false;
}

/* ---- servers that do not answer ---- */

/* After a request has failed because a server did not answer, others to it fail at once for a
 * while: they would all wait as long. An element has 32 bits of the server's hash and the time in
 * units of 16 ms. */
static _Atomic uint64_t silent[SERVERS];
static pthread_mutex_t why_lock = PTHREAD_MUTEX_INITIALIZER; /* guards `why`; only ever tried */
static char why[SERVERS][sizeof(((hr_net_request *)0)->message)];

/* The hash of "scheme://host:port". */
static uint32_t server_of(const char *url)
{
    const char *host = strstr(url, "://");
    size_t size = host ? (size_t)(host - url) + 3 : 0;
    uint64_t h = hr_fnv1a(HR_FNV1A, url, size + strcspn(url + size, "/?#"));
    return (uint32_t)(h ^ h >> 32);
}

static void note_server(const hr_net_call *call, bool answers)
{
    uint32_t server = server_of(call->request.url);
    _Atomic uint64_t *slot = &silent[server % SERVERS];
    if (!answers && pthread_mutex_trylock(&why_lock) == 0) {
        memcpy(why[server % SERVERS], call->request.message, sizeof(why[0]));
        pthread_mutex_unlock(&why_lock);
    }
    if (!answers)
        atomic_store(slot, (uint64_t)server << 32 | (uint32_t)(hr_clock_ms() >> 4));
    else if (atomic_load(slot) >> 32 == server)
        atomic_store(slot, 0);
}

static hr_status check_server(const hr_net_call *call, hr_error *error)
{
    uint32_t server = server_of(call->request.url);
    uint64_t slot = atomic_load(&silent[server % SERVERS]);
    int64_t passed = (int64_t)(uint32_t)((uint32_t)(hr_clock_ms() >> 4) - (uint32_t)slot) << 4;
    if (!slot || slot >> 32 != server || passed >= HR_MIN(call->timeout_ms / 3, SILENT_MAX))
        return HR_STATUS_OK;
    char text[sizeof(why[0])] = "";
    if (pthread_mutex_trylock(&why_lock) == 0) {
        memcpy(text, why[server % SERVERS], sizeof(text));
        pthread_mutex_unlock(&why_lock);
    }
    return hr_fail(error, HR_STATUS_IO,
                   "not sent, because the server did not answer %.1f s ago%s%s",
                   (double)passed / 1000, text[0] ? ": " : "", text);
}

/* ---- attempts ---- */

static hr_status submit(hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    const hr_net_module_def *module;
    hr_net_settings settings;
    hr_net_request *r = &call->request;
    hr_net_settings_get(&settings);
    HR_TRY(get_module(&module, error));
    call->timeout_ms = call->timeout_ms ? call->timeout_ms : settings.timeout_ms;
    call->attempts = call->attempts ? call->attempts : settings.attempts;
    r->headers = call->header;
    r->header_count = 0;
    call->text_size = 0;
    if (call->sign)
        HR_TRY(call->sign(call->context, call, cancel, error)); /* may set the URL */
    if (call->attempt == 0)
        HR_TRY(check_server(call, error));
    /* one attempt leaves time for another, and no attempt outlasts the time for all */
    int32_t left = HR_MAX(call->timeout_ms - call->spent_ms, 1);
    r->stall_ms = HR_MIN(left, HR_MAX(call->timeout_ms / 3, 1));
    r->total_ms = left;
    call->attempt++;
    if (module->submit(r, settings.requests))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "%s", r->message);
}

static hr_status cancelled(hr_error *error)
{
    return hr_fail(error, HR_STATUS_STATE, "the request was cancelled");
}

static hr_status wait_for(hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    const hr_net_module_def *module;
    HR_TRY(get_module(&module, error));
    while (!module->wait(&call->request, WAIT_MS)) {
        if (hr_cancelled(cancel)) {
            module->abandon(&call->request);
            return cancelled(error);
        }
    }
    call->spent_ms += call->request.taken_ms;
    return HR_STATUS_OK;
}

/* How long to wait before another attempt: random, so that many clients do not return at once, or
 * as long as the server asks for. */
static int32_t pause_of(const hr_net_call *call)
{
    char room[32];
    int64_t most = HR_MIN((int64_t)PAUSE_MS << HR_MIN(call->attempt - 1, 8), (int64_t)PAUSE_MAX);
    uint64_t mixed =
        ((uint64_t)hr_clock_ns() ^ (uint64_t)(uintptr_t)call << 7) * UINT64_C(0x9e3779b97f4a7c15);
    int32_t ms = (int32_t)(mixed >> 33) % (int32_t)most + 1;
    if (call->request.end == HR_NET_END_ANSWERED &&
        hr_net_header(&call->request, "Retry-After", room, sizeof(room))) {
        long seconds = strtol(room, NULL, 10); /* a date gives 0 or the day: see the limit */
        if (seconds > 0 && !strchr(room, ':'))
            ms += (int32_t)HR_MIN(seconds, (long)RETRY_AFTER_MAX) * 1000;
    }
    return ms;
}

static bool pause_before(hr_net_call *call, int32_t ms, hr_cancel *cancel)
{
    call->spent_ms += ms;
    for (; ms > 0 && !hr_cancelled(cancel); ms -= WAIT_MS)
        nanosleep(&(struct timespec){0, (long)HR_MIN(ms, WAIT_MS) * 1000000}, NULL);
    return !hr_cancelled(cancel);
}

hr_status hr_net_call_begin(hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    call->attempt = call->spent_ms = 0;
    return submit(call, cancel, error);
}

hr_status hr_net_call_end(hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    for (;;) {
        HR_TRY(wait_for(call, cancel, error));
        const hr_net_request *r = &call->request;
        bool again = hr_net_again(call);
        hr_status status = HR_STATUS_OK;
        if (call->judge)
            status = call->judge(call->context, call, &again, error);
        else if (r->end != HR_NET_END_ANSWERED || r->code < 200 || r->code > 299)
            status = hr_net_fail(call, error);
        int32_t ms = pause_of(call);
        bool last = status == HR_STATUS_OK || !again || call->attempt >= call->attempts ||
                    call->spent_ms + ms > call->timeout_ms - call->timeout_ms / LEAST_TIME;
        if (last || r->code > 0)
            note_server(call, r->code > 0);
        if (last)
            return status;
        if (!pause_before(call, ms, cancel))
            return cancelled(error);
        HR_TRY(submit(call, cancel, error));
    }
}

hr_status hr_net_call_run(hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    HR_TRY(hr_net_call_begin(call, cancel, error));
    return hr_net_call_end(call, cancel, error);
}

void hr_net_call_drop(hr_net_call *call)
{
    const hr_net_module_def *module;
    if (get_module(&module, NULL) == HR_STATUS_OK)
        module->abandon(&call->request);
}
