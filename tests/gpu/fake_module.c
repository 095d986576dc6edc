/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A CUDA device made of threads. A stream is a thread that runs queued work later, in order, so
 * that a missing wait shows as wrong bytes, and as a race under ThreadSanitizer. Only events order
 * the caller after the work of a stream.
 *
 * HEADRACE_FAKE_DEVICES  number of devices (1)
 * HEADRACE_FAKE_MEMORY   bytes per device (1 GiB)
 * HEADRACE_FAKE_DELAY    microseconds before each piece of work (50)
 * HEADRACE_FAKE_FAIL     "alloc:17,copy:3+": the 17th alloc fails, and every copy from the 3rd on;
 *                        kinds are the names in hr_cuda_module_def, and op_run
 * HEADRACE_FAKE_JPEG     files that the device reports as damaged, so that the CPU decodes them:
 *                        "damaged" (all), "half" or "none"; the pixels of the others are grey
 * HEADRACE_FAKE_VIDEO    the module that decodes videos in place of NVDEC; unset: there is none
 * HEADRACE_FAKE_FLOW     "none": there is no library for optical flow; "old": it is too old */
#include "fake_module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "codecs/jpeg/device.h"
#include "codecs/jpeg2000/device.h"
#include "codecs/tiff/device.h"
#include "core/block.h"
#include "cuda/ops/ops.h"

extern const hr_video_module_def fake_video; /* fake_video.cpp */
void hr_cuda_flow_drop_kept(int32_t device); /* cuda/ops/flow_session.cu */

enum { DEVICES_MAX = 16, KINDS_MAX = 16, GUARD = 256 };
#define STREAM_MAGIC UINT64_C(0x5712ea3)
#define EVENT_MAGIC UINT64_C(0xe7e27)
#define MEMORY_MAGIC UINT64_C(0x3e308e)

static struct {
    atomic_llong allocs, pinned, streams, events, bytes, peak, broken, misused, copies, work,
        copied;
} counts;

static atomic_int streams_of[DEVICES_MAX]; /* that are alive */

static _Thread_local int32_t current_device;

/* ---- settings ---- */

static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static struct {
    int32_t devices;
    long long memory, delay;
    char jpeg;
} settings;

static struct failure {
    char kind[24];
    long long number; /* which call */
    bool onwards;
    atomic_llong calls;
} failures[KINDS_MAX];
static int failure_count;

static long long number_of(const char *name, long long otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? atoll(text) : otherwise;
}

static void failures_set(const char *spec)
{
    failure_count = 0;
    for (const char *at = spec; at && *at && failure_count < KINDS_MAX;) {
        struct failure *f = &failures[failure_count];
        int used = 0;
        if (sscanf(at, "%23[a-z_]:%lld%n", f->kind, &f->number, &used) != 2)
            break;
        at += used;
        f->onwards = *at == '+';
        at += f->onwards;
        at += *at == ',';
        atomic_store(&f->calls, 0);
        failure_count++;
    }
}

static void settings_read(void)
{
    const char *jpeg = getenv("HEADRACE_FAKE_JPEG");
    long long devices = number_of("HEADRACE_FAKE_DEVICES", 1);
    settings.devices = (int32_t)HR_MIN(HR_MAX(devices, 0), DEVICES_MAX);
    settings.memory = number_of("HEADRACE_FAKE_MEMORY", 1LL << 30);
    settings.delay = number_of("HEADRACE_FAKE_DELAY", 50);
    settings.jpeg = jpeg && jpeg[0] ? jpeg[0] : 'd';
    failures_set(getenv("HEADRACE_FAKE_FAIL"));
}

/* The environment is read before, so that it does not replace these failures later. */
void hr_fake_fail(const char *spec)
{
    pthread_once(&settings_once, settings_read);
    failures_set(spec);
}

/* ---- failing ---- */

hr_status fake_error(hr_error *error, hr_status status, const char *call, const char *text)
{
    if (error) {
        error->status = status;
        snprintf(error->message, sizeof(error->message), "%s: %s", call, text);
    }
    return status;
}

