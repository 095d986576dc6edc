/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* libheadrace_net.so: one thread drives all transfers of a process with curl_multi. Requests first
 * wait in a queue, then they are active, then they have ended. */
#include "remote/net_module.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "curl.h"

#define POLL_MS 100 /* how late a stalled transfer may be noticed */
#define IDLE_MS 60000
#define REDIRECTS 5
#define SPARE_MAX 64            /* handles that are kept for other requests */
#define READ_BUFFER (64L << 10) /* of each transfer: short enough to stay in a CPU's cache */

/* What libcurl needs for a transfer. It outlives the transfer if that is ended early, because
 * removing it from libcurl may wait for the resolver. */
typedef struct handle {
    struct handle *next;
    void *easy;
    curl_list *headers;
    char error[CURL_ERROR_SIZE];
} handle;

typedef struct transfer {
    struct transfer *next, *prev;
    hr_net_request *request;
    handle *handle; /* while it is active */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done; /* guarded by `lock` */
    bool abandoned;
    bool placed, no_memory; /* of request->place */
    char *body;
    size_t room;
    int64_t begun_ms, heard_ms; /* activated; last sign of the server */
} transfer;

typedef struct list {
    transfer *first, *last;
    int32_t count;
} list;

/* All of a process. `lock` guards it, except for what only the thread uses: `spare`, `dropped` and
 * `ended`. */
typedef struct engine {
    curl curl;
    void *multi;
    pthread_t thread;
    pthread_mutex_t lock;
    list queued, active, ended; /* `ended`: to be announced */
    int32_t most;
    bool stop, sleeping;     /* `sleeping`: a request that can start has to wake the thread */
    handle *spare, *dropped; /* for other transfers; to be removed from libcurl */
    int32_t spare_count;
} engine;

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static engine *opened; /* guarded by `opening`; never freed, since transfers may use it */
static curl library;   /* guarded by `opening` */
static bool library_open;

static void list_add(list *l, transfer *t)
{
    t->next = NULL;
    t->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = t;
    l->last = t;
    l->count++;
}

static void list_remove(list *l, transfer *t)
{
    *(t->prev ? &t->prev->next : &l->first) = t->next;
    *(t->next ? &t->next->prev : &l->last) = t->prev;
    l->count--;
}

/* ---- one transfer, on the thread ---- */

/* Header lines, one per call. A status line begins the header of another answer. */
static size_t on_header(char *data, size_t size, size_t count, void *user)
{
    transfer *t = user;
    hr_net_request *r = t->request;
    size *= count;
    t->heard_ms = hr_clock_ms();
    if (size >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        r->head_size = r->text_size = r->size = 0;
        r->code = 0;
    }
    /* lines that do not fit are left out */
    if (size < sizeof r->head - r->head_size) {
        memcpy(r->head + r->head_size, data, size);
        r->head_size += size;
        r->head[r->head_size] = 0;
    }
    return size;
}

/* Finds memory for a body that begins. */
static bool place(transfer *t)
{
    hr_net_request *r = t->request;
    int64_t length = -1;
    opened->curl.easy_getinfo(t->handle->easy, CURL_INFO_LENGTH, &length);
    size_t size = length >= 0 && (uint64_t)length < r->room ? (size_t)length : r->room;
    t->body = r->place ? r->place(r->context, size) : r->body;
    t->placed = t->body != NULL;
    t->no_memory = !t->placed;
    t->room = size;
    return t->placed;
}

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
    transfer *t = user;
    hr_net_request *r = t->request;
    long code = 0;
    size *= count;
    t->heard_ms = hr_clock_ms();
    opened->curl.easy_getinfo(t->handle->easy, CURL_INFO_CODE, &code);
    bool good = code >= 200 && code < 300;
    if (good && !t->placed && !place(t))
        return 0;
    size_t room = good ? t->room - r->size : sizeof r->text - 1 - r->text_size;
    size_t taken = size < room ? size : room;
    if (taken > 0)
        memcpy(good ? t->body + r->size : r->text + r->text_size, data, taken);
    *(good ? &r->size : &r->text_size) += taken;
    r->longer = good && taken < size;
    return taken < size ? 0 : size; /* enough: 0 ends the transfer */
}

