/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The cost of the GPU JPEG decoder: CPU time to prepare a file, GPU time per image, and images per
 * second with several batches in flight, including the copy to the device.
 * bench_gpu_jpeg MODULE FOLDER [batch] [once]; "once": one batch of each kind, for a profiler. */
#include "gpu/jpeg_batch.h"

#include <dirent.h>
#include <math.h>
#include <time.h>

enum { FILES_MAX = 4096, FLIGHT = 4, REPEATS = 40 };

typedef struct file {
    uint8_t *bytes;
    size_t size;
    hr_image_info info;
    hr_jpeg_index index;
} file;

static const hr_cuda_module_def *module;
static file files[FILES_MAX];
static int file_count;
static hr_arena *indices;
static uint64_t state = 88172645463325252u;

static double random_unit(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    file *x = &files[file_count];
    if (!f || file_count == FILES_MAX)
        return;
    fseek(f, 0, SEEK_END);
    x->size = (size_t)ftell(f);
    rewind(f);
    x->bytes = malloc(x->size + 1);
    bool good = fread(x->bytes, 1, x->size, f) == x->size &&
                hr_image_probe(x->bytes, x->size, BATCH_PIXELS, &x->info, NULL) == HR_STATUS_OK;
    fclose(f);
    if (good)
        file_count++;
    else
        free(x->bytes);
}

static void read_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        read_file(path);
        return;
    }
    char inside[4096];
    for (struct dirent *e = readdir(folder); e; e = readdir(folder))
        if (e->d_name[0] != '.') {
            snprintf(inside, sizeof inside, "%s/%s", path, e->d_name);
            read_folder(inside);
        }
    closedir(folder);
}

static void index_files(void)
{
    hr_arena *arena;
    BATCH_TRY(hr_arena_create(&arena, error));
    BATCH_TRY(hr_arena_create(&indices, error));
    for (int i = 0; i < file_count; i++) {
        file *f = &files[i];
        hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
        size_t stride = (size_t)f->info.width * 3;
        hr_codec_request q = {.window = {0, 0, f->info.height, f->info.width},
                              .channels = 3,
                              .dst = malloc(stride * (size_t)f->info.height),
                              .stride = stride};
        BATCH_TRY(hr_jpeg_index_make(&f->index, f->size, indices, error));
        if (hr_jpeg_decode(f->bytes, f->size, &f->info, &q, &f->index, &c, NULL) != HR_STATUS_OK)
            f->index.count = 1;
        free(q.dst);
        hr_arena_reset(arena);
    }
    hr_arena_destroy(arena);
}

/* A window as RandomResizedCrop chooses it. */
static hr_window random_window(int height, int width)
{
    for (int i = 0; i < 10; i++) {
        double area = (0.08 + 0.92 * random_unit()) * height * width;
        double ratio = exp((2 * random_unit() - 1) * log(4.0 / 3));
        int64_t w = (int64_t)(sqrt(area * ratio) + 0.5), h = (int64_t)(sqrt(area / ratio) + 0.5);
        if (w > 0 && h > 0 && w <= width && h <= height)
            return (hr_window){.h = h,
                               .w = w,
                               .y = (int64_t)(random_unit() * (double)(height - h + 1)),
                               .x = (int64_t)(random_unit() * (double)(width - w + 1))};
    }
    return (hr_window){0, 0, height, width};
}

typedef struct flight {
    batch *b;
    hr_staged records, status;
    char *pixels;
    int taken;
    double prepare; /* CPU seconds of this thread */
    void *begin, *end;
} flight;

static int next_file;

/* Prepares a batch of the next `n` files. `whole`: decode whole images, not windows. */
static void fill(flight *f, int n, bool whole, bool indexed)
{
    batch_reset(f->b);
    BATCH_TRY(
        batch_stage(&f->b->staging, (size_t)n * sizeof(hr_jpeg_device_image), &f->records, error));
    BATCH_TRY(batch_stage(&f->b->staging, (size_t)n * sizeof(uint32_t), &f->status, error));
    memset(f->status.host, 0, (size_t)n * sizeof(uint32_t));
    hr_jpeg_device_image *records = f->records.host;
    size_t pixels = 0;
    f->taken = 0;
    f->prepare = 0;
    for (int i = 0; i < n; i++) {
        file *x = &files[next_file++ % file_count];
        batch_job j = {.bytes = x->bytes, .size = x->size, .info = x->info, .channels = 3};
        j.window = whole ? (hr_window){0, 0, x->info.height, x->info.width}
                         : random_window(x->info.height, x->info.width);
        j.stride = (size_t)j.window.w * 3;
        j.index = indexed ? &x->index : NULL;
        double start = now(CLOCK_THREAD_CPUTIME_ID);
        bool taken = batch_prepare(f->b, &j, &records[f->taken]);
        f->prepare += now(CLOCK_THREAD_CPUTIME_ID) - start;
        if (!taken)
            continue;
        records[f->taken].status = (uint32_t *)f->status.device + f->taken;
        records[f->taken++].dst = (uint8_t *)pixels;
        pixels += (j.stride * (size_t)j.window.h + 255) & ~(size_t)255;
    }
    if (f->pixels)
        module->free(0, f->b->launch.stream, f->pixels);
    BATCH_TRY(module->alloc(0, f->b->launch.stream, pixels, (void **)&f->pixels, error));
    for (int i = 0; i < f->taken; i++)
        records[i].dst = (uint8_t *)f->pixels + (size_t)records[i].dst;
}