hr_status fake_call(const char *kind, hr_error *error)
{
    for (int i = 0; i < failure_count; i++) {
        struct failure *f = &failures[i];
        if (strcmp(f->kind, kind) != 0)
            continue;
        long long call = atomic_fetch_add_explicit(&f->calls, 1, memory_order_relaxed) + 1;
        if (call == f->number || (f->onwards && call > f->number))
            return fake_error(error, strstr(kind, "alloc") ? HR_STATUS_NO_MEMORY : HR_STATUS_ERROR,
                              kind, "an injected failure (cudaErrorInjected)");
    }
    return HR_STATUS_OK;
}

static hr_status misuse(hr_error *error, const char *call, const char *text)
{
    atomic_fetch_add_explicit(&counts.misused, 1, memory_order_relaxed);
    return fake_error(error, HR_STATUS_ERROR, call, text);
}

static hr_status check_device(int32_t device, const char *call, hr_error *error)
{
    if (device < 0 || device >= settings.devices)
        return misuse(error, call, "invalid device ordinal (cudaErrorInvalidDevice)");
    return HR_STATUS_OK;
}

static void nap(long long microseconds)
{
    struct timespec t = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&t, NULL); /* no luck: a slow device, or between two looks at an event */
}

/* ---- streams ---- */

/* The queue is a pipe: it orders the writer before the reader, and nothing else. */
typedef struct fake_stream {
    uint64_t magic;
    int32_t device;
    int in, out;
    pthread_t thread;
} fake_stream;

static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static fake_stream *default_streams[DEVICES_MAX]; /* created on first use, never destroyed */

static void *stream_work(void *context)
{
    fake_stream *s = context;
    fake_work *w;
    while (read(s->out, &w, sizeof(w)) == (ssize_t)sizeof(w) && w) {
        if (settings.delay > 0)
            nap(settings.delay);
        w->run(w);
        free(w);
    }
    return NULL;
}

static hr_status stream_make(int32_t device, fake_stream **out, hr_error *error)
{
    int ends[2];
    fake_stream *s = calloc(1, sizeof(*s));
    if (!s || pipe(ends) != 0) {
        free(s);
        return fake_error(error, HR_STATUS_ERROR, "stream_create", "no pipe");
    }
    *s = (fake_stream){.magic = STREAM_MAGIC, .device = device, .in = ends[1], .out = ends[0]};
    if (pthread_create(&s->thread, NULL, stream_work, s) != 0) {
        close(ends[0]);
        close(ends[1]);
        free(s);
        return fake_error(error, HR_STATUS_ERROR, "stream_create", "no thread");
    }
    *out = s;
    return HR_STATUS_OK;
}

/* NULL, cudaStreamLegacy and cudaStreamPerThread are the current device's default stream. */
static hr_status stream_of(int32_t device, void *stream, const char *call, fake_stream **out,
                           hr_error *error)
{
    hr_status status = check_device(device, call, error);
    if (status != HR_STATUS_OK)
        return status;
    if ((uintptr_t)stream <= 2) {
        pthread_mutex_lock(&default_lock);
        if (!default_streams[device])
            status = stream_make(device, &default_streams[device], error);
        *out = default_streams[device];
        pthread_mutex_unlock(&default_lock);
        return status;
    }
    *out = stream;
    if ((*out)->magic != STREAM_MAGIC || (*out)->device != device)
        return misuse(error, call, "not a stream of this device (cudaErrorInvalidResourceHandle)");
    return HR_STATUS_OK;
}

static hr_status push(fake_stream *s, const fake_work *work, hr_error *error)
{
    fake_work *w = malloc(sizeof(*w));
    if (!w)
        return fake_error(error, HR_STATUS_NO_MEMORY, "queue", "no memory");
    *w = *work;
    atomic_fetch_add_explicit(&counts.work, 1, memory_order_relaxed);
    if (write(s->in, &w, sizeof(w)) == (ssize_t)sizeof(w))
        return HR_STATUS_OK;
    free(w);
    return fake_error(error, HR_STATUS_ERROR, "queue", "the pipe is broken");
}

