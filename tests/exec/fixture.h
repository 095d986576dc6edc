/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A folder of small PNM images whose pixels encode their number, and pipelines over it. */
#pragma once

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/core.h"
#include "exec/state.h"
#include "graph/value.h"
#include "headrace/headrace.h"
#include "waiting.h"

typedef struct fixture {
    char dir[64];
    int files;
} fixture;

static inline const char *fixture_path(const fixture *f, int i, char *path)
{
    sprintf(path, "%s/class%d/f%04d.ppm", f->dir, i * 4 / f->files, i);
    return path;
}

static inline void fixture_write(const char *path, const void *data, size_t size)
{
    FILE *out = fopen(path, "wb");
    if (out) {
        fwrite(data, 1, size, out);
        fclose(out);
    }
}

/* Image i: (16 + i % 5) x (20 + i % 7), a pattern that depends on i. */
static inline void fixture_image(const fixture *f, int i)
{
    int h = 16 + i % 5, w = 20 + i % 7;
    char path[128];
    unsigned char data[64 + 3 * 32 * 32];
    int n = sprintf((char *)data, "P6\n%d %d\n255\n", w, h);
    for (int k = 0; k < 3 * w * h; k++)
        data[n + k] = (unsigned char)(k * 7 + i * 31 + (k / 3 % w) * (i + 1));
    fixture_write(fixture_path(f, i, path), data, (size_t)(n + 3 * w * h));
}

static inline void fixture_make(fixture *f, int files)
{
    char path[128];
    strcpy(f->dir, "/tmp/headrace-test-XXXXXX");
    f->files = files;
    if (!mkdtemp(f->dir))
        exit(2);
    for (int c = 0; c < 4; c++) {
        sprintf(path, "%s/class%d", f->dir, c);
        mkdir(path, 0755);
    }
    for (int i = 0; i < files; i++)
        fixture_image(f, i);
}

static inline void fixture_break(const fixture *f, int i, const char *content)
{
    char path[128];
    fixture_write(fixture_path(f, i, path), content, strlen(content));
}

static inline void fixture_remove(fixture *f)
{
    char command[128];
    sprintf(command, "rm -rf '%s'", f->dir);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", f->dir);
}

/* Number of this process's threads that may run only on CPU `cpu`. */
static inline int pinned_threads(int cpu)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        cpu_set_t set;
        if (atoi(e->d_name) > 0 && sched_getaffinity(atoi(e->d_name), sizeof(set), &set) == 0)
            count += CPU_COUNT(&set) == 1 && CPU_ISSET(cpu, &set);
    }
    if (dir)
        closedir(dir);
    return count;
}

/* What a test varies. */
typedef struct fixture_graph {
    bool random_shuffle, pad_last_batch, stick_to_shard, shuffle_after_epoch;
    int num_shards, shard_id;
    int64_t cache_size;
    bool images; /* outputs: images (random crop, 16 x 16 float CHW, mirrored) and labels; otherwise
                    bytes, labels */
    const hr_op_def *last; /* unless NULL: an operator of the test that the first output goes
                              through */
} fixture_graph;

static inline hr_arg_value fixture_int(const char *name, int64_t v)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_INT, .u.i = v}};
}

static inline hr_status fixture_images(hr_graph *g, int32_t reader, int32_t *out, hr_error *error)
{
    static const double size[] = {16, 16}, mean[] = {120.5, 110.25, 100}, std[] = {58, 57, 56};
    int32_t images, flip;
    hr_edge in = {reader, 0};
    hr_node_desc decode = {.op = "decoders.image_random_crop", .inputs = &in, .input_count = 1};
    HR_TRY(hr_graph_add_node(g, &decode, &images, error));
    hr_arg_value resize_args[] = {
        {"size", {.kind = HR_VALUE_FLOATS, .count = 2, .u.floats = size}}};
    in.node = images;
    hr_node_desc resize = {
        .op = "resize", .inputs = &in, .input_count = 1, .args = resize_args, .arg_count = 1};
    HR_TRY(hr_graph_add_node(g, &resize, &images, error));
    hr_node_desc coin = {.op = "random.coin_flip"};
    HR_TRY(hr_graph_add_node(g, &coin, &flip, error));
    hr_arg_value norm_args[] = {{"mirror", {.kind = HR_VALUE_EDGE, .u.edge = {flip, 0}}},
                                {"mean", {.kind = HR_VALUE_FLOATS, .count = 3, .u.floats = mean}},
                                {"std", {.kind = HR_VALUE_FLOATS, .count = 3, .u.floats = std}}};
    in.node = images;
    hr_node_desc norm = {.op = "crop_mirror_normalize",
                         .inputs = &in,
                         .input_count = 1,
                         .args = norm_args,
                         .arg_count = 3};
    return hr_graph_add_node(g, &norm, out, error);
}

static inline hr_status fixture_graph_make(const fixture *f, const fixture_graph *o, hr_graph **out,
                                           hr_error *error)
{
    int32_t reader, first;
    HR_TRY(hr_graph_create(out, error));
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = f->dir}},
                           fixture_int("random_shuffle", o->random_shuffle),
                           fixture_int("pad_last_batch", o->pad_last_batch),
                           fixture_int("stick_to_shard", o->stick_to_shard),
                           fixture_int("shuffle_after_epoch", o->shuffle_after_epoch),
                           fixture_int("num_shards", o->num_shards ? o->num_shards : 1),
                           fixture_int("shard_id", o->shard_id),
                           fixture_int("cache_size", o->cache_size)};
    hr_node_desc desc = {.op = "readers.file", .name = "Reader", .args = args, .arg_count = 8};
    HR_TRY(hr_graph_add_node(*out, &desc, &reader, error));
    first = reader;
    if (o->images)
        HR_TRY(fixture_images(*out, reader, &first, error));
    if (o->last) {
        hr_edge in = {first, 0};
        hr_node_desc last = {.op = o->last->name, .inputs = &in, .input_count = 1};
        HR_TRY(hr__graph_add(*out, o->last, &last, &first, error));
    }
    hr_edge outputs[] = {{first, 0}, {reader, 1}};
    return hr_graph_set_outputs(*out, outputs, 2, error);
}

/* `configure` may change the options. */
static inline hr_status fixture_pipeline(const fixture *f, const fixture_graph *o,
                                         const hr_pipeline_options *options, hr_pipeline **out,
                                         hr_error *error)
{
    hr_graph *graph = NULL;
    hr_status status = fixture_graph_make(f, o, &graph, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, graph, options, error);
    hr_graph_destroy(graph);
    return status;
}

static inline hr_pipeline_options fixture_options(int batch_size, int threads)
{
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = batch_size;
    options.num_threads = threads;
    options.seed = 7;
    return options;
}

/* Workers without work: they have no thread, or look out for work. Lock held. */
static inline int32_t fixture_idle(const hr_pipeline *p)
{
    int32_t count = p->lookout;
    for (const hr_worker *w = p->free_worker; w; w = w->next)
        count++;
    return count;
}

/* Number of the file that a sample came from ("class1/f0012.ppm"). */
static inline int fixture_number(const hr_outputs *o, int i)
{
    const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(o, 0), i);
    const char *f = t && t->source_info ? strstr(t->source_info, "/f") : NULL;
    return f ? atoi(f + 2) : -1;
}

static inline uint64_t fixture_hash(const hr_tensor *t)
{
    size_t bytes = 0;
    uint64_t hash = 0xcbf29ce484222325u;
    hr_tensor_bytes(t, &bytes);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)t->data)[i]) * 0x100000001b3u;
    return hash;
}
