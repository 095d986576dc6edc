// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
#include "cuda/ops/flow_session.cuh"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace
{

using flow::Buffer;
using flow::Format;
using flow::Session;

constexpr int32_t KEPT_MAX = 16;    // sessions of a device that nobody uses
constexpr int32_t GRIDS_MAX = 16;   // entries in the library's lists
constexpr int32_t DEVICES_MAX = 64; // whose limits are kept
constexpr int32_t KEPT_ALL = KEPT_MAX * DEVICES_MAX;

struct Grids {
    uint32_t size[GRIDS_MAX], count;
};

struct Limits {
    bool known;
    Grids grids, hint_grids;
    uint32_t width_min, width_max, height_min, height_max;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Session *kept[KEPT_ALL]; // the first one was used longest ago
int32_t kept_count;
Limits limits_of[DEVICES_MAX];

__attribute__((format(printf, 3, 4))) hr_status fail(hr_error *error, hr_status status,
                                                     const char *format, ...)
{
    if (error) {
        va_list rest;
        va_start(rest, format);
        error->status = status;
        vsnprintf(error->message, sizeof error->message, format, rest);
        va_end(rest);
    }
    return status;
}

// Of a function of the library. `engine` may be NULL.
hr_status failed(const flow_functions *f, void *engine, const char *call, int32_t code,
                 hr_error *error)
{
    char text[256] = "";
    uint32_t size = sizeof text;
    if (code == FLOW_NO_ENGINE || code == FLOW_OTHER_DEVICE)
        return fail(error, HR_STATUS_NOT_IMPLEMENTED, "this GPU has no optical flow engine");
    if (!engine || f->last_error(engine, text, &size) != FLOW_OK)
        text[0] = '\0';
    text[sizeof text - 1] = '\0';
    return fail(error, code == FLOW_NO_MEMORY ? HR_STATUS_NO_MEMORY : HR_STATUS_ERROR,
                "the optical flow engine failed: %s returned %d%s%s", call, (int)code,
                text[0] ? ": " : "", text);
}

// Calls a function of the library: TRY_FLOW(init, engine, ...).
#define TRY_FLOW(function, engine, ...)                                                            \
    do {                                                                                           \
        int32_t flow_code = f->function(engine, __VA_ARGS__);                                      \
        if (flow_code != FLOW_OK)                                                                  \
            return failed(f, engine, #function, flow_code, error);                                 \
    } while (0)

struct Library {
    flow_functions functions;
    bool found, fits;
};

Library load()
{
    Library l = {};
    flow_entry entry = hr_cuda_flow_entry();
    l.found = entry != NULL;
    l.fits = entry && entry(FLOW_VERSION, &l.functions) == FLOW_OK;
    return l;
}

hr_status functions(const flow_functions **out, hr_error *error)
{
    static const Library library = load();
    *out = &library.functions;
    if (!library.found)
        return fail(
            error, HR_STATUS_NOT_IMPLEMENTED,
            "libnvidia-opticalflow.so.1 cannot be opened. It is part of NVIDIA's driver; in "
            "a container, NVIDIA_DRIVER_CAPABILITIES must contain \"video\"");
    if (!library.fits)
        return fail(error, HR_STATUS_NOT_IMPLEMENTED,
                    "the driver is too old: its optical flow library has no interface 2.0");
    return HR_STATUS_OK;
}

// ---- limits ----

hr_status read_list(const flow_functions *f, void *engine, int32_t limit, Grids *out,
                    hr_error *error)
{
    TRY_FLOW(limits, engine, limit, NULL, &out->count);
    if (out->count < 1 || out->count > GRIDS_MAX)
        return fail(error, HR_STATUS_ERROR, "the optical flow engine did not report its limits");
    TRY_FLOW(limits, engine, limit, out->size, &out->count);
    return HR_STATUS_OK;
}

hr_status read_number(const flow_functions *f, void *engine, int32_t limit, uint32_t *out,
                      hr_error *error)
{
    Grids list = {};
    HR_TRY(read_list(f, engine, limit, &list, error));
    *out = list.size[0];
    return HR_STATUS_OK;
}

hr_status read_limits(const flow_functions *f, void *engine, Limits *l, hr_error *error)
{
    HR_TRY(read_list(f, engine, FLOW_LIMIT_GRIDS, &l->grids, error));
    HR_TRY(read_list(f, engine, FLOW_LIMIT_HINT_GRIDS, &l->hint_grids, error));
    HR_TRY(read_number(f, engine, FLOW_LIMIT_WIDTH_MIN, &l->width_min, error));
    HR_TRY(read_number(f, engine, FLOW_LIMIT_HEIGHT_MIN, &l->height_min, error));
    HR_TRY(read_number(f, engine, FLOW_LIMIT_WIDTH_MAX, &l->width_max, error));
    HR_TRY(read_number(f, engine, FLOW_LIMIT_HEIGHT_MAX, &l->height_max, error));
    l->known = true;
    return HR_STATUS_OK;
}

// Destroys an engine without buffers. The library frees everything only after a successful `init`.
void close_engine(const flow_functions *f, void *engine, const Limits &l, bool ready)
{
    flow_setup smallest = {};
    smallest.width = l.width_min;
    smallest.height = l.height_min;
    smallest.grid = (int32_t)l.grids.size[0];
    smallest.mode = FLOW_MODE_MOTION;
    smallest.speed = FLOW_SPEED_SLOW;
    if (!ready)
        (void)f->init(engine, &smallest);
    (void)f->destroy(engine);
}

// Those of the current device.
hr_status limits(const flow_functions *f, int32_t device, void *context, Limits *out,
                 hr_error *error)
{
    *out = {};
    if (device < DEVICES_MAX) {
        pthread_mutex_lock(&lock);
        *out = limits_of[device];
        pthread_mutex_unlock(&lock);
    }
    if (out->known)
        return HR_STATUS_OK;
    void *engine = NULL;
    int32_t code = f->create(context, &engine);
    if (code != FLOW_OK)
        return failed(f, NULL, "create", code, error);
    hr_status status = read_limits(f, engine, out, error);
    close_engine(f, engine, *out, false);
    if (status == HR_STATUS_OK && device < DEVICES_MAX) {
        pthread_mutex_lock(&lock);
        limits_of[device] = *out;
        pthread_mutex_unlock(&lock);
    }
    return status;
}

hr_status check_grid(const char *kind, const Grids &grids, int32_t wanted, hr_error *error)
{
    char text[128] = "";
    for (uint32_t i = 0; i < grids.count; i++) {
        size_t used = strlen(text);
        if (grids.size[i] == (uint32_t)wanted)
            return HR_STATUS_OK;
        snprintf(text + used, sizeof text - used, "%s%u", i ? ", " : "", grids.size[i]);
    }
    return fail(error, HR_STATUS_ERROR,
                "%s grid size: %d is not supported, supported are: %s (by this GPU)", kind, wanted,
                text);
}

hr_status check_format(const Format &f, const Limits &l, hr_error *error)
{
    HR_TRY(check_grid("Output", l.grids, f.grid, error));
    if (f.hint_grid)
        HR_TRY(check_grid("Hint", l.hint_grids, f.hint_grid, error));
    if (f.width >= l.width_min && f.width <= l.width_max && f.height >= l.height_min &&
        f.height <= l.height_max)
        return HR_STATUS_OK;
    return fail(error, HR_STATUS_ERROR,
                "frames of %lld x %lld pixels (width x height) are not supported: the optical flow "
                "engine of this GPU accepts %u x %u to %u x %u",
                (long long)f.width, (long long)f.height, l.width_min, l.height_min, l.width_max,
                l.height_max);
}

// ---- sessions ----

hr_status make_buffer(const flow_functions *f, void *engine, int64_t width, int64_t height,
                      int32_t use, int32_t format, Buffer *out, hr_error *error)
{
    const flow_buffer_setup setup = {(uint32_t)width, (uint32_t)height, use, format};
    flow_strides strides = {};
    TRY_FLOW(buffer_create, engine, &setup, FLOW_MEMORY_LINEAR, &out->handle);
    int32_t code = f->buffer_strides(out->handle, &strides);
    if (code != FLOW_OK)
        return failed(f, engine, "buffer_strides", code, error);
    out->data = (char *)(uintptr_t)f->buffer_address(out->handle);
    out->stride = strides.plane[0].row;
    if (!out->data || out->stride < width * (format == FLOW_FORMAT_GRAY ? 1 : 4))
        return fail(error, HR_STATUS_ERROR, "the optical flow engine returned an unusable buffer");
    return HR_STATUS_OK;
}

hr_status make_buffers(const flow_functions *f, Session *s, hr_error *error)
{
    const Format &m = s->format;
    const int32_t pixels = m.gray ? FLOW_FORMAT_GRAY : FLOW_FORMAT_COLOR;
    for (Buffer &frame : s->frames)
        HR_TRY(make_buffer(f, s->engine, m.width, m.height, FLOW_USE_FRAME, pixels, &frame, error));
    HR_TRY(make_buffer(f, s->engine, HR_DIVIDE_UP(m.width, m.grid), HR_DIVIDE_UP(m.height, m.grid),
                       FLOW_USE_VECTORS, FLOW_FORMAT_VECTORS, &s->vectors, error));
    if (!m.hint_grid)
        return HR_STATUS_OK;
    return make_buffer(f, s->engine, HR_DIVIDE_UP(m.width, m.hint_grid),
                       HR_DIVIDE_UP(m.height, m.hint_grid), FLOW_USE_HINTS, FLOW_FORMAT_VECTORS,
                       &s->hints, error);
}

// No work of it may be queued.
void destroy(const flow_functions *f, Session *s)
{
    const Buffer buffers[] = {s->frames[0], s->frames[1], s->vectors, s->hints};
    for (const Buffer &b : buffers)
        if (b.handle)
            (void)f->buffer_destroy(b.handle);
    if (s->engine) {
        (void)f->set_streams(s->engine, NULL, NULL); // the last user's may not exist any more
        (void)f->destroy(s->engine);
    }
    if (s->done)
        hr_cuda_module()->event_destroy(s->format.device, s->done);
    delete s;
}

hr_status start(const flow_functions *f, Session *s, void *context, const Limits &l,
                hr_error *error)
{
    const Format &m = s->format;
    flow_setup setup = {};
    setup.width = (uint32_t)m.width;
    setup.height = (uint32_t)m.height;
    setup.grid = m.grid;
    setup.hint_grid = m.hint_grid;
    setup.mode = FLOW_MODE_MOTION;
    setup.speed = m.speed;
    setup.external_hints = m.hint_grid > 0;
    void *engine = NULL;
    int32_t code = f->create(context, &engine);
    if (code != FLOW_OK)
        return failed(f, NULL, "create", code, error);
    code = f->set_streams(engine, s->stream, s->stream);
    code = code == FLOW_OK ? f->init(engine, &setup) : code;
    if (code != FLOW_OK) {
        hr_status status = failed(f, engine, "init", code, error);
        close_engine(f, engine, l, false);
        return status;
    }
    s->engine = engine;
    return make_buffers(f, s, error);
}

hr_status make(const flow_functions *f, const Format &format, void *stream, void *context,
               const Limits &l, Session **out, hr_error *error)
{
    Session *s = new Session();
    s->format = format;
    s->stream = stream;
    hr_status status = hr_cuda_module()->event_create(format.device, false, &s->done, error);
    if (status == HR_STATUS_OK)
        status = start(f, s, context, l, error);
    if (status == HR_STATUS_OK)
        *out = s;
    else
        destroy(f, s);
    return status;
}

bool same(const Format &a, const Format &b)
{
    return a.device == b.device && a.width == b.width && a.height == b.height && a.grid == b.grid &&
           a.hint_grid == b.hint_grid && a.speed == b.speed && a.gray == b.gray;
}

// ---- those that nobody uses ----

// Removes entry i; the lock is held.
Session *remove_kept(int32_t i)
{
    Session *s = kept[i];
    for (kept_count--; i < kept_count; i++)
        kept[i] = kept[i + 1];
    return s;
}

Session *take_kept(const Format &format)
{
    Session *found = NULL;
    pthread_mutex_lock(&lock);
    for (int32_t i = kept_count - 1; i >= 0 && !found; i--)
        if (same(kept[i]->format, format))
            found = remove_kept(i);
    pthread_mutex_unlock(&lock);
    return found;
}

// Waits for the work of a session. If that fails, nobody knows when its memory can be freed.
void destroy_when_done(Session *s)
{
    const flow_functions *f;
    if (hr_cuda_module()->event_wait(s->format.device, s->done, NULL) == HR_STATUS_OK &&
        functions(&f, NULL) == HR_STATUS_OK)
        destroy(f, s);
}

// Continues on `stream` after the work of the last user.
hr_status move_to(const flow_functions *f, Session *s, void *stream, hr_error *error)
{
    HR_TRY(hr_cuda_module()->event_await(s->format.device, s->done, stream, error));
    s->stream = stream;
    TRY_FLOW(set_streams, s->engine, stream, stream);
    return HR_STATUS_OK;
}

} // namespace

void hr_cuda_flow_drop_kept(int32_t device)
{
    Session *dropped[KEPT_MAX];
    int32_t count = 0;
    pthread_mutex_lock(&lock);
    for (int32_t i = kept_count - 1; i >= 0; i--)
        if (kept[i]->format.device == device)
            dropped[count++] = remove_kept(i);
    pthread_mutex_unlock(&lock);
    for (int32_t i = 0; i < count; i++)
        destroy_when_done(dropped[i]);
}

hr_status flow::take(const Format &wanted, void *stream, Session **out, hr_error *error)
{
    const flow_functions *f;
    void *context;
    Limits l;
    Format format = wanted;
    HR_TRY(functions(&f, error));
    HR_TRY(hr_cuda_flow_context(&format.device, &context, error));
    *out = take_kept(format);
    if (*out) {
        hr_status status = move_to(f, *out, stream, error);
        if (status != HR_STATUS_OK)
            destroy_when_done(*out);
        return status;
    }
    HR_TRY(limits(f, format.device, context, &l, error));
    HR_TRY(check_format(format, l, error));
    if (make(f, format, stream, context, l, out, NULL) == HR_STATUS_OK)
        return HR_STATUS_OK;
    hr_cuda_flow_drop_kept(format.device); // they have memory that this one needs
    return make(f, format, stream, context, l, out, error);
}

hr_status flow::search(Session *s, int32_t current, bool temporal_hints, hr_error *error)
{
    const flow_functions *f;
    flow_input in = {};
    flow_output out = {};
    HR_TRY(functions(&f, error));
    in.frame = s->frames[current].handle;
    in.reference = s->frames[!current].handle;
    in.hints = s->hints.handle;
    in.no_temporal_hints = !temporal_hints;
    out.vectors = s->vectors.handle;
    TRY_FLOW(execute, s->engine, &in, &out);
    return HR_STATUS_OK;
}

void flow::give(Session *s)
{
    Session *left = NULL;
    int32_t oldest = -1, count = 0; // of this device
    if (hr_cuda_module()->event_record(s->format.device, s->done, s->stream, NULL) != HR_STATUS_OK)
        return; // nobody knows when its memory can be freed
    pthread_mutex_lock(&lock);
    for (int32_t i = kept_count - 1; i >= 0; i--)
        if (kept[i]->format.device == s->format.device) {
            oldest = i;
            count++;
        }
    if (count == KEPT_MAX)
        left = remove_kept(oldest);
    else if (kept_count == KEPT_ALL)
        left = s;
    if (left != s)
        kept[kept_count++] = s;
    pthread_mutex_unlock(&lock);
    if (left)
        destroy_when_done(left);
}

void flow::drop(Session *s)
{
    if (hr_cuda_module()->event_record(s->format.device, s->done, s->stream, NULL) == HR_STATUS_OK)
        destroy_when_done(s);
}
