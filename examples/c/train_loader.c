/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The training pipeline in C: read -> random crop decode -> resize -> mirror, normalise -> batches
 * of float CHW. train_loader DIR [iterations] [threads] prints images per second and a checksum. */
#include <headrace/headrace.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_SIZE 64

static hr_arg_value arg_int(const char *name, int64_t v)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_INT, .u.i = v}};
}

static hr_arg_value arg_floats(const char *name, const double *v, int32_t n)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_FLOATS, .count = n, .u.floats = v}};
}

static hr_arg_value arg_string(const char *name, const char *v)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_STRING, .u.s = v}};
}

static hr_arg_value arg_node(const char *name, int32_t node)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_EDGE, .u.edge = {node, 0}}};
}

/* Adds a node with one input, or without one if `input` < 0. */
static hr_status add(hr_graph *g, const char *op, int32_t input, const hr_arg_value *args,
                     int32_t count, int32_t *node, hr_error *error)
{
    hr_edge edge = {input, 0};
    hr_node_desc desc = {.op = op, .args = args, .arg_count = count};
    if (input >= 0) {
        desc.inputs = &edge;
        desc.input_count = 1;
    }
    return hr_graph_add_node(g, &desc, node, error);
}

static hr_status build_graph(hr_graph *g, const char *dir, hr_error *error)
{
    static const double area[] = {0.08, 1.0}, ratio[] = {3.0 / 4, 4.0 / 3}, size[] = {224, 224};
    static const double mean[] = {123.675, 116.28, 103.53}, std[] = {58.395, 57.12, 57.375};
    int32_t reader, images, flip;
    hr_arg_value reader_args[] = {arg_string("file_root", dir), arg_int("random_shuffle", 1)};
    hr_arg_value decode_args[] = {arg_floats("random_area", area, 2),
                                  arg_floats("random_aspect_ratio", ratio, 2),
                                  arg_int("num_attempts", 100)};
    hr_arg_value resize_args[] = {arg_floats("size", size, 2),
                                  arg_int("interp_type", HR_INTERP_TRIANGULAR)};
    hr_status status = add(g, "readers.file", -1, reader_args, 2, &reader, error);
    if (status == HR_STATUS_OK)
        status = add(g, "decoders.image_random_crop", reader, decode_args, 3, &images, error);
    if (status == HR_STATUS_OK)
        status = add(g, "resize", images, resize_args, 2, &images, error);
    if (status == HR_STATUS_OK)
        status = add(g, "random.coin_flip", -1, NULL, 0, &flip, error);
    if (status != HR_STATUS_OK)
        return status;
    hr_arg_value normalize_args[] = {arg_node("mirror", flip), arg_floats("mean", mean, 3),
                                     arg_floats("std", std, 3), arg_int("dtype", HR_DTYPE_FLOAT),
                                     arg_string("output_layout", "CHW")};
    status = add(g, "crop_mirror_normalize", images, normalize_args, 5, &images, error);
    hr_edge outputs[] = {{images, 0}, {reader, 1}};
    return status == HR_STATUS_OK ? hr_graph_set_outputs(g, outputs, 2, error) : status;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static hr_status train(hr_pipeline *pipeline, int iterations, hr_error *error)
{
    double start = seconds(), sum = 0;
    for (int i = 0; i < iterations; i++) {
        hr_outputs *outputs;
        hr_tensor images;
        hr_status status = hr_pipeline_run(pipeline, -1, &outputs, error);
        if (status != HR_STATUS_OK)
            return status;
        if (hr_batch_dense(hr_outputs_batch(outputs, 0), &images))
            sum += ((const float *)images.data)[0]; /* a training step would use all of it */
        hr_outputs_unref(outputs);
    }
    double took = seconds() - start;
    char *verdict = NULL;
    printf("%d images, %.0f img/s, checksum %.4f\n", iterations * BATCH_SIZE,
           iterations * BATCH_SIZE / took, sum);
    if (hr_pipeline_explain(pipeline, &verdict, error) == HR_STATUS_OK)
        printf("%s", verdict);
    hr_string_free(verdict);
    return HR_STATUS_OK;
}

int main(int argc, char **argv)
{
    hr_error error = {HR_STATUS_OK, ""};
    hr_graph *graph = NULL;
    hr_pipeline *pipeline = NULL;
    hr_pipeline_options options;
    if (argc < 2) {
        fprintf(stderr, "usage: %s DIR [iterations] [threads]\n", argv[0]);
        return 2;
    }
    hr_pipeline_options_init(&options);
    options.batch_size = BATCH_SIZE;
    options.num_threads = argc > 3 ? atoi(argv[3]) : 2;
    options.seed = 12;
    hr_status status = hr_graph_create(&graph, &error);
    if (status == HR_STATUS_OK)
        status = build_graph(graph, argv[1], &error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(&pipeline, graph, &options, &error);
    hr_graph_destroy(graph);
    if (status == HR_STATUS_OK)
        status = train(pipeline, argc > 2 ? atoi(argv[2]) : 20, &error);
    hr_pipeline_destroy(pipeline);
    if (status != HR_STATUS_OK)
        fprintf(stderr, "%s: %s\n", hr_status_name(status), error.message);
    return status != HR_STATUS_OK;
}