hr_status fake_queue(void *stream, const fake_work *work, hr_error *error)
{
    fake_stream *s;
    HR_TRY(stream_of((uintptr_t)stream <= 2 ? current_device : ((fake_stream *)stream)->device,
                     stream, "queue", &s, error));
    return push(s, work, error);
}

int32_t fake_current_device(void)
{
    return current_device;
}

hr_status fake_current(const hr_cuda_launch *l, const char *call, hr_error *error)
{
    const fake_stream *s = l->stream;
    if (!s || s->magic != STREAM_MAGIC || s->device != current_device)
        return misuse(error, call, "the launch's device is not in use (cudaErrorInvalidContext)");
    return HR_STATUS_OK;
}

static hr_status stream_create(int32_t device, void **out, hr_error *error)
{
    fake_stream *s;
    HR_TRY(check_device(device, "stream_create", error));
    HR_TRY(fake_call("stream_create", error));
    HR_TRY(stream_make(device, &s, error));
    atomic_fetch_add(&counts.streams, 1);
    atomic_fetch_add(&streams_of[device], 1);
    *out = s;
    return HR_STATUS_OK;
}

static void stream_destroy(int32_t device, void *stream)
{
    fake_stream *s = stream;
    fake_work *end = NULL;
    if (!s || s->magic != STREAM_MAGIC || s->device != device) {
        (void)misuse(NULL, "", "");
        return;
    }
    if (write(s->in, &end, sizeof(end)) == (ssize_t)sizeof(end))
        pthread_join(s->thread, NULL);
    close(s->in);
    close(s->out);
    s->magic = 0;
    free(s);
    atomic_fetch_sub(&counts.streams, 1);
    if (atomic_fetch_sub(&streams_of[device], 1) == 1)
        hr_cuda_flow_drop_kept(device);
}

/* ---- events ---- */

typedef struct ticket { /* one record of an event */
    atomic_int refs;
    atomic_bool done;
    struct timespec at;
} ticket;

typedef struct fake_event {
    uint64_t magic;
    int32_t device;
    bool timed;
    ticket *latest; /* NULL: never recorded */
} fake_event;

static void ticket_unref(ticket *t)
{
    if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1)
        free(t);
}

static void ticket_wait(const ticket *t)
{
    while (!atomic_load_explicit(&t->done, memory_order_acquire))
        nap(20);
}

static void run_signal(fake_work *w)
{
    ticket *t = w->to;
    clock_gettime(CLOCK_MONOTONIC, &t->at); /* no luck: what a timed event tells */
    atomic_store_explicit(&t->done, true, memory_order_release);
    ticket_unref(t);
}

static void run_await(fake_work *w)
{
    ticket_wait(w->to);
    ticket_unref(w->to);
}

static hr_status event_create(int32_t device, bool timed, void **out, hr_error *error)
{
    HR_TRY(check_device(device, "event_create", error));
    HR_TRY(fake_call("event_create", error));
    fake_event *e = calloc(1, sizeof(*e));
    if (!e)
        return fake_error(error, HR_STATUS_NO_MEMORY, "event_create", "no memory");
    *e = (fake_event){.magic = EVENT_MAGIC, .device = device, .timed = timed};
    atomic_fetch_add(&counts.events, 1);
    *out = e;
    return HR_STATUS_OK;
}

static hr_status event_of(int32_t device, void *event, const char *call, fake_event **out,
                          hr_error *error)
{
    *out = event;
    if (!event || (*out)->magic != EVENT_MAGIC || (*out)->device != device)
        return misuse(error, call, "not an event of this device (cudaErrorInvalidResourceHandle)");
    return fake_call(call, error);
}

static void event_destroy(int32_t device, void *event)
{
    fake_event *e = event;
    if (!e || e->magic != EVENT_MAGIC || e->device != device) {
        (void)misuse(NULL, "", "");
        return;
    }
    ticket_unref(e->latest);
    e->magic = 0;
    free(e);
    atomic_fetch_sub(&counts.events, 1);
}

