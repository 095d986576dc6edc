/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Decodes the files named on the command line with the kernels of the module that
 * HEADRACE_CUDA_MODULE names, and compares the bytes, or that there is an error, with the CPU's.
 * Prints how many files the device decodes. */
#include "gpu/jpeg_batch.h"

#include "fuzz/replay.h"
#include "image/coded.h"
#include "xorshift.h"

enum { PREFIX = 8, MAX_PIXELS = 1 << 20 }; /* PREFIX: bytes before the files of a fuzz corpus */

static const hr_cuda_module_def *module;
static hr_arena *arena;
static batch *memory;
static int taken, compared;

static void finish(void)
{
    printf("%d files decoded by the device, %d windows compared\n", taken, compared);
    batch_reset(memory);
    module->stream_destroy(0, memory->launch.stream);
    hr_arena_destroy(arena);
    free(memory);
}

static void open_all(void)
{
    const char *path = getenv("HEADRACE_CUDA_MODULE");
    if (!path) {
        printf("HEADRACE_CUDA_MODULE must name a module\n");
        exit(1);
    }
    module = batch_module(path);
    memory = malloc(sizeof *memory);
    batch_open(memory, module, 0, 0, 0);
    BATCH_TRY(hr_arena_create(&arena, error));
    atexit(finish);
}

static void fail(const char *what, const hr_image_info *info, const hr_decode_request *q)
{
    printf("%s: %s, %dx%d, type %d, orientation %d, window %lldx%lld at %lld, %lld\n", what,
           info->codec->name, info->height, info->width, (int)q->type, info->orientation,
           (long long)q->window.h, (long long)q->window.w, (long long)q->window.y,
           (long long)q->window.x);
    fflush(stdout);
    abort();
}

static const hr_cuda_decoder *kernels_of(const hr_coded *coded)
{
    for (const hr_cuda_decoder *const *d = module->decoders; *d; d++)
        if (strcmp((*d)->name, coded->decoder->name) == 0)
            return *d;
    printf("the module has no decoder of %s\n", coded->decoder->name);
    exit(1);
}

/* Runs the kernels; the pixels and the status are then on the host. */
static void run(const hr_coded *coded, hr_staged *pixels, hr_staged *status)
{
    batch *b = memory;
    hr_staged record = {0}, scratch = {0};
    size_t bytes = (size_t)(coded->stride * coded->rows);
    BATCH_TRY(batch_stage(&b->staging, coded->decoder->record_size, &record, error));
    BATCH_TRY(batch_stage(&b->staging, bytes, pixels, error));
    BATCH_TRY(batch_stage(&b->staging, sizeof(uint32_t), status, error));
    BATCH_TRY(batch_scratch(&b->launch, coded->scratch, &scratch.device, error));
    *(uint32_t *)status->host = 0;
    hr_coded_memory m = {
        .pixels = pixels->device, .scratch = scratch.device, .status = status->device};
    coded->decoder->bind(coded, &m, record.host);
    batch_copy(b);
    BATCH_TRY(kernels_of(coded)->decode(&b->launch, record, 1, error));
    BATCH_TRY(module->copy(0, b->launch.stream, pixels->host, pixels->device, bytes, error));
    BATCH_TRY(
        module->copy(0, b->launch.stream, status->host, status->device, sizeof(uint32_t), error));
    batch_wait(b);
}

static bool compare(const uint8_t *data, size_t size, const hr_image_info *info,
                    hr_decode_request *q)
{
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
    hr_error error = {0};
    hr_coded coded;
    hr_staged pixels = {0}, damaged = {0};
    q->stride = (size_t)q->window.w * (size_t)hr_image_type_channels(info, q->type);
    hr_status status =
        hr_image_stage(data, size, info, q, &c, &memory->staging, arena, &coded, &error);
    if (status == HR_STATUS_OK)
        run(&coded, &pixels, &damaged);
    else if (status != HR_STATUS_NOT_FUSABLE)
        fail(error.message, info, q);
    bool staged = status == HR_STATUS_OK;
    if (staged) {
        q->dst = malloc(q->stride * (size_t)q->window.h);
        status = hr_image_decode(data, size, info, q, &c, &error);
        if (*(uint32_t *)damaged.host != (uint32_t)(status != HR_STATUS_OK))
            fail(status == HR_STATUS_OK ? "the device finds damage" : error.message, info, q);
        if (status == HR_STATUS_OK &&
            memcmp(pixels.host, q->dst, q->stride * (size_t)q->window.h) != 0)
            fail("other pixels", info, q);
        free(q->dst);
        compared++;
    }
    batch_reset(memory);
    hr_arena_reset(arena);
    return staged;
}

static hr_window draw_window(const hr_image_info *info)
{
    int64_t h, w;
    hr_image_extent(info, true, &h, &w);
    hr_window window = {0, 0, 1 + (int64_t)(rnd() % (uint32_t)h),
                        1 + (int64_t)(rnd() % (uint32_t)w)};
    window.y = (int64_t)(rnd() % (uint32_t)(h - window.h + 1));
    window.x = (int64_t)(rnd() % (uint32_t)(w - window.w + 1));
    return window;
}

/* The whole image and parts of it, turned or not. */
static bool compare_all(const uint8_t *data, size_t size, hr_image_info *info)
{
    static const hr_image_type types[] = {HR_IMAGE_TYPE_RGB, HR_IMAGE_TYPE_GRAY,
                                          HR_IMAGE_TYPE_ANY_DATA};
    bool any = false;
    for (int i = 0; i < 6; i++) {
        hr_decode_request q = {
            .type = types[i % 3], .dtype = HR_DTYPE_UINT8, .adjust_orientation = true};
        info->orientation = i < 3 ? 1 : 1 + (int32_t)(rnd() % 8);
        q.window = draw_window(info);
        if (i < 3)
            q.window = (hr_window){0, 0, info->height, info->width};
        if (batch_seed)
            batch_seed(i < 3 ? 0 : rnd() | 1);
        any |= compare(data, size, info, &q);
    }
    return any;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_image_info info;
    hr_error error = {0};
    if (!module)
        open_all();
    random_state = size | 1;
    for (size_t skip = 0; skip <= PREFIX && skip < size; skip += PREFIX)
        if (hr_image_probe(data + skip, size - skip, MAX_PIXELS, &info, &error) == HR_STATUS_OK) {
            taken += compare_all(data + skip, size - skip, &info);
            break;
        }
    return 0;
}
