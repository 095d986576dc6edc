/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by the tests of operators: arguments in a line, tensors over arrays, one call. */
#pragma once

#include "core/core.h"
#include "graph/graph.h"
#include "test.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))
#define ARG_INT(id, v)                                                                             \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_INT, .u.i = (v)                                                       \
        }                                                                                          \
    }
#define ARG_FLOAT(id, v)                                                                           \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_FLOAT, .u.f = (v)                                                     \
        }                                                                                          \
    }
#define ARG_TEXT(id, v)                                                                            \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_STRING, .u.s = (v)                                                    \
        }                                                                                          \
    }
#define ARG_FLOATS(id, n, ...)                                                                     \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_FLOATS, .count = (n), .u.floats = (const double[])                    \
            {                                                                                      \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    }
#define ARG_INTS(id, n, ...)                                                                       \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_INTS, .count = (n), .u.ints = (const int64_t[])                       \
            {                                                                                      \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    }

static hr_error error;

static inline hr_tensor tensor(const void *data, hr_dtype dtype, const char *layout, int32_t ndim,
                               const int64_t *extent)
{
    hr_tensor t;
    hr_tensor_describe(&t, dtype, hr_shape_make(ndim, extent), layout);
    t.data = (void *)(uintptr_t)data;
    return t;
}

static void keep(void *context)
{
    (void)context;
}

/* A batch of one tensor, whose elements are not copied; NULL with `error`. */
static inline hr_batch *batch_of(const hr_tensor *t)
{
    hr_tensor view = *t;
    hr_batch *batch = NULL;
    size_t bytes = 0;
    if (hr_tensor_bytes(t, &bytes) &&
        hr_buffer_adopt(&view.buffer, t->data, bytes, keep, NULL, &error) == HR_STATUS_OK)
        hr_batch_create(&batch, &view, 1, true, &error);
    hr_buffer_unref(view.buffer);
    return batch;
}

/* A graph of the operator and one source per input; the sources come first. Without inputs a source
 * sets the number of samples. */
static inline hr_status graph_of(hr_graph *graph, const char *op, const hr_arg_value *args,
                                 int32_t count, int32_t n_in)
{
    hr_edge edges[HR_OP_MAX_INPUTS], outputs[2] = {{0}};
    const hr_node_desc source = {.op = "external_source"};
    for (int32_t i = 0; i < HR_MAX(n_in, 1); i++)
        HR_TRY(hr_graph_add_node(graph, &source, &edges[i].node, &error));
    for (int32_t i = 0; i < n_in; i++)
        edges[i].output = 0;
    const hr_node_desc desc = {
        .op = op, .inputs = edges, .input_count = n_in, .args = args, .arg_count = count};
    HR_TRY(hr_graph_add_node(graph, &desc, &outputs[0].node, &error));
    return hr_graph_set_outputs(graph, outputs, n_in ? 1 : 2, &error);
}

/* Runs the operator for one sample. Its first output is valid in *out until the next call. */
static inline hr_status invoke(const char *op, const hr_arg_value *args, int32_t count,
                               const hr_tensor *in, int32_t n_in, int64_t sample, hr_tensor *out)
{
    static hr_outputs *outputs;
    const hr_tensor nothing = {.dtype = HR_DTYPE_UINT8, .data = &error};
    hr_batch *batches[HR_OP_MAX_INPUTS] = {NULL};
    hr_feeding feedings[HR_OP_MAX_INPUTS];
    hr_pipeline_options options;
    hr_pipeline *pipeline = NULL;
    hr_graph *graph = NULL;
    bool taken;
    hr_outputs_unref(outputs);
    outputs = NULL;
    for (int32_t i = 0; i < HR_MAX(n_in, 1); i++) {
        batches[i] = batch_of(n_in ? &in[i] : &nothing);
        feedings[i] = (hr_feeding){i, 1, &batches[i]};
    }
    hr_pipeline_options_init(&options);
    options.run_here = true;
    options.seed = 11;
    const hr_call call = {
        .feedings = feedings, .count = HR_MAX(n_in, 1), .seed = -1, .sample = sample};
    hr_status status = hr_graph_create(&graph, &error);
    if (status == HR_STATUS_OK)
        status = graph_of(graph, op, args, count, n_in);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(&pipeline, graph, &options, &error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_call(pipeline, &call, &outputs, &taken, &error);
    if (status == HR_STATUS_OK)
        *out = *hr_batch_tensor(hr_outputs_batch(outputs, 0), 0);
    hr_pipeline_destroy(pipeline);
    hr_graph_destroy(graph);
    for (int32_t i = 0; i < HR_OP_MAX_INPUTS; i++)
        hr_batch_unref(batches[i]);
    return status;
}
