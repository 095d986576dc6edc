/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Any bytes as a small graph over fed data, which runs for two iterations under a small
 * host_memory_limit: a result or an error. One thread with fusion and two threads without give the
 * same bytes. */
#include "core/core.h"
#include "graph/graph.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

enum { MAX_NODES = 10, MAX_ARGS = 6, MAX_LIST = 5, MAX_BATCH = 3, ITERATIONS = 2 };
enum { FLAGS, DATA };            /* the nodes that are fed */
#define LIMIT ((size_t)16 << 20) /* of the outputs, and of scratch beyond 64 MB */
#define FED ((size_t)200000 * 4) /* bytes of the largest sample */
#define PATIENCE_MS (60 * 1000)  /* an iteration that takes longer hangs */

typedef struct input {
    const uint8_t *at, *end;
} input;

typedef struct fed {
    int32_t size; /* of the batch */
    hr_tensor data[MAX_BATCH], flags[MAX_BATCH];
} fed;

typedef struct result {
    hr_status status;
    uint64_t hash;
    hr_error error;
} result;

/* The memory of an argument's value. */
typedef struct value_room {
    int64_t ints[MAX_LIST];
    double floats[MAX_LIST];
    char text[32];
    const char *strings[MAX_LIST];
} value_room;

static void require(bool condition)
{
    if (!condition)
        __builtin_trap();
}

