/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: whole readers of containers, from files and indices to items. The first byte chooses
 * the reader, the next two are the size of the index, which comes before the container. Every item
 * that the reader finds is read and made into outputs, and every byte of these is read. */
#include "core/core.h"
#include "graph/graph.h"
#include "kernels/kernels.h"
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { READERS = 5, ITEMS = 64, SPAN_MAX = 1 << 20 };

static int container = -1, index_file = -1;
static hr_graph *graph;
static const hr_node *readers[READERS];
static hr_arena *arena;

static void require(bool condition)
{
    if (!condition)
        abort();
}

static hr_arg_value text(const char *name, const char *value)
{
    return (hr_arg_value){name, {.kind = HR_VALUE_STRING, .u.s = value}};
}

static void define(int number, const char *op, const hr_arg_value *args, int32_t count)
{
    int32_t node;
    hr_error error;
    const hr_node_desc desc = {.op = op, .args = args, .arg_count = count};
    require(hr_graph_add_node(graph, &desc, &node, &error) == HR_STATUS_OK);
    readers[number] = graph->nodes[node];
}

static void define_all(void)
{
    static char path[64], index_path[64];
    static const char features[] = "{\"s\": [\"fixed\", [], \"string\", \"\"],"
                                   " \"n\": [\"fixed\", [2], \"int64\", -1],"
                                   " \"f\": [\"var\", [], \"float32\", 0.5]}";
    hr_error error;
    setenv("HEADRACE_SCAN_CACHE", "", 1);
    container = memfd_create("container", 0);
    index_file = memfd_create("index", 0);
    require(container >= 0 && index_file >= 0);
    require(hr_graph_create(&graph, &error) == HR_STATUS_OK);
    require(hr_arena_create(&arena, &error) == HR_STATUS_OK);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", container);
    snprintf(index_path, sizeof(index_path), "/proc/self/fd/%d", index_file);
    const hr_arg_value mxnet[] = {text("path", path), text("index_path", index_path)};
    const hr_arg_value tfrecord[] = {text("path", path), text("features", features),
                                     text("index_path", index_path)};
    const hr_arg_value archive[] = {text("paths", path), text("ext", "jpg;png"),
                                    text("index_paths", index_path)};
    define(0, "readers.mxnet", mxnet, 2);
    define(1, "readers.tfrecord", tfrecord, 3);
    define(2, "readers.tfrecord", tfrecord, 2);
    define(3, "readers.webdataset", archive, 3);
    define(4, "readers.webdataset", archive, 2);
}

static bool fill(int fd, const uint8_t *data, size_t size)
{
    return ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size;
}

/* Reads a span as the executor does, into memory of exactly its size, so that a sanitizer sees
 * every read beyond it. False: it is not in the file, which is an error there. */
static bool read_span(const hr_span *span, hr_tensor *out)
{
    hr_error error;
    require(span->size >= 0 && span->offset >= 0);
    if (span->size > SPAN_MAX)
        return false;
    hr_tensor_describe(out, HR_DTYPE_UINT8, (hr_shape){1, {span->size}}, NULL);
    out->data = malloc((size_t)span->size + (span->size == 0));
    require(out->data && hr_buffer_adopt(&out->buffer, out->data, (size_t)span->size, free,
                                         out->data, &error) == HR_STATUS_OK);
    return pread(container, out->data, (size_t)span->size, span->offset) == span->size;
}

static void read_bytes(const hr_tensor *t)
{
    unsigned sum = 0;
    size_t size;
    require(hr_tensor_bytes(t, &size));
    for (size_t i = 0; i < size; i++)
        sum += ((const uint8_t *)t->data)[i];
    __asm__ volatile("" : : "r"(sum)); /* so that the loop is not left out */
}

static void read_item(const hr_node *node, void *state, int64_t index)
{
    const hr_source_def *source = node->def->source;
    hr_span spans[HR_SOURCE_MAX_SPANS];
    hr_tensor bytes[HR_SOURCE_MAX_SPANS] = {{0}}, out[8] = {{0}};
    char room[256];
    int32_t count = 0;
    hr_error error;
    hr_op_call c = {.def = node->def,
                    .args = node->args,
                    .state = state,
                    .out = out,
                    .n_out = node->output_count,
                    .arena = arena,
                    .count = 1,
                    .kernels = hr_kernels_get(HR_CPU_LEVEL_BASE)};
    require(source->name(state, index, room, sizeof(room)) != NULL);
    bool whole = source->locate(state, index, spans, &count, &error) == HR_STATUS_OK;
    require(count <= HR_SOURCE_MAX_SPANS);
    for (int32_t i = 0; whole && i < count; i++)
        whole = read_span(&spans[i], &bytes[i]);
    if (whole && source->emit(&c, index, bytes, &error) == HR_STATUS_OK)
        for (int32_t i = 0; i < c.n_out; i++)
            read_bytes(&out[i]);
    for (int32_t i = 0; i < HR_SOURCE_MAX_SPANS; i++)
        if (bytes[i].buffer)
            hr_buffer_unref(bytes[i].buffer);
    hr_arena_reset(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *state;
    hr_error error;
    if (size < 3)
        return 0;
    if (!graph)
        define_all();
    const hr_node *node = readers[data[0] % READERS];
    size_t index_size = data[1] | (size_t)data[2] << 8;
    data += 3;
    size -= 3;
    if (index_size > size)
        index_size = size;
    if (!fill(index_file, data, index_size) ||
        !fill(container, data + index_size, size - index_size))
        return 0;
    if (node->def->create(node->args, &state, &error) != HR_STATUS_OK)
        return 0;
    int64_t count = node->def->source->count(state);
    for (int64_t i = 0; i < count && i < ITEMS; i++)
        read_item(node, state, i);
    node->def->destroy(state);
    return 0;
}
