/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Whole pipelines on the device against the same on the CPU: bytes and labels. With --bench, their
 * speed, for the files of FOLDER.
 *  pipeline_device [--bench FOLDER [batch size] [threads] [seconds] [bytes for indices]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device.h"
#include "photographs.h"

#define SKIPPED 77

typedef struct kind {
    const char *name;
    bool whole; /* the whole image with resize_shorter=256 and a crop; otherwise a random crop */
    bool unfused;
    bool turned; /* with an additional resize before, which ends the fused chain */
    int64_t dtype;
} kind;

static const kind kinds[] = {
    {"train f16", false, false, false, HR_DTYPE_FLOAT16},
    {"train f32", false, false, false, HR_DTYPE_FLOAT},
    {"eval f16", true, false, false, HR_DTYPE_FLOAT16},
    {"unfused", false, true, false, HR_DTYPE_FLOAT},
    {"resized twice", true, false, true, HR_DTYPE_FLOAT},
};

static hr_arg_value arg_int(const char *name, int64_t v)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_INT, .u.i = v}};
}

static hr_arg_value arg_floats(const char *name, const double *v, int32_t n)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_FLOATS, .count = n, .u.floats = v}};
}

static hr_status add(hr_graph *g, const char *op, const char *device, hr_edge *edge,
                     const hr_arg_value *args, int32_t count, hr_error *error)
{
    hr_node_desc desc = {.op = op, .device = device, .args = args, .arg_count = count};
    hr_edge in = *edge;
    if (in.node >= 0) {
        desc.inputs = &in;
        desc.input_count = 1;
    }
    *edge = (hr_edge){0, 0};
    return hr_graph_add_node(g, &desc, &edge->node, error);
}

static hr_status add_images(hr_graph *g, const kind *k, bool gpu, hr_edge *images, hr_error *error)
{
    static const double size[] = {224, 224}, small[] = {300, 280};
    static const double mean[] = {123.675, 116.28, 103.53}, std[] = {58.395, 57.12, 57.375};
    const char *there = gpu ? "gpu" : "cpu";
    hr_edge flip = {-1, 0};
    hr_arg_value shorter[] = {arg_int("resize_shorter", 256)};
    hr_arg_value sized[] = {arg_floats("size", size, 2),
                            arg_int("interp_type", HR_INTERP_TRIANGULAR)};
    hr_arg_value twice[] = {arg_floats("size", small, 2)};
    HR_TRY(add(g, k->whole ? "decoders.image" : "decoders.image_random_crop", gpu ? "mixed" : "cpu",
               images, NULL, 0, error));
    if (k->turned)
        HR_TRY(add(g, "resize", there, images, twice, 1, error));
    HR_TRY(k->whole ? add(g, "resize", there, images, shorter, 1, error)
                    : add(g, "resize", there, images, sized, 2, error));
    HR_TRY(add(g, "random.coin_flip", "cpu", &flip, NULL, 0, error));
    hr_arg_value normalize[] = {{"mirror", {.kind = HR_VALUE_EDGE, .u.edge = flip}},
                                arg_floats("mean", mean, 3),
                                arg_floats("std", std, 3),
                                arg_int("dtype", k->dtype),
                                arg_floats("crop", size, 2)};
    return add(g, "crop_mirror_normalize", there, images, normalize, 5, error);
}

/* `folder` NULL: the files' bytes are fed; there are no labels. */
static hr_status open_pipeline(const kind *k, const char *folder, bool gpu, int batch, int threads,
                               int64_t indices, hr_pipeline **out, hr_error *error)
{
    hr_graph *g;
    hr_edge reader = {-1, 0}, images;
    HR_TRY(hr_graph_create(&g, error));
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = folder}},
                           arg_int("random_shuffle", 1)};
    hr_status status = folder ? add(g, "readers.file", "cpu", &reader, args, 2, error)
                              : add(g, "external_source", "cpu", &reader, NULL, 0, error);
    images = reader;
    if (status == HR_STATUS_OK)
        status = add_images(g, k, gpu, &images, error);
    hr_edge outputs[] = {images, {reader.node, 1}};
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, outputs, folder ? 2 : 1, error);
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = batch;
    options.num_threads = threads;
    options.seed = 5;
    options.fuse = !k->unfused;
    options.device_id = gpu ? 0 : HR_DEVICE_HOST;
    options.index_memory_limit = indices < 0 ? options.index_memory_limit : indices;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, g, &options, error);
    hr_graph_destroy(g);
    return status;
}