static uint32_t byte(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* ---- data ---- */

static const int64_t shapes[][3] = {{5, 7, 3},      {33, 47, 3},  {1, 1, 1},   {64, 64, 1},
                                    {0, 0, 3},      {0, 9, 3},    {9, 0, 3},   {4, 5, 0},
                                    {4, 5, 17},     {1, 300, 3},  {300, 1, 3}, {200000, 1, 1},
                                    {1, 200000, 1}, {2, 60000, 1}};
static const char *const layouts[] = {"HWC", "HWC", "HWC", "CHW", "", "FHW"};
static const hr_dtype dtypes[] = {HR_DTYPE_UINT8, HR_DTYPE_UINT8, HR_DTYPE_UINT8,   HR_DTYPE_FLOAT,
                                  HR_DTYPE_INT16, HR_DTYPE_INT32, HR_DTYPE_FLOAT16, HR_DTYPE_BOOL};

#define PICK(in, table) (table)[byte(in) % (sizeof(table) / sizeof((table)[0]))]

static void data_make(input *in, fed *f)
{
    static uint8_t elements[FED], booleans[FED];
    static const bool truths[] = {false, true};
    static const hr_shape scalar;
    f->size = 1 + (int32_t)(byte(in) % MAX_BATCH);
    const hr_dtype dtype = PICK(in, dtypes);
    const char *layout = PICK(in, layouts);
    uint32_t flags = byte(in), first = byte(in);
    for (size_t i = 0; !elements[1] && i < FED; i++) {
        elements[i] = i % 4 == 3 ? 0x3e : (uint8_t)(i * 37); /* as floats: small numbers */
        booleans[i] = i % 3 == 0;
    }
    for (int32_t i = 0; i < f->size; i++) {
        uint32_t k = first & 128 ? byte(in) : first; /* shapes of their own, or one for all */
        const int64_t *extent = shapes[k % (sizeof(shapes) / sizeof(shapes[0]))];
        hr_tensor_describe(&f->data[i], dtype, hr_shape_make(3, extent), layout);
        hr_tensor_describe(&f->flags[i], HR_DTYPE_BOOL, scalar, NULL);
        f->data[i].data = dtype == HR_DTYPE_BOOL ? booleans : elements;
        f->flags[i].data = (void *)(uintptr_t)&truths[flags >> i & 1];
    }
}

/* ---- arguments ---- */

static double number(input *in)
{
    static const double numbers[] = {
        0,     1,     2,     3,    -1,          0.5,          16, 64, 224, 1000,
        20000, 1e-10, -0.25, 1e30, 2147483647., -2147483648., 5,  7,  100, 255};
    return PICK(in, numbers);
}

/* One of the argument's choices, or a text that some operator knows. */
static const char *string(input *in, const hr_arg_def *arg, char room[32])
{
    static const char *const texts[] = {
        "", "HWC", "CHW", "HW", "WH", "W", "C", "FHW", "pad", "error", "trim_to_shape", "x"};
    uint32_t k = byte(in);
    if (!arg->choices)
        return texts[k % (sizeof(texts) / sizeof(texts[0]))];
    const char *at = arg->choices;
    for (; k > 0; k--) {
        at = strchr(at, '|');
        at = at ? at + 1 : arg->choices;
    }
    size_t size = HR_MIN(strcspn(at, "|"), (size_t)31);
    memcpy(room, at, size);
    room[size] = '\0';
    return room;
}

static hr_value value_make(input *in, const hr_arg_def *arg, value_room *room)
{
    hr_value v = {.kind = HR_VALUE_FLOAT};
    switch (arg->type) {
    case HR_ARG_TYPE_STRING:
    case HR_ARG_TYPE_LAYOUT:
        v.kind = HR_VALUE_STRING;
        v.u.s = string(in, arg, room->text);
        break;
    case HR_ARG_TYPE_STRINGS:
        v = (hr_value){.kind = HR_VALUE_STRINGS, .count = 1, .u.strings = room->strings};
        room->strings[0] = string(in, arg, room->text);
        break;
    case HR_ARG_TYPE_DTYPE:
    case HR_ARG_TYPE_IMAGE_TYPE:
    case HR_ARG_TYPE_INTERP:
        v.kind = HR_VALUE_INT;
        v.u.i = byte(in) % 16;
        break;
    case HR_ARG_TYPE_INTS:
    case HR_ARG_TYPE_INT64S:
    case HR_ARG_TYPE_FLOATS:
        v = (hr_value){.kind = HR_VALUE_FLOATS,
                       .count = (int32_t)(byte(in) % (MAX_LIST + 1)),
                       .u.floats = room->floats};
        for (int32_t i = 0; i < v.count; i++)
            room->floats[i] = number(in);
        break;
    default:
        v.u.f = number(in);
    }
    return v;
}

/* ---- the graph ---- */

/* Whether the operator runs by itself: it needs no source, function, file or device. */
static bool usable(const hr_op_def *def)
{
    return !def->source && !(def->flags & (HR_OP_FUNCTION | HR_OP_ORDERED | HR_OP_TO_DEVICE)) &&
           strncmp(def->name, "io.", 3) != 0;
}

static uint32_t hash_text(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

/* The operator whose name's hash comes next, so that a new operator changes few inputs. */
static const hr_op_def *operator_of(uint32_t wanted)
{
    const hr_op_def *best = NULL;
    uint32_t least = UINT32_MAX;
    for (int32_t i = 0; i < hr_registry_count(); i++) {
        const hr_op_def *def = hr_registry_get(i);
        uint32_t distance = (hash_text(def->name) - wanted) & 0xffff;
        if (usable(def) && distance < least) {
            least = distance;
            best = def;
        }
    }
    return best;
}

/* An output of the node that is `back` nodes before the last one. */
static hr_edge edge(const hr_graph *g, uint32_t back)
{
    int32_t node = g->count - 1 - (int32_t)(back % (uint32_t)g->count), outputs;
    while ((outputs = hr_graph_node_outputs(g, node)) < 1)
        node--; /* node 0 has one */
    return (hr_edge){node, (int32_t)(back / 16) % outputs};
}

static void add_node(input *in, hr_graph *g)
{
    const hr_op_def *def = operator_of(byte(in) << 8 | byte(in));
    hr_edge inputs[4];
    hr_arg_value args[MAX_ARGS];
    value_room rooms[MAX_ARGS];
    hr_error error = {0};
    int32_t node, arg_count = 0, n = 0;
    uint32_t how = byte(in), wanted = how & 7;
    while (def->args && def->args[arg_count].type != HR_ARG_TYPE_END)
        arg_count++;
    hr_node_desc desc = {.op = def->name, .inputs = inputs, .args = args};
    hr_op_ports ports = hr_op_ports_of(def);
    desc.input_count = HR_MIN(ports.in_min + (int32_t)(how >> 3 & 1), HR_MIN(ports.in_max, 4));
    for (int32_t i = 0; i < desc.input_count; i++)
        inputs[i] = edge(g, byte(in));
    for (int32_t i = 0; i < arg_count && n < MAX_ARGS; i++)
        if (def->args[i].flags & HR_ARG_REQUIRED)
            args[n++].name = def->args[i].name;
    for (; arg_count && wanted > 0 && n < MAX_ARGS; wanted--)
        args[n++].name = def->args[byte(in) % (uint32_t)arg_count].name;
    for (int32_t i = 0; i < n; i++) {
        const hr_arg_def *arg = &def->args[hr_args_find(def, args[i].name)];
        if ((arg->flags & HR_ARG_PER_SAMPLE) && byte(in) % 8 == 7)
            args[i].value = (hr_value){.kind = HR_VALUE_EDGE, .u.edge = edge(g, byte(in))};
        else
            args[i].value = value_make(in, arg, &rooms[i]);
    }
    desc.arg_count = n;
    const hr_guard guard = {.predicate = {FLAGS, 0}, .when = how >> 5 & 1};
    desc.guard = (how >> 6) == 3 ? &guard : NULL;
    hr_status status = hr_graph_add_node(g, &desc, &node, &error);
    require(status == HR_STATUS_OK || error.message[0]);
}

static hr_graph *graph_make(input *in)
{
    hr_graph *g = NULL;
    hr_node_desc source = {.op = "external_source"};
    hr_edge outputs[2];
    int32_t node;
    require(hr_graph_create(&g, NULL) == HR_STATUS_OK);
    for (int32_t i = FLAGS; i <= DATA; i++)
        require(hr_graph_add_node(g, &source, &node, NULL) == HR_STATUS_OK);
    uint32_t second = byte(in);
    for (int32_t i = 0; i < MAX_NODES && in->at < in->end; i++)
        add_node(in, g);
    outputs[0] = edge(g, 0);
    outputs[1] = edge(g, second >> 1);
    if (hr_graph_set_outputs(g, outputs, 1 + (second & 1), NULL) == HR_STATUS_OK)
        return g;
    hr_graph_destroy(g);
    return NULL;
}

/* ---- running it ---- */

static void hash_bytes(uint64_t *hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static void hash_outputs(uint64_t *hash, const hr_outputs *outputs)
{
    for (int32_t k = 0; k < hr_outputs_count(outputs); k++) {
        const hr_batch *batch = hr_outputs_batch(outputs, k);
        for (int32_t i = 0; i < hr_batch_size(batch); i++) {
            const hr_tensor *t = hr_batch_tensor(batch, i);
            size_t bytes;
            require(hr_tensor_bytes(t, &bytes) && bytes <= LIMIT + MAX_BATCH * FED);
            hash_bytes(hash, &t->dtype, sizeof(t->dtype));
            hash_bytes(hash, t->shape.extent, (size_t)t->shape.ndim * sizeof(int64_t));
            hash_bytes(hash, t->layout.name, strlen(t->layout.name));
            hash_bytes(hash, t->data, bytes);
        }
    }
}

static hr_status feed(hr_pipeline *p, int32_t node, const hr_tensor *tensors, int32_t size,
                      hr_error *error)
{
    hr_batch *batch;
    HR_TRY(hr_batch_create(&batch, tensors, size, false, error));
    hr_status status = hr_pipeline_feed(p, node, &batch, 1, error);
    hr_batch_unref(batch);
    return status == HR_STATUS_KEY ? HR_STATUS_OK : status; /* nothing uses the source */
}

static hr_status iterate(hr_pipeline *p, const fed *f, uint64_t *hash, hr_error *error)
{
    hr_outputs *outputs;
    HR_TRY(feed(p, FLAGS, f->flags, f->size, error));
    HR_TRY(feed(p, DATA, f->data, f->size, error));
    HR_TRY(hr_pipeline_run(p, PATIENCE_MS, &outputs, error));
    hash_outputs(hash, outputs);
    hr_outputs_unref(outputs);
    return HR_STATUS_OK;
}

static result run(const hr_graph *g, const fed *f, bool fuse, int32_t threads)
{
    result r = {.hash = 0xcbf29ce484222325u};
    hr_pipeline *p = NULL;
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = f->size;
    options.num_threads = threads;
    options.seed = 7;
    options.fuse = fuse;
    options.host_memory_limit = LIMIT;
    options.max_image_pixels = 1 << 20;
    r.status = hr_pipeline_create(&p, g, &options, &r.error);
    for (int32_t i = 0; i < ITERATIONS && r.status == HR_STATUS_OK; i++)
        r.status = iterate(p, f, &r.hash, &r.error);
    hr_pipeline_destroy(p);
    require(r.status == HR_STATUS_OK || r.error.message[0]);
    require(r.status != HR_STATUS_TIMEOUT);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, data + size};
    fed f;
    data_make(&in, &f);
    hr_graph *g = graph_make(&in);
    if (!g)
        return 0;
    result fused = run(g, &f, true, 1), plain = run(g, &f, false, 2);
    if (fused.status == HR_STATUS_OK && plain.status == HR_STATUS_OK)
        require(fused.hash == plain.hash);
    else if (!strstr(fused.error.message, "memory") && !strstr(plain.error.message, "memory"))
        require(fused.status == plain.status);
    /* Once more with an allocation that fails somewhere on the way. */
    hr_alloc_fail_after((int64_t)(fused.hash % 499));
    run(g, &f, true, 1);
    hr_alloc_fail_after(-1);
    hr_graph_destroy(g);
    return 0;
}
