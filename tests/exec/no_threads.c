/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where a thread cannot be started, a pipeline runs with fewer threads, or fails with an error that
 * says so. The program is linked with --wrap=pthread_create, and contains the module for HTTP. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "exec/fixture.h"
#include "remote/net_module.h"
#include "test.h"
#include "waiting.h"

#define BATCH 4
#define RUNS 3
#define TARS 6 /* that are scanned by several threads */

/* ---- pthread_create ---- */

static atomic_int created;   /* how often it was called */
static atomic_int good = -1; /* so many calls succeed; < 0: all */
static atomic_int bad = -1;  /* so many fail after them; < 0: all */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *context)
{
    int n = atomic_fetch_add(&created, 1), first = atomic_load(&good), count = atomic_load(&bad);
    if (first >= 0 && n >= first && (count < 0 || n < first + count))
        return EAGAIN;
    return __real_pthread_create(thread, attr, run, context);
}

static void refuse(int first, int count)
{
    atomic_store(&good, first);
    atomic_store(&bad, count);
    atomic_store(&created, 0);
}

/* ---- pipelines ---- */

typedef struct kind {
    const char *name;
    hr_status (*add)(const fixture *f, hr_graph *g, int32_t *node, hr_error *error);
    bool on_device;
} kind;

static hr_status add_reader(const fixture *f, hr_graph *g, int32_t *node, hr_error *error)
{
    hr_arg_value arg = {"file_root", {.kind = HR_VALUE_STRING, .u.s = f->dir}};
    hr_node_desc desc = {.op = "readers.file", .args = &arg, .arg_count = 1};
    return hr_graph_add_node(g, &desc, node, error);
}

/* A tar file with one member of 512 bytes. */
static void write_tar(const char *path, int number)
{
    unsigned char tar[4 * 512] = {0};
    unsigned sum = 0;
    sprintf((char *)tar, "%d.bin", number);
    memcpy(tar + 100, "0000644", 8);
    memcpy(tar + 124, "00000001000", 12);
    memcpy(tar + 136, "00000000000", 12);
    memset(tar + 148, ' ', 8);
    tar[156] = '0';
    memcpy(tar + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += tar[i];
    sprintf((char *)tar + 148, "%06o", sum);
    for (int i = 0; i < 512; i++)
        tar[512 + i] = (unsigned char)(i * 3 + number);
    fixture_write(path, tar, sizeof(tar));
}

static hr_status add_tars(const fixture *f, hr_graph *g, int32_t *node, hr_error *error)
{
    char path[TARS][96];
    const char *paths[TARS], *exts[] = {"bin"};
    for (int i = 0; i < TARS; i++) {
        sprintf(path[i], "%s/%d.tar", f->dir, i);
        write_tar(path[i], i);
        paths[i] = path[i];
    }
    hr_arg_value args[] = {{"paths", {.kind = HR_VALUE_STRINGS, .count = TARS, .u.strings = paths}},
                           {"ext", {.kind = HR_VALUE_STRINGS, .count = 1, .u.strings = exts}}};
    hr_node_desc desc = {.op = "readers.webdataset", .args = args, .arg_count = 2};
    return hr_graph_add_node(g, &desc, node, error);
}

static hr_status count_next(hr_op_call *c, hr_stream_event *event, hr_error *error)
{
    (void)event;
    int32_t *value = hr_arena_alloc(c->arena, sizeof(*value), error);
    if (!value)
        return HR_STATUS_NO_MEMORY;
    *value = (*(int32_t *)c->state)++;
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, (hr_shape){0}, NULL);
    c->out[0].data = value;
    return HR_STATUS_OK;
}