static hr_status event_record(int32_t device, void *event, void *stream, hr_error *error)
{
    fake_event *e;
    fake_stream *s;
    HR_TRY(event_of(device, event, "event_record", &e, error));
    HR_TRY(stream_of(device, stream, "event_record", &s, error));
    ticket *t = calloc(1, sizeof(*t));
    if (!t)
        return fake_error(error, HR_STATUS_NO_MEMORY, "event_record", "no memory");
    atomic_init(&t->refs, 2); /* the event's and the stream's */
    hr_status status = push(s, &(fake_work){.run = run_signal, .to = t}, error);
    if (status != HR_STATUS_OK) {
        free(t);
        return status;
    }
    ticket_unref(e->latest);
    e->latest = t;
    return HR_STATUS_OK;
}

/* Unlike in CUDA, the event and the stream must belong to the same device: the engine needs no
 * more. */
static hr_status event_await(int32_t device, void *event, void *stream, hr_error *error)
{
    fake_event *e;
    fake_stream *s;
    HR_TRY(event_of(device, event, "event_await", &e, error));
    HR_TRY(stream_of(device, stream, "event_await", &s, error));
    if (!e->latest)
        return HR_STATUS_OK;
    atomic_fetch_add_explicit(&e->latest->refs, 1, memory_order_relaxed);
    hr_status status = push(s, &(fake_work){.run = run_await, .to = e->latest}, error);
    if (status != HR_STATUS_OK)
        ticket_unref(e->latest);
    return status;
}

static hr_status event_wait(int32_t device, void *event, hr_error *error)
{
    fake_event *e;
    HR_TRY(event_of(device, event, "event_wait", &e, error));
    if (e->latest)
        ticket_wait(e->latest);
    return HR_STATUS_OK;
}

static hr_status event_done(int32_t device, void *event, bool *done, hr_error *error)
{
    fake_event *e;
    HR_TRY(event_of(device, event, "event_done", &e, error));
    *done = !e->latest || atomic_load(&e->latest->done);
    return HR_STATUS_OK;
}

static hr_status event_elapsed(void *from, void *to, float *ms, hr_error *error)
{
    const fake_event *a = from, *b = to;
    HR_TRY(fake_call("event_elapsed", error));
    if (!a->timed || !b->timed || !a->latest || !b->latest || !atomic_load(&a->latest->done) ||
        !atomic_load(&b->latest->done))
        return misuse(error, "event_elapsed", "not recorded, or not done (cudaErrorNotReady)");
    *ms = (float)(b->latest->at.tv_sec - a->latest->at.tv_sec) * 1e3f +
          (float)(b->latest->at.tv_nsec - a->latest->at.tv_nsec) * 1e-6f;
    return HR_STATUS_OK;
}

/* ---- memory ---- */

/* AddressSanitizer reports accesses to a device's memory, except by the device's own work, which is
 * marked with this. */
#ifdef HR_ASAN
#define DEVICE_CODE __attribute__((no_sanitize("address")))
#else
#define DEVICE_CODE
#endif

DEVICE_CODE static void bytes_copy(void *to, const void *from, size_t size)
{
#ifdef HR_ASAN
    volatile char *t = to;
    for (size_t i = 0; i < size; i++)
        t[i] = ((const char *)from)[i];
#else
    memcpy(to, from, size);
#endif
}

DEVICE_CODE static void bytes_set(void *to, int value, size_t size)
{
#ifdef HR_ASAN
    volatile char *t = to;
    for (size_t i = 0; i < size; i++)
        t[i] = (char)value;
#else
    memset(to, value, size);
#endif
}

typedef struct head { /* at the start of the guard before each allocation */
    uint64_t magic;
    size_t size;
    int32_t device; /* -1: pinned */
} head;

