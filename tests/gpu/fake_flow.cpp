// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The optical flow engine of the fake module: its vectors are sums that tests know. It works on the
// stream, later. Wrong calls are counted.
#include "cuda/ops/flow_session.cuh"

#include <atomic>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "gpu/fake_module.h"
}

namespace
{

struct Engine {
    flow_setup setup;
    void *stream;
    bool ready;
    int32_t hints; // searches before, each with the vectors of the one before it
    std::atomic<int32_t> buffers, pending;
};

struct Buffer {
    Engine *engine;
    flow_buffer_setup setup;
    uint32_t row;
    char *data;
};

struct Search {
    Engine *engine;
    const Buffer *frame, *reference, *hints, *vectors;
    int32_t temporal;
};

std::atomic<int64_t> created, engines, searches, wrong;

int32_t check(bool right, int32_t code)
{
    if (!right)
        wrong++;
    return right ? FLOW_OK : code;
}

int32_t create(void *context, void **out)
{
    *out = new Engine();
    created++;
    engines++;
    return check(context != NULL, FLOW_OTHER_DEVICE);
}

int32_t init(void *memory, const flow_setup *s)
{
    Engine *e = (Engine *)memory;
    if (fake_call("flow_init", NULL) != HR_STATUS_OK)
        return FLOW_NO_MEMORY;
    e->setup = *s;
    e->ready = true;
    return check(s->width >= 16 && s->width <= 256 && s->height >= 8 && s->height <= 128 &&
                     (s->grid == 1 || s->grid == 2 || s->grid == 4) && s->mode == 1 && !s->costs &&
                     !s->unused && !s->stereo_range && !s->regions &&
                     (s->external_hints != 0) == (s->hint_grid != 0),
                 FLOW_BAD_ARGUMENT);
}

uint32_t cells(uint32_t pixels, int32_t grid)
{
    return (pixels + (uint32_t)grid - 1) / (uint32_t)grid;
}

int32_t buffer_create(void *memory, const flow_buffer_setup *s, int32_t kind, void **out)
{
    Engine *e = (Engine *)memory;
    if (fake_call("flow_buffer", NULL) != HR_STATUS_OK)
        return FLOW_NO_MEMORY;
    bool frame = s->use == FLOW_USE_FRAME;
    int32_t grid = frame ? 1 : s->use == FLOW_USE_VECTORS ? e->setup.grid : e->setup.hint_grid;
    bool right = e->ready && kind == FLOW_MEMORY_LINEAR && grid > 0 &&
                 frame == (s->format != FLOW_FORMAT_VECTORS) &&
                 s->width == cells(e->setup.width, grid) &&
                 s->height == cells(e->setup.height, grid);
    Buffer *b = new Buffer();
    b->engine = e;
    b->setup = *s;
    b->row = (s->width * (s->format == FLOW_FORMAT_GRAY ? 1 : 4) + 63) / 64 * 64 + 64;
    b->data = (char *)malloc((size_t)b->row * s->height);
    memset(b->data, 0x5a, (size_t)b->row * s->height);
    e->buffers++;
    *out = b;
    return check(right, FLOW_BAD_ARGUMENT);
}

uint64_t buffer_address(void *buffer)
{
    return (uint64_t)(uintptr_t)((Buffer *)buffer)->data;
}

int32_t buffer_strides(void *buffer, flow_strides *out)
{
    const Buffer *b = (const Buffer *)buffer;
    *out = {};
    out->plane[0] = {b->row, b->setup.height};
    out->planes = 1;
    return FLOW_OK;
}

// Whether nobody wrote between the rows.
bool gaps_are_untouched(const Buffer *b)
{
    const uint32_t used = b->setup.width * (b->setup.format == FLOW_FORMAT_GRAY ? 1 : 4);
    for (uint32_t y = 0; y < b->setup.height; y++)
        for (uint32_t x = used; x < b->row; x++)
            if (b->data[(size_t)y * b->row + x] != 0x5a)
                return false;
    return true;
}

int32_t buffer_destroy(void *buffer)
{
    Buffer *b = (Buffer *)buffer;
    int32_t code = check(b->engine->pending == 0 && gaps_are_untouched(b), FLOW_BAD_ARGUMENT);
    b->engine->buffers--;
    memset(b->data, 0xa5, (size_t)b->row * b->setup.height);
    free(b->data);
    delete b;
    return code;
}

int32_t set_streams(void *engine, void *in, void *out)
{
    ((Engine *)engine)->stream = in;
    return check(in == out, FLOW_BAD_ARGUMENT);
}

void read_pixel(const Buffer *b, uint32_t y, uint32_t x, uint8_t out[4])
{
    const bool gray = b->setup.format == FLOW_FORMAT_GRAY;
    memset(out, 0, 4);
    memcpy(out, b->data + (size_t)y * b->row + x * (gray ? 1 : 4), gray ? 1 : 4);
}

void search_cell(const Search *s, uint32_t y, uint32_t x)
{
    const flow_setup *e = &s->engine->setup;
    const uint32_t py = y * (uint32_t)e->grid, px = x * (uint32_t)e->grid;
    uint8_t a[4], b[4];
    read_pixel(s->frame, py, px, a);
    read_pixel(s->reference, py, px, b);
    int32_t vx = 4 * a[0] - 3 * b[0] + 2 * a[1] - b[1] + 32 * s->temporal;
    int32_t vy = 5 * a[2] - 4 * b[2] + a[3] - b[3] + e->speed;
    if (s->hints) {
        const char *row = s->hints->data + (size_t)(py / (uint32_t)e->hint_grid) * s->hints->row;
        const int16_t *hint = (const int16_t *)row + 2 * (px / (uint32_t)e->hint_grid);
        vx += hint[0];
        vy += hint[1];
    }
    int16_t *to = (int16_t *)(s->vectors->data + (size_t)y * s->vectors->row) + 2 * x;
    to[0] = (int16_t)vx;
    to[1] = (int16_t)vy;
}

void run_search(fake_work *w)
{
    Search *s = (Search *)w->to;
    for (uint32_t y = 0; y < s->vectors->setup.height; y++)
        for (uint32_t x = 0; x < s->vectors->setup.width; x++)
            search_cell(s, y, x);
    s->engine->pending--;
    delete s;
}

bool is(const void *buffer, const Engine *e, int32_t use)
{
    return buffer && ((const Buffer *)buffer)->engine == e &&
           ((const Buffer *)buffer)->setup.use == use;
}

int32_t execute(void *memory, const flow_input *in, const flow_output *out)
{
    Engine *e = (Engine *)memory;
    bool right = e->ready && is(in->frame, e, FLOW_USE_FRAME) &&
                 is(in->reference, e, FLOW_USE_FRAME) && in->frame != in->reference &&
                 is(out->vectors, e, FLOW_USE_VECTORS) && !out->costs && !in->regions &&
                 (e->setup.external_hints ? is(in->hints, e, FLOW_USE_HINTS) : !in->hints);
    if (!right)
        return check(false, FLOW_BAD_ARGUMENT);
    if (fake_call("flow_execute", NULL) != HR_STATUS_OK)
        return 11;
    searches++;
    e->hints = in->no_temporal_hints ? 0 : e->hints + 1;
    e->pending++;
    fake_work work = {};
    work.run = run_search;
    work.to = new Search{e,
                         (const Buffer *)in->frame,
                         (const Buffer *)in->reference,
                         (const Buffer *)in->hints,
                         (const Buffer *)out->vectors,
                         e->hints};
    return check(fake_queue(e->stream, &work, NULL) == HR_STATUS_OK, FLOW_BAD_ARGUMENT);
}

int32_t destroy(void *memory)
{
    Engine *e = (Engine *)memory;
    int32_t code = check(e->ready && e->pending == 0 && e->buffers == 0, FLOW_BAD_ARGUMENT);
    engines--;
    delete e;
    return code;
}

int32_t last_error(void *, char *text, uint32_t *size)
{
    if (*size < 80)
        return check(false, FLOW_BAD_ARGUMENT);
    strcpy(text, "a fake failed");
    *size = (uint32_t)strlen(text);
    return FLOW_OK;
}

int32_t limits(void *, int32_t limit, uint32_t *values, uint32_t *count)
{
    static const uint32_t grids[] = {1, 2, 4}, hints[] = {1, 2, 4, 8};
    const uint32_t numbers[] = {16, 8, 256, 128};
    const uint32_t *from = limit == FLOW_LIMIT_GRIDS        ? grids
                           : limit == FLOW_LIMIT_HINT_GRIDS ? hints
                                                            : &numbers[(limit - 4) % 4];
    *count = limit == FLOW_LIMIT_GRIDS ? 3 : limit == FLOW_LIMIT_HINT_GRIDS ? 4 : 1;
    if (values)
        memcpy(values, from, *count * sizeof *from);
    return FLOW_OK;
}

int32_t entry(uint32_t version, flow_functions *out)
{
    const char *setting = getenv("HEADRACE_FAKE_FLOW");
    *out = {create,      init,    buffer_create,  NULL,    buffer_address, buffer_strides,
            set_streams, execute, buffer_destroy, destroy, last_error,     limits};
    return setting && strcmp(setting, "old") == 0 ? FLOW_BAD_VERSION
                                                  : check(version == 0x20, FLOW_BAD_VERSION);
}

} // namespace

flow_entry hr_cuda_flow_entry(void)
{
    const char *setting = getenv("HEADRACE_FAKE_FLOW");
    return setting && strcmp(setting, "none") == 0 ? NULL : entry;
}

hr_status hr_cuda_flow_context(int32_t *device, void **context, hr_error *)
{
    *device = fake_current_device();
    *context = (void *)(intptr_t)(*device + 1);
    return HR_STATUS_OK;
}

// Engines created, engines alive, searches, wrong calls.
extern "C" HR_API void hr_fake_flow(int64_t counts[4])
{
    counts[0] = created;
    counts[1] = engines;
    counts[2] = searches;
    counts[3] = wrong;
}