/* The number of samples of output `k` that differ. */
static int differing(const hr_outputs *a, const hr_outputs *b, int k)
{
    hr_batch *host = NULL;
    hr_error error = {0};
    if (hr_batch_to_host(&host, hr_outputs_batch(b, k), &error) != HR_STATUS_OK) {
        printf("%s\n", error.message);
        return 1;
    }
    int bad = hr_batch_size(host) != hr_batch_size(hr_outputs_batch(a, k));
    for (int32_t i = 0; !bad && i < hr_batch_size(host); i++) {
        const hr_tensor *x = hr_batch_tensor(hr_outputs_batch(a, k), i);
        const hr_tensor *y = hr_batch_tensor(host, i);
        size_t n = 0, m = 1;
        bool sized = hr_tensor_bytes(x, &n) && hr_tensor_bytes(y, &m) && n == m;
        bad += !sized || memcmp(x->data, y->data, n) != 0;
    }
    hr_batch_unref(host);
    return bad;
}

/* From the second epoch on, the files have indices. */
static int compare(const kind *k, const char *folder)
{
    hr_error error = {0};
    hr_pipeline *cpu = NULL, *gpu = NULL;
    hr_status status = open_pipeline(k, folder, false, 32, 2, 0, &cpu, &error);
    if (status == HR_STATUS_OK)
        status = open_pipeline(k, folder, true, 32, 4, -1, &gpu, &error);
    enum { BATCHES = 24 };
    int bad = 0, count = 0;
    for (int i = 0; i < BATCHES && status == HR_STATUS_OK; i++) {
        hr_outputs *a = NULL, *b = NULL;
        status = hr_pipeline_run(cpu, -1, &a, &error);
        if (status == HR_STATUS_OK)
            status = hr_pipeline_run(gpu, -1, &b, &error);
        if (status == HR_STATUS_OK) {
            bad += differing(a, b, 0) + differing(a, b, 1);
            bad += hr_batch_device(hr_outputs_batch(b, 0)) != 0;
            count += hr_batch_size(hr_outputs_batch(a, 0));
        }
        hr_outputs_unref(a);
        hr_outputs_unref(b);
    }
    hr_pipeline_destroy(cpu);
    hr_pipeline_destroy(gpu);
    printf("%-14s %d samples, %d differ%s%s\n", k->name, count, bad, status ? ": " : "",
           status ? error.message : "");
    return bad > 0 || status != HR_STATUS_OK;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t); /* no luck: only --bench asks */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int bench(const kind *k, const char *folder, int batch, int threads, double seconds,
                 int64_t indices)
{
    hr_error error = {0};
    hr_pipeline *p = NULL;
    hr_status status = open_pipeline(k, folder, true, batch, threads, indices, &p, &error);
    double start = 0, cpu = 0;
    long count = 0;
    for (int i = 0; status == HR_STATUS_OK; i++) {
        hr_outputs *o = NULL;
        if (i == 60) {
            start = seconds_of(CLOCK_MONOTONIC);
            cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
            count = 0;
        }
        if (i > 60 && seconds_of(CLOCK_MONOTONIC) - start > seconds)
            break;
        status = hr_pipeline_run(p, -1, &o, &error);
        count += o ? hr_batch_size(hr_outputs_batch(o, 0)) : 0;
        hr_outputs_unref(o);
    }
    double wall = seconds_of(CLOCK_MONOTONIC) - start;
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%-10s batch %d, %d threads: %.0f img/s, host %.1f us/img %s\n", k->name, batch, threads,
           (double)count / wall, cpu / (double)count * 1e6, status ? error.message : "");
    char *text = NULL;
    if (p && hr_pipeline_explain(p, &text, &error) == HR_STATUS_OK)
        printf("%s", text);
    hr_string_free(text);
    hr_pipeline_destroy(p);
    return status != HR_STATUS_OK;
}