static void *memory_make(size_t size, int32_t device)
{
    char *base;
    size_t whole = (size + 2 * GUARD + GUARD - 1) / GUARD * GUARD;
    if (whole < size || posix_memalign((void **)&base, GUARD, whole) != 0)
        return NULL;
    memset(base, 0xa5, GUARD);
    memset(base + GUARD, 0xcd, size);
    memset(base + GUARD + size, 0xa5, whole - GUARD - size);
    *(head *)base = (head){MEMORY_MAGIC, size, device};
    HR_POISON(base, whole);
    if (device < 0)
        HR_UNPOISON(base + GUARD, size);
    return base + GUARD;
}

/* Frees an allocation and returns its size; counts overwritten guards and wrong calls. */
static size_t memory_free(void *memory, int32_t device)
{
    unsigned char *base = (unsigned char *)memory - GUARD;
    HR_UNPOISON(base, GUARD);
    head h = *(head *)base;
    if (h.magic != MEMORY_MAGIC || h.device != device) {
        atomic_fetch_add(&counts.broken, 1);
        return 0;
    }
    size_t whole = (h.size + 2 * GUARD + GUARD - 1) / GUARD * GUARD;
    HR_UNPOISON(base, whole);
    bool broken = false;
    for (size_t i = sizeof(head); i < GUARD; i++)
        broken = broken || base[i] != 0xa5;
    for (size_t i = GUARD + h.size; i < whole; i++)
        broken = broken || base[i] != 0xa5;
    atomic_fetch_add(&counts.broken, broken);
    memset(base, 0xdd, GUARD + h.size);
    free(base);
    return h.size;
}

static hr_status host_alloc(int32_t device, size_t size, void **out, hr_error *error)
{
    HR_TRY(check_device(device, "host_alloc", error));
    HR_TRY(fake_call("host_alloc", error));
    *out = memory_make(size, -1);
    if (!*out)
        return fake_error(error, HR_STATUS_NO_MEMORY, "host_alloc", "out of memory");
    atomic_fetch_add(&counts.pinned, 1);
    return HR_STATUS_OK;
}

static void host_free(void *memory)
{
    if (!memory)
        return;
    (void)memory_free(memory, -1);
    atomic_fetch_sub(&counts.pinned, 1);
}

static hr_status device_alloc(int32_t device, void *stream, size_t size, void **out,
                              hr_error *error)
{
    fake_stream *s;
    HR_TRY(stream_of(device, stream, "alloc", &s, error));
    HR_TRY(fake_call("alloc", error));
    long long bytes = atomic_fetch_add(&counts.bytes, (long long)size) + (long long)size;
    void *memory = bytes <= settings.memory * settings.devices ? memory_make(size, device) : NULL;
    if (!memory) {
        atomic_fetch_sub(&counts.bytes, (long long)size);
        return fake_error(error, HR_STATUS_NO_MEMORY, "alloc",
                          "out of memory (cudaErrorMemoryAllocation)");
    }
    long long peak = atomic_load(&counts.peak);
    while (bytes > peak && !atomic_compare_exchange_weak(&counts.peak, &peak, bytes))
        ;
    atomic_fetch_add(&counts.allocs, 1);
    *out = memory;
    return HR_STATUS_OK;
}

static void run_free(fake_work *w)
{
    atomic_fetch_sub(&counts.bytes, (long long)memory_free(w->to, w->count));
    atomic_fetch_sub(&counts.allocs, 1);
}

static void device_free(int32_t device, void *stream, void *memory)
{
    fake_stream *s;
    if (memory && stream_of(device, stream, "free", &s, NULL) == HR_STATUS_OK)
        (void)push(s, &(fake_work){.run = run_free, .to = memory, .count = device}, NULL);
}

static void run_function(fake_work *w)
{
    w->kernel(w->from);
}

hr_status hr_fake_kernel(hr_cuda_launch *l, void (*kernel)(const void *records),
                         const void *records, hr_error *error)
{
    HR_TRY(fake_current(l, "op_run", error));
    HR_TRY(fake_call("op_run", error));
    return fake_queue(l->stream,
                      &(fake_work){.run = run_function, .kernel = kernel, .from = records}, error);
}

static void run_copy(fake_work *w)
{
    bytes_copy(w->to, w->from, w->size);
}