static void launch(flight *f)
{
    f->b->scratch_used = 0;
    BATCH_TRY(module->decoders[0]->decode(&f->b->launch, f->records, f->taken, error));
}

/* GPU microseconds per image with one batch in flight: the median of 15 runs. */
static double alone(flight *f)
{
    float ms[15];
    batch_copy(f->b);
    for (int i = 0; i < 15; i++) {
        BATCH_TRY(module->event_record(0, f->begin, f->b->launch.stream, error));
        launch(f);
        BATCH_TRY(module->event_record(0, f->end, f->b->launch.stream, error));
        batch_wait(f->b);
        BATCH_TRY(module->event_elapsed(f->begin, f->end, &ms[i], error));
        for (int k = i; k > 0 && ms[k] < ms[k - 1]; k--) {
            float t = ms[k];
            ms[k] = ms[k - 1];
            ms[k - 1] = t;
        }
    }
    return (double)ms[7] * 1e3 / f->taken;
}

/* Microseconds per image with FLIGHT batches in flight. `copy`: include the copy to the device. */
static double together(flight *flights, bool copy)
{
    int images = 0;
    for (int i = 0; i < FLIGHT; i++)
        batch_wait(flights[i].b);
    double start = now(CLOCK_MONOTONIC);
    for (int r = 0; r < REPEATS; r++)
        for (int i = 0; i < FLIGHT; i++) {
            if (copy)
                batch_copy(flights[i].b);
            launch(&flights[i]);
            images += flights[i].taken;
        }
    for (int i = 0; i < FLIGHT; i++)
        batch_wait(flights[i].b);
    return (now(CLOCK_MONOTONIC) - start) * 1e6 / images;
}

/* The number of images of the batch that the device found damaged. */
static int damaged(flight *f)
{
    int n = 0;
    BATCH_TRY(module->copy(0, f->b->launch.stream, f->status.host, f->status.device,
                           (size_t)f->taken * sizeof(uint32_t), error));
    batch_wait(f->b);
    for (int i = 0; i < f->taken; i++)
        n += ((uint32_t *)f->status.host)[i] != 0;
    return n;
}

static void measure(flight *flights, int n, bool whole, bool indexed, bool once)
{
    double prepare = 0, single = 0, bytes = 0;
    int bad = 0, taken = 0;
    next_file = 0;
    for (int i = 0; i < FLIGHT && (i == 0 || !once); i++) {
        fill(&flights[i], n, whole, indexed);
        prepare += flights[i].prepare;
        bytes += (double)flights[i].b->used;
        taken += flights[i].taken;
        if (once) {
            batch_copy(flights[i].b);
            launch(&flights[i]);
            batch_wait(flights[i].b);
            return;
        }
        single += alone(&flights[i]) / FLIGHT;
        bad += damaged(&flights[i]);
    }
    double device = together(flights, false), all = together(flights, true);
    printf("%-7s %-8s batch %4d: prepare %5.1f us CPU; GPU %5.2f us alone, %5.2f us with %d in "
           "flight, %5.2f us (%.0f img/s) with the copy of %.1f KB; %d of %d taken, %d damaged\n",
           whole ? "whole" : "window", indexed ? "indexed" : "", n, prepare * 1e6 / (FLIGHT * n),
           single, device, FLIGHT, all, 1e6 / all, bytes / taken / 1e3, taken, FLIGHT * n, bad);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        printf("bench_gpu_jpeg MODULE FOLDER [batch] [once]\n");
        return 1;
    }
    int batches[] = {argc > 3 ? atoi(argv[3]) : 256, 32, 512};
    bool once = argc > 4;
    static const size_t limits[] = {0, 128 << 20};
    module = batch_module(argv[1]);
    read_folder(argv[2]);
    if (file_count == 0)
        return 1;
    index_files();
    flight flights[FLIGHT];
    memset(flights, 0, sizeof flights);
    for (int i = 0; i < FLIGHT; i++) {
        flights[i].b = malloc(sizeof(batch));
        batch_open(flights[i].b, module, (size_t)batches[0] << 20, (size_t)batches[0] << 23, 0);
        BATCH_TRY(module->event_create(0, true, &flights[i].begin, error));
        BATCH_TRY(module->event_create(0, true, &flights[i].end, error));
    }
    for (int k = 0; k < (once || argc > 3 ? 1 : 3); k++)
        for (int l = 0; l < (once || argc > 3 ? 1 : 2); l++) {
            for (int i = 0; i < FLIGHT; i++)
                flights[i].b->launch.scratch_limit = limits[l];
            printf("blocks in parts of %zu MB:\n", limits[l] >> 20);
            for (int kind = 0; kind < 4; kind++)
                measure(flights, batches[k], kind & 1, kind & 2, once);
        }
    return 0;
}
