/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Decodes the files named on the command line with the kernels of the module that
 * HEADRACE_CUDA_MODULE names, and compares the bytes, or that there is an error, with the CPU's.
 * Prints how many files the device decodes. */
#include "gpu/jpeg_batch.h"

#include "fuzz/replay.h"
#include "image/coded.h"
#include "xorshift.h"

enum { PREFIX = 8, MAX_PIXELS = 1 << 20, JOBS = 6 }; /* PREFIX: before the files of a corpus */

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

/* A window of the file; those that the device takes are a batch. */
typedef struct job {
    hr_decode_request q;
    int32_t orientation;
    hr_coded coded;
    hr_staged pixels;
} job;

static void fail(const char *what, const hr_image_info *info, const job *j)
{
    const hr_window *w = &j->q.window;
    printf("%s: %s, %dx%d, type %d, orientation %d, window %lldx%lld at %lld, %lld\n", what,
           info->codec->name, info->height, info->width, (int)j->q.type, j->orientation,
           (long long)w->h, (long long)w->w, (long long)w->y, (long long)w->x);
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

static size_t pixel_bytes(const job *j)
{
    return (size_t)(j->coded.stride * j->coded.rows);
}

/* Runs the kernels; the pixels and the status of each job are then on the host. */
static void run(job *jobs, int n, hr_staged *status)
{
    batch *b = memory;
    hr_staged records = {0};
    size_t size = jobs[0].coded.decoder->record_size;
    BATCH_TRY(batch_stage(&b->staging, (size_t)n * size, &records, error));
    BATCH_TRY(batch_stage(&b->staging, (size_t)n * sizeof(uint32_t), status, error));
    memset(status->host, 0, (size_t)n * sizeof(uint32_t));
    for (int i = 0; i < n; i++) {
        hr_coded_memory m = {.status = (uint32_t *)status->device + i};
        BATCH_TRY(batch_stage(&b->staging, pixel_bytes(&jobs[i]), &jobs[i].pixels, error));
        BATCH_TRY(batch_scratch(&b->launch, jobs[i].coded.scratch, &m.scratch, error));
        m.pixels = jobs[i].pixels.device;
        jobs[i].coded.decoder->bind(&jobs[i].coded, &m, (char *)records.host + (size_t)i * size);
    }
    batch_copy(b);
    BATCH_TRY(kernels_of(&jobs[0].coded)->decode(&b->launch, records, n, error));
    for (int i = 0; i < n; i++)
        BATCH_TRY(module->copy(0, b->launch.stream, jobs[i].pixels.host, jobs[i].pixels.device,
                               pixel_bytes(&jobs[i]), error));
    BATCH_TRY(module->copy(0, b->launch.stream, status->host, status->device,
                           (size_t)n * sizeof(uint32_t), error));
    batch_wait(b);
}

/* Compares what the device made of a job with what the CPU makes of it. */
static void compare(const uint8_t *data, size_t size, hr_image_info *info, job *j, bool damaged)
{
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
    hr_error error = {0};
    info->orientation = j->orientation;
    j->q.dst = malloc(pixel_bytes(j));
    hr_status status = hr_image_decode(data, size, info, &j->q, &c, &error);
    if (damaged != (status != HR_STATUS_OK))
        fail(damaged ? "the device finds damage" : error.message, info, j);
    if (status == HR_STATUS_OK && memcmp(j->pixels.host, j->q.dst, pixel_bytes(j)) != 0)
        fail("other pixels", info, j);
    free(j->q.dst);
    compared++;
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

/* The whole image or a part of it, turned or not. False: the device leaves it to the CPU. */
static bool prepare(const uint8_t *data, size_t size, hr_image_info *info, int i, job *j)
{
    static const hr_image_type types[] = {HR_IMAGE_TYPE_RGB, HR_IMAGE_TYPE_GRAY,
                                          HR_IMAGE_TYPE_ANY_DATA};
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
    hr_error error = {0};
    *j = (job){.orientation = i < 3 ? 1 : 1 + (int32_t)(rnd() % 8)};
    j->q = (hr_decode_request){
        .type = types[i % 3], .dtype = HR_DTYPE_UINT8, .adjust_orientation = true};
    info->orientation = j->orientation;
    j->q.window = draw_window(info);
    if (i < 3)
        j->q.window = (hr_window){0, 0, info->height, info->width};
    j->q.stride = (size_t)j->q.window.w * (size_t)hr_image_type_channels(info, j->q.type);
    hr_status status =
        hr_image_stage(data, size, info, &j->q, &c, &memory->staging, arena, &j->coded, &error);
    if (status != HR_STATUS_OK && status != HR_STATUS_NOT_FUSABLE)
        fail(error.message, info, j);
    return status == HR_STATUS_OK;
}

static bool compare_all(const uint8_t *data, size_t size, hr_image_info *info)
{
    job jobs[JOBS];
    hr_staged damaged = {0};
    int n = 0;
    if (batch_seed)
        batch_seed(rnd() % 2 ? rnd() | 1 : 0);
    for (int i = 0; i < JOBS; i++)
        n += prepare(data, size, info, i, &jobs[n]);
    if (n > 0)
        run(jobs, n, &damaged);
    for (int i = 0; i < n; i++)
        compare(data, size, info, &jobs[i], ((uint32_t *)damaged.host)[i] != 0);
    batch_reset(memory);
    hr_arena_reset(arena);
    return n > 0;
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