static hr_status copy(int32_t device, void *stream, void *dst, const void *src, size_t size,
                      hr_error *error)
{
    fake_stream *s;
    HR_TRY(stream_of(device, stream, "copy", &s, error));
    HR_TRY(fake_call("copy", error));
    atomic_fetch_add_explicit(&counts.copies, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts.copied, (long long)size, memory_order_relaxed);
    return push(s, &(fake_work){.run = run_copy, .to = dst, .from = src, .size = size}, error);
}

static void run_zero(fake_work *w)
{
    bytes_set(w->to, 0, w->size);
}

static hr_status zero(int32_t device, void *stream, void *dst, size_t size, hr_error *error)
{
    fake_stream *s;
    HR_TRY(stream_of(device, stream, "zero", &s, error));
    HR_TRY(fake_call("zero", error));
    return push(s, &(fake_work){.run = run_zero, .to = dst, .size = size}, error);
}

static hr_status use(int32_t device, hr_error *error)
{
    HR_TRY(check_device(device, "use", error));
    HR_TRY(fake_call("use", error));
    current_device = device;
    return HR_STATUS_OK;
}

/* The context of a device is its number plus 1. */
static void *current(void)
{
    return (void *)(intptr_t)(current_device + 1);
}

static void restore(void *before)
{
    current_device = (int32_t)(intptr_t)before - 1;
}

int32_t hr_fake_current(void)
{
    return current_device;
}

/* ---- for fake_video.cpp ---- */

hr_status fake_stream_create(int32_t device, void **out, hr_error *error)
{
    return stream_create(device, out, error);
}

void fake_stream_destroy(int32_t device, void *stream)
{
    stream_destroy(device, stream);
}

hr_status fake_stream_wait(int32_t device, void *stream, hr_error *error)
{
    void *event;
    HR_TRY(event_create(device, false, &event, error));
    hr_status status = event_record(device, event, stream, error);
    if (status == HR_STATUS_OK)
        status = event_wait(device, event, error);
    event_destroy(device, event);
    return status;
}

/* ---- devices ---- */

static hr_status device_count(int32_t *count, hr_error *error)
{
    HR_TRY(fake_call("device_count", error));
    *count = settings.devices;
    return HR_STATUS_OK;
}

static hr_status device_query(int32_t device, hr_cuda_info *out, hr_error *error)
{
    HR_TRY(check_device(device, "device_query", error));
    HR_TRY(fake_call("device_query", error));
    *out = (hr_cuda_info){.name = "Threads that pretend",
                          .major = 9,
                          .multiprocessors = 4,
                          .memory = (size_t)settings.memory,
                          .pci = "0000:01:00.0"};
    return HR_STATUS_OK;
}

/* ---- work ---- */

DEVICE_CODE static void run_copy_all(fake_work *w)
{
    const hr_cuda_copy *copies = w->from;
    for (int32_t i = 0; i < w->count; i++)
        bytes_copy(copies[i].dst, copies[i].src, copies[i].size);
}

hr_status fake_copy_all(hr_cuda_launch *l, hr_staged copies, int32_t count, hr_error *error)
{
    HR_TRY(fake_current(l, "copy_all", error));
    HR_TRY(fake_call("copy_all", error));
    return fake_queue(
        l->stream, &(fake_work){.run = run_copy_all, .from = copies.device, .count = count}, error);
}

DEVICE_CODE static void run_jpeg(fake_work *w)
{
    const hr_jpeg_device_image *images = w->from;
    for (int32_t i = 0; i < w->count; i++) {
        const hr_jpeg_device_image *image = &images[i];
        for (uint32_t k = 0; image->entries && k < hr_jpeg_device_entry_count(image); k++)
            image->entries[k].mcu = HR_JPEG_DEVICE_NOWHERE;
        bool damaged = settings.jpeg == 'd' || (settings.jpeg == 'h' && i % 2);
        if (damaged)
            *image->status = 1;
        bytes_set(image->dst, damaged ? 0xee : 0x80,
                  (size_t)(image->steps.stride * image->steps.rows));
    }
    bytes_set(w->to, 0xcc, w->size); /* scratch, as kernels would use it */
}