static hr_net_end end_of(const transfer *t, int result)
{
    switch (result) {
    case CURL_CODE_OK:
        return HR_NET_END_ANSWERED;
    case CURL_CODE_TIMEOUT:
        return HR_NET_END_SLOW;
    case CURL_CODE_WRITE: /* on_body has had enough */
        if (t->no_memory)
            return HR_NET_END_FAILED;
        return t->request->code > 0 ? HR_NET_END_ANSWERED : HR_NET_END_BROKEN;
    case CURL_CODE_RESOLVE_PROXY:
    case CURL_CODE_RESOLVE_HOST:
    case CURL_CODE_CONNECT:
    case CURL_CODE_WEIRD_REPLY:
    case CURL_CODE_HTTP2:
    case CURL_CODE_PARTIAL:
    case CURL_CODE_TLS_CONNECT:
    case CURL_CODE_NOTHING:
    case CURL_CODE_SEND:
    case CURL_CODE_RECEIVE:
        return HR_NET_END_BROKEN;
    default:
        return HR_NET_END_FAILED;
    }
}

static bool set_options(const engine *e, transfer *t)
{
    const curl *c = &e->curl;
    const hr_net_request *r = t->request;
    handle *h = t->handle;
    bool secure = strncmp(r->url, "https://", 8) == 0;
    long allowed = secure ? CURL_PROTOCOL_HTTPS : CURL_PROTOCOL_HTTP | CURL_PROTOCOL_HTTPS;
    for (int32_t i = 0; i < r->header_count; i++) {
        curl_list *longer = c->slist_append(h->headers, r->headers[i]);
        if (!longer)
            return false;
        h->headers = longer;
    }
    int failed = 0;
    failed |= c->easy_setopt(h->easy, CURL_OPTION_URL, r->url);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_PROTOCOLS,
                             (long)(CURL_PROTOCOL_HTTP | CURL_PROTOCOL_HTTPS));
    failed |= c->easy_setopt(h->easy, CURL_OPTION_REDIRECT_PROTOCOLS, allowed);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_FOLLOW, (long)r->follow);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_MAX_REDIRECTS, (long)REDIRECTS);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_HTTP_VERSION, (long)CURL_HTTP_1_1);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_NO_SIGNAL, 1L);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_PATH_AS_IS, 1L);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_KEEP_ALIVE, 1L);
    /* fails for a handle that has been used, and keeps the size then */
    c->easy_setopt(h->easy, CURL_OPTION_BUFFER_SIZE, READ_BUFFER);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_USER_AGENT, "headrace/" HR_VERSION);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_CONNECT_TIMEOUT_MS, (long)r->stall_ms);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_ERROR_BUFFER, h->error);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_PRIVATE, t);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_HEADERS, h->headers);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_HEADER_FUNCTION, on_header);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_HEADER_DATA, t);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_WRITE_FUNCTION, on_body);
    failed |= c->easy_setopt(h->easy, CURL_OPTION_WRITE_DATA, t);
    if (r->method)
        failed |= c->easy_setopt(h->easy, CURL_OPTION_METHOD, r->method);
    if (r->content)
        failed |= c->easy_setopt(h->easy, CURL_OPTION_CONTENT, r->content);
    if (r->direct)
        failed |= c->easy_setopt(h->easy, CURL_OPTION_NO_PROXY, "*");
    return failed == 0;
}

/* Ends a transfer; announce_ended tells the waiting thread. Lock held. */
static void finish(engine *e, transfer *t, hr_net_end end, const char *why)
{
    hr_net_request *r = t->request;
    list_remove(t->handle ? &e->active : &e->queued, t);
    r->end = end;
    r->taken_ms = t->handle ? (int32_t)(hr_clock_ms() - t->begun_ms) : 0;
    if (end != HR_NET_END_ANSWERED)
        snprintf(r->message, sizeof r->message, "%s", why);
    r->text[r->text_size] = 0;
    if (t->handle) {
        t->handle->next = e->dropped;
        e->dropped = t->handle;
        t->handle = NULL;
    }
    list_add(&e->ended, t);
}

/* Wakes those who wait for transfers that have ended, and may free them at once. No lock held: a
 * woken thread would only wait for it. */
static void announce_ended(engine *e)
{
    for (transfer *t = e->ended.first, *next; t; t = next) {
        next = t->next;
        pthread_mutex_lock(&t->lock);
        t->done = true;
        pthread_cond_signal(&t->ended);
        pthread_mutex_unlock(&t->lock);
    }
    e->ended = (list){0};
}

/* Removes the handles of transfers that have ended from libcurl. No lock held. */
static void remove_dropped(engine *e)
{
    for (handle *h = e->dropped, *next; h; h = next) {
        next = h->next;
        e->curl.multi_remove_handle(e->multi, h->easy);
        e->curl.easy_reset(h->easy);
        e->curl.slist_free_all(h->headers);
        h->headers = NULL;
        h->error[0] = 0;
        if (e->spare_count < SPARE_MAX) {
            h->next = e->spare;
            e->spare = h;
            e->spare_count++;
        } else {
            e->curl.easy_cleanup(h->easy);
            free(h);
        }
    }
    e->dropped = NULL;
}