static hr_status count_create(const void *args, void **state, hr_error *error)
{
    (void)args;
    *state = hr_calloc(1, sizeof(int32_t), error);
    return *state ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static const hr_arg_def no_args[] = {HR_ARG_END};
static const hr_stream_def count_stream = {.next = count_next};
static const hr_source_def count_source = {.kind = HR_SOURCE_KIND_STREAM, .stream = &count_stream};
static const hr_op_def op_count = {
    HR_OP_ABI,      .name = "test.count",   .doc = "Counts.",   .args = no_args,
    .out_count = 1, .create = count_create, .destroy = hr_free, .source = &count_source};

static hr_status add_stream(const fixture *f, hr_graph *g, int32_t *node, hr_error *error)
{
    (void)f;
    hr_node_desc desc = {.op = op_count.name};
    return hr__graph_add(g, &op_count, &desc, node, error);
}

static const kind kinds[] = {{"files", add_reader, false},
                             {"tar files", add_tars, false},
                             {"a stream", add_stream, false},
                             {"files on a device", add_reader, true}};

static hr_status make_graph(const fixture *f, const kind *k, hr_graph *g, hr_error *error)
{
    hr_edge out = {0, 0};
    HR_TRY(k->add(f, g, &out.node, error));
    for (int step = 0; k->on_device && step < 2; step++) {
        hr_edge in = out;
        hr_node_desc copy = {.op = step ? "_to_cpu" : "_to_gpu",
                             .device = step ? "cpu" : "gpu",
                             .inputs = &in,
                             .input_count = 1};
        HR_TRY(hr_graph_add_node(g, &copy, &out.node, error));
    }
    return hr_graph_set_outputs(g, &out, 1, error);
}

/* The hash of all outputs of a pipeline that is created and run. */
static hr_status run(const fixture *f, const kind *k, uint64_t *hash, hr_error *error)
{
    hr_graph *g = NULL;
    hr_pipeline *p = NULL;
    hr_pipeline_options options = fixture_options(BATCH, 3);
    options.device_id = k->on_device ? 0 : HR_DEVICE_HOST;
    hr_status status = hr_graph_create(&g, error);
    if (status == HR_STATUS_OK)
        status = make_graph(f, k, g, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(&p, g, &options, error);
    hr_graph_destroy(g);
    *hash = 1;
    for (int i = 0; status == HR_STATUS_OK && i < RUNS; i++) {
        hr_outputs *o = NULL;
        status = hr_pipeline_run(p, HANG_MS, &o, error);
        for (int s = 0; o && s < hr_batch_size(hr_outputs_batch(o, 0)); s++)
            *hash = *hash * 31 + fixture_hash(hr_batch_tensor(hr_outputs_batch(o, 0), s));
        hr_outputs_unref(o);
    }
    hr_pipeline_destroy(p);
    return status;
}

/* For every thread: it alone, or it and all later ones cannot be started. */
static bool any_may_fail(const fixture *f, const kind *k)
{
    hr_error error = {0};
    uint64_t expected, hash;
    int failures = 0;
    refuse(-1, -1);
    if (run(f, k, &expected, &error) != HR_STATUS_OK) {
        printf("%s: %s\n", k->name, error.message);
        return false;
    }
    int most = atomic_load(&created) + 1, threads = waiting_threads();
    for (int n = 0; n < most; n++) {
        for (int all = 0; all < 2; all++) {
            refuse(n, all ? -1 : 1);
            hr_status status = run(f, k, &hash, &error);
            failures += status != HR_STATUS_OK;
            if (status == HR_STATUS_OK ? hash != expected : !strstr(error.message, "thread")) {
                printf("%s, thread %d: %s\n", k->name, n, error.message);
                return false;
            }
        }
    }
    refuse(-1, -1);
    for (int pauses = 0; waiting_threads() > threads;)
        if (!waiting_pause(&pauses))
            return false;
    return failures > 0 && run(f, k, &hash, &error) == HR_STATUS_OK && hash == expected;
}

TEST(a_thread_that_cannot_be_started_is_an_error_or_not_missed)
{
    fixture f;
    setenv("HEADRACE_SCAN_CACHE", "", 1);
    setenv("HEADRACE_CUDA_MODULE", HR_FAKE_CUDA, 1);
    fixture_make(&f, 12);
    for (size_t i = 0; i < HR_COUNT_OF(kinds); i++)
        CHECK(any_may_fail(&f, &kinds[i]));
    fixture_remove(&f);
}

TEST(requests_need_a_thread)
{
    static hr_net_request request;
    char message[512] = "";
    const hr_net_module_def *module = hr_net_module();
    if (!module->version(message, sizeof(message))) {
        printf("SKIPPED: %s\n", message);
        return;
    }
    request = (hr_net_request){.url = "http://127.0.0.1:1/", .stall_ms = 1000, .total_ms = 1000};
    for (int i = 0; i < 2; i++) {
        refuse(0, -1);
        CHECK(!module->submit(&request, 1));
        CHECK(strstr(request.message, "the thread for requests cannot be started: "));
        CHECK(strstr(request.message, strerror(EAGAIN)));
    }
    refuse(-1, -1);
    CHECK(module->submit(&request, 1)); /* nothing is left behind */
    module->abandon(&request);
}

TEST_MAIN
