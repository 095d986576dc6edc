/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs batches of JPEG files through a CUDA module, for the test and the benchmark, with the
 * simplest possible staging, scratch and launch. */
#pragma once

#include "codecs/codec.h"
#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg/device.h"
#include "device/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_PIXELS ((int64_t)1 << 28)
enum { BATCH_PIECES = 4096 };

#define BATCH_TRY(call)                                                                            \
    do {                                                                                           \
        hr_error batch_error = {0};                                                                \
        hr_error *error = &batch_error;                                                            \
        if ((call) != HR_STATUS_OK) {                                                              \
            printf("%s: %s\n", #call, batch_error.message);                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* One image: the request and the result. */
typedef struct batch_job {
    const uint8_t *bytes;
    size_t size;
    bool pinned; /* the kernels' launches copy the bytes; otherwise they are staged */
    hr_image_info info;
    hr_window window;
    int channels;
    int orientation; /* EXIF, how the device turns the window; 0: not */
    const hr_jpeg_index *index;
    bool taken;      /* accepted by hr_jpeg_device_prepare */
    uint32_t status; /* from the kernels */
    hr_jpeg_device_image image;
    hr_staged entries; /* noted by the kernels, if requested */
    size_t stride;
    uint8_t *data; /* stride bytes per row of the turned window */
} batch_job;

typedef struct batch_piece {
    void *host, *device;
    size_t size, copied;
} batch_piece;

/* Memory: either separate allocations, so that tools see accesses beyond them, or cut from two
 * blocks of `room` bytes. */
typedef struct batch {
    hr_cuda_launch launch; /* must be first: scratch() casts it to the batch */
    hr_staging staging;
    const hr_cuda_module_def *module;
    size_t room, used, scratch_room, scratch_used;
    char *host, *device, *scratch;
    batch_piece pieces[BATCH_PIECES];
    int count;
    void *scratches[16];
    int scratch_count;
} batch;

/* Functions of the emulator; NULL with a GPU's module. */
static void (*batch_seed)(uint32_t seed); /* seeds the order of threads and blocks; 0: by number */
static uint32_t (*batch_rounds)(
    void); /* the most rounds of a synchronising block since the last call */

static inline const hr_cuda_module_def *batch_module(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        exit(1);
    }
    hr_cuda_module_fn entry;
    *(void **)(void *)&entry = dlsym(library, "hr_cuda_module");
    *(void **)(void *)&batch_seed = dlsym(library, "hr_emulator_seed");
    *(void **)(void *)&batch_rounds = dlsym(library, "hr_emulator_rounds");
    const hr_cuda_module_def *m = entry ? entry() : NULL;
    if (!m || m->abi != HR_CUDA_ABI_VERSION || m->struct_size != sizeof *m) {
        printf("%s is not a module for this program\n", path);
        exit(1);
    }
    return m;
}

static inline hr_status batch_stage(hr_staging *s, size_t size, hr_staged *out, hr_error *error)
{
    batch *b = (batch *)(void *)((char *)s - offsetof(batch, staging));
    if (b->room > 0) {
        size_t at = (b->used + 255) & ~(size_t)255;
        if (size > b->room || at > b->room - size)
            return hr_fail(error, HR_STATUS_NO_MEMORY, "the batch has no room for %zu bytes", size);
        *out = (hr_staged){b->host + at, b->device + at};
        b->used = at + size;
        return HR_STATUS_OK;
    }
    if (b->count == BATCH_PIECES)
        return hr_fail(error, HR_STATUS_NO_MEMORY, "too many pieces");
    batch_piece *p = &b->pieces[b->count++];
    p->size = size;
    HR_TRY(b->module->host_alloc(0, size, &p->host, error));
    HR_TRY(b->module->alloc(0, b->launch.stream, size, &p->device, error));
    *out = (hr_staged){p->host, p->device};
    return HR_STATUS_OK;
}

static inline hr_status batch_scratch(hr_cuda_launch *l, size_t size, void **out, hr_error *error)
{
    batch *b = (batch *)(void *)l;
    if (b->scratch_room > 0) {
        size_t at = (b->scratch_used + 255) & ~(size_t)255;
        if (size > b->scratch_room || at > b->scratch_room - size)
            return hr_fail(error, HR_STATUS_NO_MEMORY, "no scratch for %zu bytes", size);
        *out = b->scratch + at;
        b->scratch_used = at + size;
        return HR_STATUS_OK;
    }
    HR_TRY(b->module->alloc(0, l->stream, size, out, error));
    b->scratches[b->scratch_count++ % 16] = *out;
    return HR_STATUS_OK;
}

static inline void batch_open(batch *b, const hr_cuda_module_def *module, size_t room,
                              size_t scratch_room, size_t scratch_limit)
{
    memset(b, 0, sizeof *b);
    b->module = module;
    b->launch.scratch = batch_scratch;
    b->launch.scratch_limit = scratch_limit;
    b->staging.alloc = batch_stage;
    b->room = room;
    b->scratch_room = scratch_room;
    BATCH_TRY(module->use(0, error));
    BATCH_TRY(module->stream_create(0, &b->launch.stream, error));
    if (room > 0) {
        BATCH_TRY(module->host_alloc(0, room, (void **)&b->host, error));
        BATCH_TRY(module->alloc(0, b->launch.stream, room, (void **)&b->device, error));
        BATCH_TRY(module->alloc(0, b->launch.stream, scratch_room, (void **)&b->scratch, error));
    }
}

/* Waits for everything that is queued. */
static inline void batch_wait(batch *b)
{
    void *event;
    BATCH_TRY(b->module->event_create(0, false, &event, error));
    BATCH_TRY(b->module->event_record(0, event, b->launch.stream, error));
    BATCH_TRY(b->module->event_wait(0, event, error));
    b->module->event_destroy(0, event);
}

static inline void batch_reset(batch *b)
{
    for (int i = 0; i < b->count; i++) {
        b->module->free(0, b->launch.stream, b->pieces[i].device);
        b->module->host_free(b->pieces[i].host);
    }
    for (int i = 0; i < b->scratch_count; i++)
        b->module->free(0, b->launch.stream, b->scratches[i]);
    b->count = b->scratch_count = 0;
    b->used = b->scratch_used = 0;
}

/* Queues the copy of everything that is staged. */
static inline void batch_copy(batch *b)
{
    if (b->used > 0)
        BATCH_TRY(b->module->copy(0, b->launch.stream, b->device, b->host, b->used, error));
    for (int i = 0; i < b->count; i++)
        BATCH_TRY(b->module->copy(0, b->launch.stream, b->pieces[i].device, b->pieces[i].host,
                                  b->pieces[i].size, error));
}

static inline bool batch_prepare(batch *b, batch_job *j, hr_jpeg_device_image *record)
{
    hr_error error = {0};
    hr_image_info turned = {.orientation = j->orientation};
    hr_codec_request q = {.window = j->window,
                          .turn = hr_image_turn(&turned, true),
                          .channels = j->channels,
                          .stride = j->stride};
    hr_status status = hr_jpeg_device_prepare(j->bytes, j->size, &j->info, &q, j->index, j->pinned,
                                              &b->staging, record, &error);
    hr_staged scan = {0};
    if (status == HR_STATUS_OK)
        status = batch_stage(&b->staging, record->scan_size, &scan, &error);
    if (status == HR_STATUS_OK)
        record->scan = scan.device;
    if (status != HR_STATUS_OK && status != HR_STATUS_NOT_FUSABLE) {
        printf("prepare: %s\n", error.message);
        exit(1);
    }
    return status == HR_STATUS_OK;
}