/* The first `count` samples of a reader. */
static hr_status read_files(const char *folder, int count, hr_batch **out, hr_error *error)
{
    hr_graph *g;
    hr_pipeline *p = NULL;
    hr_outputs *o = NULL;
    hr_edge reader = {-1, 0};
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = count;
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = folder}}};
    HR_TRY(hr_graph_create(&g, error));
    hr_status status = add(g, "readers.file", "cpu", &reader, args, 1, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, &reader, 1, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(&p, g, &options, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_run(p, -1, &o, error);
    if (status == HR_STATUS_OK)
        *out = hr_batch_ref(hr_outputs_batch(o, 0));
    hr_outputs_unref(o);
    hr_pipeline_destroy(p);
    hr_graph_destroy(g);
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Measures from feeding one batch of 32 files to its pixels, with nothing else in flight. */
static int latency(const kind *k, const char *folder, int threads)
{
    enum { ROUNDS = 100 };
    hr_error error = {0};
    hr_pipeline *p = NULL;
    hr_batch *files = NULL;
    double took[ROUNDS];
    hr_status status = read_files(folder, 32, &files, &error);
    if (status == HR_STATUS_OK)
        status = open_pipeline(k, NULL, true, 32, threads, 0, &p, &error);
    for (int i = 0; i < ROUNDS && status == HR_STATUS_OK; i++) {
        hr_outputs *o = NULL;
        double start = seconds_of(CLOCK_MONOTONIC);
        status = hr_pipeline_feed(p, 0, &files, 1, &error);
        if (status == HR_STATUS_OK)
            status = hr_pipeline_run(p, -1, &o, &error);
        took[i] = seconds_of(CLOCK_MONOTONIC) - start;
        hr_outputs_unref(o);
    }
    if (status == HR_STATUS_OK) {
        double first = took[0];
        qsort(took, ROUNDS, sizeof(took[0]), compare_doubles);
        printf("%-10s one batch of 32, %d threads: median %.2f ms (%.2f to %.2f; the first %.2f)\n",
               k->name, threads, took[ROUNDS / 2] * 1e3, took[0] * 1e3, took[ROUNDS - 1] * 1e3,
               first * 1e3);
    } else {
        printf("latency: %s\n", error.message);
    }
    hr_pipeline_destroy(p);
    hr_batch_unref(files);
    return status != HR_STATUS_OK;
}

int main(int argc, char **argv)
{
    const hr_cuda_module_def *module = NULL;
    int32_t devices = 0;
    hr_error error = {0};
    bool timing = argc > 1 && strcmp(argv[1], "--bench") == 0;
    char **arg = argv + 1 + timing;
    int left = argc - 1 - timing, bad = 0;
    if (hr_module_open(&module, &error) != HR_STATUS_OK ||
        module->device_count(&devices, &error) != HR_STATUS_OK || devices == 0) {
        printf("skipped: %s\n", error.status ? error.message : "no CUDA device");
        return SKIPPED;
    }
    for (size_t k = 0; k < HR_COUNT_OF(kinds) && !timing; k++)
        for (int i = 0; photographs_root(i); i++)
            bad += compare(&kinds[k], photographs_root(i));
    const char *folder = left > 0 ? arg[0] : PHOTOGRAPHS;
    for (size_t k = 0; k < 3 && timing; k += 2)
        bad += bench(&kinds[k], folder, left > 1 ? atoi(arg[1]) : 256, left > 2 ? atoi(arg[2]) : 16,
                     left > 3 ? atof(arg[3]) : 2, left > 4 ? atoll(arg[4]) : -1);
    for (size_t k = 0; k < 3 && timing; k += 2)
        bad += latency(&kinds[k], folder, left > 2 ? atoi(arg[2]) : 16);
    return bad > 0;
}