static handle *get_handle(engine *e)
{
    handle *h = e->spare;
    if (h) {
        e->spare = h->next;
        e->spare_count--;
        return h;
    }
    h = calloc(1, sizeof *h);
    if (h && !(h->easy = e->curl.easy_init())) {
        free(h);
        h = NULL;
    }
    return h;
}

/* Lock held. */
static void start(engine *e, transfer *t)
{
    handle *h = get_handle(e);
    if (!h) {
        finish(e, t, HR_NET_END_FAILED, "out of memory");
        return;
    }
    list_remove(&e->queued, t);
    list_add(&e->active, t);
    t->handle = h;
    t->begun_ms = t->heard_ms = hr_clock_ms();
    if (!set_options(e, t) || e->curl.multi_add_handle(e->multi, h->easy) != 0)
        finish(e, t, HR_NET_END_FAILED, "libcurl rejected the request");
}

/* Lock held. */
static void take_results(engine *e)
{
    curl_message *m;
    int left;
    while ((m = e->curl.multi_info_read(e->multi, &left))) {
        transfer *t = NULL;
        long code = 0;
        int result = m->data.result;
        if (m->kind != CURL_MESSAGE_DONE)
            continue;
        e->curl.easy_getinfo(m->easy, CURL_INFO_PRIVATE, &t);
        e->curl.easy_getinfo(m->easy, CURL_INFO_CODE, &code);
        t->request->code = (int32_t)code;
        const char *why = t->no_memory ? "out of memory" : t->handle->error;
        finish(e, t, end_of(t, result), why[0] ? why : e->curl.easy_strerror(result));
    }
}

/* Whether a transfer takes too long, and why. */
static bool is_slow(const transfer *t, int64_t now, char *why, size_t size)
{
    const hr_net_request *r = t->request;
    int64_t quiet = now - t->heard_ms, taken = now - t->begun_ms;
    int64_t allowed = r->total_ms + (int64_t)(r->size / HR_NET_LEAST_SPEED);
    if (quiet > r->stall_ms)
        snprintf(why, size, "no data for %.1f s", (double)quiet / 1000);
    else if (taken > allowed)
        snprintf(why, size, "not complete after %.1f s", (double)taken / 1000);
    return quiet > r->stall_ms || taken > allowed;
}

/* Ends transfers that are abandoned or slow. Lock held. */
static void end_others(engine *e)
{
    char why[64];
    int64_t now = hr_clock_ms();
    for (transfer *t = e->active.first, *next; t; t = next) {
        next = t->next;
        if (t->abandoned)
            finish(e, t, HR_NET_END_FAILED, "cancelled");
        else if (is_slow(t, now, why, sizeof why))
            finish(e, t, HR_NET_END_SLOW, why);
    }
    for (transfer *t = e->queued.first, *next; t; t = next) {
        next = t->next;
        if (t->abandoned)
            finish(e, t, HR_NET_END_FAILED, "cancelled");
    }
}

static bool can_start(const engine *e)
{
    return e->queued.first && e->active.count < e->most;
}

static void *thread_main(void *context)
{
    engine *e = context;
    int running;
    pthread_mutex_lock(&e->lock);
    while (!e->stop) {
        while (can_start(e))
            start(e, e->queued.first);
        pthread_mutex_unlock(&e->lock);
        e->curl.multi_perform(e->multi, &running);
        pthread_mutex_lock(&e->lock);
        take_results(e);
        end_others(e);
        int ms = e->active.count > 0 ? POLL_MS : IDLE_MS;
        e->sleeping = !can_start(e) && !e->stop;
        bool sleep = e->sleeping;
        pthread_mutex_unlock(&e->lock);
        announce_ended(e);
        remove_dropped(e);
        if (sleep) /* returns at once if the thread was woken since */
            e->curl.multi_poll(e->multi, NULL, 0, ms, NULL);
        pthread_mutex_lock(&e->lock);
        e->sleeping = false;
    }
    while (e->active.first)
        finish(e, e->active.first, HR_NET_END_FAILED, "the process is ending");
    while (e->queued.first)
        finish(e, e->queued.first, HR_NET_END_FAILED, "the process is ending");
    pthread_mutex_unlock(&e->lock);
    announce_ended(e);
    return NULL;
}

/* Whether the caller has to wake the thread, after it has released the lock; nobody else has to
 * then. Lock held. */
static bool was_sleeping(engine *e)
{
    bool sleeping = e->sleeping;
    e->sleeping = false;
    return sleeping;
}

/* ---- the engine ---- */

/* A forked child has no thread; it starts an engine of its own. */
static void in_child(void)
{
    pthread_mutex_init(&opening, NULL);
    opened = NULL;
}