static hr_status jpeg_decode(hr_cuda_launch *l, hr_staged images, int32_t count, hr_error *error)
{
    fake_work work = {.run = run_jpeg, .from = images.device, .count = count, .size = 4096};
    HR_TRY(fake_current(l, "jpeg_decode", error));
    HR_TRY(fake_call("jpeg_decode", error));
    HR_TRY(l->scratch(l, work.size, &work.to, error));
    return fake_queue(l->stream, &work, error);
}

/* Other formats: all files are called damaged, so that the CPU decodes them. */
#define CALL_DAMAGED(name)                                                                         \
    DEVICE_CODE static void run_##name(fake_work *w)                                               \
    {                                                                                              \
        const hr_##name##_device_image *images = w->from;                                          \
        for (int32_t i = 0; i < w->count; i++)                                                     \
            *images[i].status = 1;                                                                 \
    }                                                                                              \
    static hr_status name##_decode(hr_cuda_launch *l, hr_staged images, int32_t count,             \
                                   hr_error *error)                                                \
    {                                                                                              \
        fake_work work = {.run = run_##name, .from = images.device, .count = count};               \
        HR_TRY(fake_current(l, #name "_decode", error));                                           \
        HR_TRY(fake_call(#name "_decode", error));                                                 \
        return fake_queue(l->stream, &work, error);                                                \
    }

CALL_DAMAGED(jpeg2000)
CALL_DAMAGED(tiff)

static void run_nothing(fake_work *w)
{
    atomic_store_explicit((atomic_bool *)w->to, true, memory_order_release);
}

void hr_fake_counts(fake_counts *out)
{
    for (int32_t i = 0; i < DEVICES_MAX; i++) {
        atomic_bool done = false;
        pthread_mutex_lock(&default_lock);
        fake_stream *s = default_streams[i];
        pthread_mutex_unlock(&default_lock);
        if (s && push(s, &(fake_work){.run = run_nothing, .to = &done}, NULL) == HR_STATUS_OK)
            while (!atomic_load_explicit(&done, memory_order_acquire))
                nap(20);
    }
    *out = (fake_counts){
        atomic_load(&counts.allocs), atomic_load(&counts.pinned),  atomic_load(&counts.streams),
        atomic_load(&counts.events), atomic_load(&counts.bytes),   atomic_load(&counts.peak),
        atomic_load(&counts.broken), atomic_load(&counts.misused), atomic_load(&counts.copies),
        atomic_load(&counts.work),   atomic_load(&counts.copied)};
}

const hr_cuda_module_def *hr_cuda_module(void)
{
    static const hr_cuda_decoder jpeg = {"jpeg", jpeg_decode};
    static const hr_cuda_decoder jpeg2000 = {"jpeg2000", jpeg2000_decode};
    static const hr_cuda_decoder tiff = {"tiff", tiff_decode};
    static const hr_cuda_decoder *const decoders[] = {&jpeg, &jpeg2000, &tiff, NULL};
    static const hr_cuda_module_def module = {
        .abi = HR_CUDA_ABI_VERSION,
        .struct_size = sizeof(hr_cuda_module_def),
        .device_count = device_count,
        .device_query = device_query,
        .host_alloc = host_alloc,
        .host_free = host_free,
        .alloc = device_alloc,
        .free = device_free,
        .stream_create = stream_create,
        .stream_destroy = stream_destroy,
        .event_create = event_create,
        .event_destroy = event_destroy,
        .event_record = event_record,
        .event_await = event_await,
        .event_wait = event_wait,
        .event_done = event_done,
        .event_elapsed = event_elapsed,
        .copy = copy,
        .zero = zero,
        .use = use,
        .current = current,
        .restore = restore,
        .copy_all = fake_copy_all,
        .program_run = fake_program_run,
        .ops = hr_cuda_ops,
        .decoders = decoders,
        .video = &fake_video,
    };
    pthread_once(&settings_once, settings_read);
    return &module;
}