/* Before the libraries that libcurl uses end at exit. */
static void at_exit(void)
{
    pthread_mutex_lock(&opening);
    engine *e = opened;
    pthread_mutex_unlock(&opening);
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_mutex_unlock(&e->lock);
    e->curl.multi_wakeup(e->multi);
    pthread_join(e->thread, NULL);
}

/* `opening` held. */
static bool open_library(char *message, size_t size)
{
    if (library_open)
        return true;
    if (!hr__curl_open(&library, message, size))
        return false;
    if (library.global_init(CURL_GLOBAL) != 0) {
        snprintf(message, size, "libcurl cannot be initialised");
        return false;
    }
    library_open = true;
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
    return true;
}

/* Signals are for the threads of the program. */
static int start_thread(engine *e)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&e->thread, NULL, thread_main, e);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

/* `opening` held. */
static engine *make_engine(char *message, size_t size)
{
    engine *e = calloc(1, sizeof *e);
    int failed = 0;
    if (!e)
        return NULL;
    e->curl = library;
    e->multi = library.multi_init();
    pthread_mutex_init(&e->lock, NULL);
    if (e->multi) {
        library.multi_setopt(e->multi, CURL_MULTI_OPTION_PIPELINING, 0L);
        library.multi_setopt(e->multi, CURL_MULTI_OPTION_KEPT_CONNECTIONS, 128L);
        opened = e;
        failed = start_thread(e);
        if (!failed)
            return e;
        opened = NULL;
        library.multi_cleanup(e->multi);
    }
    snprintf(message, size,
             "the thread for requests cannot be started: %s; check the limits on threads "
             "and memory (ulimit -u, the cgroup)",
             failed ? strerror(failed) : "out of memory");
    pthread_mutex_destroy(&e->lock);
    free(e);
    return NULL;
}

static engine *get_engine(char *message, size_t size)
{
    snprintf(message, size, "out of memory");
    pthread_mutex_lock(&opening);
    if (!opened && open_library(message, size))
        make_engine(message, size);
    engine *e = opened;
    pthread_mutex_unlock(&opening);
    return e;
}

/* ---- the table ---- */

static const char *version(char *message, size_t size)
{
    pthread_mutex_lock(&opening);
    const char *text = open_library(message, size) ? library.version() : NULL;
    pthread_mutex_unlock(&opening);
    return text;
}

static bool submit(hr_net_request *r, int32_t most)
{
    engine *e = get_engine(r->message, sizeof r->message);
    transfer *t = e ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return false;
    pthread_mutex_init(&t->lock, NULL);
    hr_cond_init(&t->ended);
    t->request = r;
    r->transfer = t;
    r->end = HR_NET_END_FAILED;
    r->code = r->taken_ms = 0;
    r->longer = false;
    r->size = r->head_size = r->text_size = 0;
    r->message[0] = r->head[0] = 0;
    pthread_mutex_lock(&e->lock);
    e->most = most;
    list_add(&e->queued, t);
    bool wake = can_start(e) && was_sleeping(e);
    pthread_mutex_unlock(&e->lock);
    if (wake)
        e->curl.multi_wakeup(e->multi);
    return true;
}

static bool wait_until(transfer *t, const struct timespec *until)
{
    pthread_mutex_lock(&t->lock);
    int late = 0;
    while (!t->done && !late)
        late = until ? pthread_cond_timedwait(&t->ended, &t->lock, until)
                     : pthread_cond_wait(&t->ended, &t->lock);
    bool done = t->done;
    pthread_mutex_unlock(&t->lock);
    if (!done)
        return false;
    t->request->transfer = NULL;
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->ended);
    free(t);
    return true;
}

static bool wait_for(hr_net_request *r, int32_t ms)
{
    struct timespec until = hr_clock_after(ms * HR_NS_PER_MS);
    return !r->transfer || wait_until(r->transfer, &until);
}

static void abandon(hr_net_request *r)
{
    transfer *t = r->transfer;
    engine *e = opened;
    if (!t)
        return;
    pthread_mutex_lock(&e->lock);
    t->abandoned = true;
    bool wake = was_sleeping(e);
    pthread_mutex_unlock(&e->lock);
    if (wake)
        e->curl.multi_wakeup(e->multi);
    wait_until(t, NULL);
}

const hr_net_module_def *hr_net_module(void)
{
    static const hr_net_module_def module = {.abi = HR_NET_ABI_VERSION,
                                             .struct_size = sizeof(hr_net_module_def),
                                             .version = version,
                                             .submit = submit,
                                             .wait = wait_for,
                                             .abandon = abandon};
    return &module;
}
