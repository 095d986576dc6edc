/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Stages on a device, over the fake module: data that is copied there and back, and calls that
 * fail. */
#include <sched.h>
#include <stdatomic.h>

#include "../gpu/fake_find.h"
#include "exec/fixture.h"
#include "graph/graph.h"
#include "graph/value.h"
#include "image/program.h"
#include "test.h"

#define FILES 24
#define BATCH 12

static hr_status add(hr_graph *g, const char *op, const char *device, hr_edge in, hr_edge *out,
                     hr_error *error)
{
    hr_node_desc desc = {.op = op, .device = device, .inputs = &in, .input_count = 1};
    *out = (hr_edge){0, 0};
    return hr_graph_add_node(g, &desc, &out->node, error);
}

/* Outputs: the files' bytes and the labels on the CPU; the bytes on the device; the labels after
 * two round trips to the device. */
static hr_status open_pipeline(const fixture *f, int threads, bool set_affinity, hr_pipeline **out,
                               hr_error *error)
{
    hr_graph *g;
    int32_t reader;
    hr_edge bytes = {0, 0}, there = bytes, same = bytes, back = bytes;
    HR_TRY(hr_graph_create(&g, error));
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = f->dir}},
                           fixture_int("random_shuffle", 1)};
    hr_node_desc desc = {.op = "readers.file", .args = args, .arg_count = 2};
    hr_status status = hr_graph_add_node(g, &desc, &reader, error);
    if (status == HR_STATUS_OK)
        status = add(g, "_to_gpu", "gpu", (hr_edge){reader, 0}, &bytes, error);
    if (status == HR_STATUS_OK)
        status = add(g, "_to_gpu", "gpu", (hr_edge){reader, 1}, &there, error);
    if (status == HR_STATUS_OK)
        status = add(g, "copy", "gpu", there, &same, error);
    if (status == HR_STATUS_OK)
        status = add(g, "_to_cpu", "cpu", same, &back, error);
    if (status == HR_STATUS_OK)
        status = add(g, "_to_gpu", "gpu", back, &there, error);
    if (status == HR_STATUS_OK)
        status = add(g, "_to_cpu", "cpu", there, &back, error);
    hr_edge outputs[] = {{reader, 0}, {reader, 1}, bytes, back};
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, outputs, 4, error);
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = BATCH;
    options.num_threads = threads;
    options.seed = 7;
    options.device_id = 0;
    options.set_affinity = set_affinity;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, g, &options, error);
    hr_graph_destroy(g);
    return status;
}

static bool batches_equal(const hr_batch *a, const hr_batch *b)
{
    bool same = hr_batch_size(a) == hr_batch_size(b) && hr_batch_size(a) > 0;
    for (int32_t i = 0; same && i < hr_batch_size(a); i++) {
        const hr_tensor *x = hr_batch_tensor(a, i), *y = hr_batch_tensor(b, i);
        size_t n, m;
        same = hr_tensor_bytes(x, &n) && hr_tensor_bytes(y, &m) && n == m && x->dtype == y->dtype &&
               memcmp(x->data, y->data, n) == 0;
    }
    return same;
}

static bool outputs_right(const hr_outputs *o)
{
    hr_error error = {0};
    hr_batch *back = NULL, *there = hr_outputs_batch(o, 2);
    bool right = hr_batch_device(hr_outputs_batch(o, 0)) == HR_DEVICE_HOST &&
                 hr_batch_device(there) == 0 &&
                 hr_batch_device(hr_outputs_batch(o, 3)) == HR_DEVICE_HOST &&
                 hr_batch_to_host(&back, there, &error) == HR_STATUS_OK &&
                 batches_equal(hr_outputs_batch(o, 0), back) &&
                 batches_equal(hr_outputs_batch(o, 1), hr_outputs_batch(o, 3));
    hr_batch_unref(back);
    return right;
}

TEST(there_and_back)
{
    fixture f;
    hr_error error = {0};
    fake_find();
    fixture_make(&f, FILES);
    for (int threads = 1; threads <= 3; threads += 2) {
        hr_pipeline *p = NULL;
        hr_outputs *last = NULL;
        CHECK_OK(open_pipeline(&f, threads, false, &p, &error), error);
        for (int i = 0; p && i < 20; i++) {
            hr_outputs_unref(last);
            last = NULL;
            CHECK_OK(hr_pipeline_run(p, -1, &last, &error), error);
            CHECK(outputs_right(last));
        }
        hr_pipeline_destroy(p);
        CHECK(outputs_right(last)); /* outlives its pipeline */
        hr_outputs_unref(last);
        CHECK(alive() == 0);
    }
    fixture_remove(&f);
}

/* ---- an operator whose GPU version is the image program ---- */

static const hr_arg_def no_args[] = {HR_ARG_END};

static hr_status halve_lower(hr_op_call *c, hr_image_program *p, hr_error *error)
{
    hr_point_step step = {.kind = HR_POINT_KIND_MATRIX, .dtype = HR_DTYPE_UINT8};
    (void)c;
    if (hr_program_extent(p, 'H') % 2)
        return hr_fail(error, HR_STATUS_NOT_FUSABLE, "only for even heights");
    step.matrix = (hr_matrix){.m = {{0.5f}}, .in = 1, .out = 1};
    return hr_program_point(p, &step, error);
}

static hr_status halve_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status halve_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        size_t bytes;
        if (!hr_tensor_bytes(&calls[i].in[0], &bytes))
            return hr_fail(error, HR_STATUS_LIMIT, "too large");
        for (size_t k = 0; k < bytes; k++)
            ((uint8_t *)calls[i].out[0].data)[k] =
                (uint8_t)((((const uint8_t *)calls[i].in[0].data)[k] + 1) / 2);
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_halve = {
    HR_OP_ABI,
    .name = "test.halve",
    .doc = "Half of each element, rounded up.",
    .devices = "cpu|gpu",
    .args = no_args,
    .in = HR_INPUTS({"data", "HWC"}),
    .infer = halve_infer,
    .lower = halve_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
    .run_cpu = halve_run,
};

/* Passes data on. Notes which thread begins with an iteration. */
static atomic_bool begun;
static pthread_t begun_by;

static hr_status pass_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    if (!atomic_exchange(&begun, true))
        begun_by = pthread_self();
    for (int32_t i = 0; i < n; i++) {
        size_t bytes;
        if (!hr_tensor_bytes(&calls[i].in[0], &bytes))
            return hr_fail(error, HR_STATUS_LIMIT, "too large");
        memcpy(calls[i].out[0].data, calls[i].in[0].data, bytes);
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_pass = {
    HR_OP_ABI,
    .name = "test.pass",
    .doc = "The input.",
    .args = no_args,
    .in = HR_INPUTS({"data", "HWC"}),
    .infer = halve_infer,
    .run_cpu = pass_run,
};

static hr_status open_halve(const char *device, int32_t *source, hr_pipeline **out, hr_error *error)
{
    hr_graph *g;
    hr_edge edge = {0, 0};
    hr_node_desc fed = {.op = "external_source", .name = "in"};
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = 2;
    options.num_threads = 1;
    options.device_id = 0;
    HR_TRY(hr_graph_create(&g, error));
    hr_status status = hr_graph_add_node(g, &fed, source, error);
    hr_edge in = {*source, 0};
    hr_node_desc pass = {.op = op_pass.name, .inputs = &in, .input_count = 1};
    if (status == HR_STATUS_OK)
        status = hr__graph_add(g, &op_pass, &pass, &edge.node, error);
    if (status == HR_STATUS_OK && strcmp(device, "gpu") == 0)
        status = add(g, "_to_gpu", "gpu", edge, &edge, error);
    hr_node_desc halve = {.op = op_halve.name, .device = device, .inputs = &edge, .input_count = 1};
    hr_edge done = {0, 0};
    if (status == HR_STATUS_OK)
        status = hr__graph_add(g, &op_halve, &halve, &done.node, error);
    if (status == HR_STATUS_OK && strcmp(device, "gpu") == 0)
        status = add(g, "_to_cpu", "cpu", done, &done, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, &done, 1, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, g, &options, error);
    hr_graph_destroy(g);
    return status;
}

/* Feeds an image of 4 rows and one of `height`. */
static hr_status run_halve(hr_pipeline *p, int32_t source, int32_t height, hr_outputs **out,
                           hr_error *error)
{
    static uint8_t pixels[2][8 * 6];
    hr_tensor t[2];
    hr_batch *batch;
    for (int i = 0; i < 2; i++) {
        int64_t extent[3] = {i ? height : 4, 6, 1};
        for (size_t k = 0; k < sizeof(pixels[i]); k++)
            pixels[i][k] = (uint8_t)(k * 31 + 7);
        hr_tensor_describe(&t[i], HR_DTYPE_UINT8, hr_shape_make(3, extent), "HWC");
        t[i].data = pixels[i];
    }
    HR_TRY(hr_batch_create(&batch, t, 2, false, error));
    hr_status status = hr_pipeline_feed(p, source, &batch, 1, error);
    hr_batch_unref(batch);
    return status == HR_STATUS_OK ? hr_pipeline_run(p, -1, out, error) : status;
}

TEST(what_lowers_runs_on_a_device)
{
    hr_error error = {0};
    fake_find();
    for (int on = 0; on < 2; on++) {
        hr_pipeline *p = NULL;
        hr_outputs *out = NULL;
        int32_t source;
        CHECK_OK(open_halve(on ? "gpu" : "cpu", &source, &p, &error), error);
        CHECK_OK(run_halve(p, source, 8, &out, &error), error);
        for (int i = 0; out && i < 2; i++) {
            const uint8_t *got = hr_batch_tensor(hr_outputs_batch(out, 0), i)->data;
            for (int k = 0; k < (i ? 48 : 24); k++)
                CHECK(got[k] == ((uint8_t)(k * 31 + 7) + 1) / 2);
        }
        hr_outputs_unref(out);
        hr_status odd = run_halve(p, source, 7, &out, &error);
        CHECK(odd == (on ? HR_STATUS_NOT_IMPLEMENTED : HR_STATUS_OK));
        if (odd == HR_STATUS_OK)
            hr_outputs_unref(out);
        else
            CHECK(strstr(error.message, "no GPU version for this input"));
        hr_pipeline_destroy(p);
    }
    CHECK(alive() == 0);
}

/* Waits until no thread works for the pipeline, or is called. */
static void await_idle(hr_pipeline *p, hr_error *error)
{
    int32_t most = p->user.most;
    hr__pool_leave(&p->user);
    p->user.most = most;
    CHECK_OK(hr__pool_join(p->threads, &p->user, error), *error);
}

/* The thread that feeds begins with what took little time until now, a worker with other work. */
TEST(cheap_iterations_wake_no_worker)
{
    hr_error error = {0};
    hr_pipeline *p = NULL;
    int32_t source;
    fake_find();
    CHECK_OK(open_halve("gpu", &source, &p, &error), error);
    for (int round = 0; round < 40; round++) {
        bool cheap = round % 4 < 2;
        int32_t height = round % 3 == 0 ? 4 : 8;
        hr_outputs *out = NULL;
        await_idle(p, &error);
        pthread_mutex_lock(&p->lock);
        for (int32_t k = 0; k < p->plan->stage_count; k++)
            p->sample_ns[k] = p->launch_ns[k] = cheap ? 1 : 1000000000;
        pthread_mutex_unlock(&p->lock);
        atomic_store(&begun, false);
        CHECK_OK(run_halve(p, source, height, &out, &error), error);
        CHECK(atomic_load(&begun));
        CHECK((pthread_equal(begun_by, pthread_self()) != 0) == cheap);
        for (int i = 0; out && i < 2; i++) {
            const uint8_t *got = hr_batch_tensor(hr_outputs_batch(out, 0), i)->data;
            for (int k = 0; k < (i ? height : 4) * 6; k++)
                CHECK(got[k] == ((uint8_t)(k * 31 + 7) + 1) / 2);
        }
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
    CHECK(alive() == 0);
}

TEST(misplaced_inputs_are_refused)
{
    fixture f;
    hr_error error = {0};
    hr_graph *g = NULL;
    int32_t reader;
    hr_edge out;
    fake_find();
    fixture_make(&f, 4);
    CHECK_OK(hr_graph_create(&g, &error), error);
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = f.dir}}};
    hr_node_desc desc = {.op = "readers.file", .args = args, .arg_count = 1};
    CHECK_OK(hr_graph_add_node(g, &desc, &reader, &error), error);
    CHECK(add(g, "copy", "gpu", (hr_edge){reader, 0}, &out, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "copy") && strstr(error.message, "use .gpu()"));
    CHECK(add(g, "_to_cpu", "cpu", (hr_edge){reader, 0}, &out, &error) == HR_STATUS_ERROR);
    CHECK_OK(add(g, "_to_gpu", "gpu", (hr_edge){reader, 0}, &out, &error), error);
    CHECK(add(g, "copy", "cpu", out, &out, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "copy") && strstr(error.message, "use .cpu()"));
    hr_graph_destroy(g);
    fixture_remove(&f);
    CHECK(alive() == 0);
}

/* ---- a framework's allocator ---- */

typedef struct framework {
    atomic_int blocks, taken; /* alive at present; in total */
} framework;

typedef struct framework_block {
    size_t size;
    _Alignas(64) char data[];
} framework_block;

/* Fails now and then. */
static void *framework_alloc(void *context, int32_t device, void *stream, size_t size, void **block)
{
    framework *f = context;
    if (device != 0 || !stream || atomic_fetch_add(&f->taken, 1) % 4 == 3)
        return NULL;
    framework_block *b = aligned_alloc(64, sizeof(*b) + (size + 63) / 64 * 64);
    if (!b)
        return NULL;
    b->size = size;
    atomic_fetch_add(&f->blocks, 1);
    *block = b;
    return b->data;
}

static void framework_free(void *context, void *block)
{
    framework *f = context;
    framework_block *b = block;
    memset(b->data, 0xDD, b->size); /* later reads see this value */
    atomic_fetch_sub(&f->blocks, 1);
    free(b);
}

/* Copies that are queued before the outputs are released still find the data. */
TEST(memory_of_a_framework)
{
    enum { TIMES = 40, SIZE = 4096 };
    fixture f;
    hr_error error = {0};
    hr_pipeline *p = NULL;
    framework frame = {0};
    hr_device_allocator allocator = {&frame, framework_alloc, framework_free};
    static char got[TIMES][SIZE], wanted[TIMES][SIZE];
    fake_find();
    fixture_make(&f, FILES);
    CHECK_OK(open_pipeline(&f, 2, false, &p, &error), error);
    hr_pipeline_set_device_allocator(p, &allocator);
    for (int i = 0; p && i < TIMES; i++) {
        hr_outputs *o = NULL;
        CHECK_OK(hr_pipeline_run(p, -1, &o, &error), error);
        const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(o, 2), 0);
        size_t size;
        CHECK(hr_tensor_bytes(t, &size) && size <= SIZE);
        memcpy(wanted[i], hr_batch_tensor(hr_outputs_batch(o, 0), 0)->data, size);
        CHECK_OK(hr_tensor_copy(t, got[i], NULL, i + 1 == TIMES, &error), error);
        hr_outputs_unref(o);
    }
    CHECK(memcmp(got, wanted, sizeof(got)) == 0);
    CHECK(atomic_load(&frame.taken) >= TIMES);
    hr_pipeline_destroy(p);
    CHECK(atomic_load(&frame.blocks) == 0);
    CHECK(alive() == 0);
    fixture_remove(&f);
}

/* Whichever call fails, and whenever: the error names it, and nothing leaks. */
TEST(calls_that_fail)
{
    static const char *const kinds[] = {"host_alloc",   "alloc",        "stream_create",
                                        "event_create", "event_record", "event_wait",
                                        "copy",         "copy_all",     "use"};
    fixture f;
    fake_find();
    fixture_make(&f, FILES);
    for (size_t k = 0; k < HR_COUNT_OF(kinds); k++) {
        for (int n = 1; n < 40; n = n * 3 + 1) {
            char spec[64];
            hr_error error = {0};
            hr_pipeline *p = NULL;
            int failures = 0;
            sprintf(spec, "%s:%d+", kinds[k], n);
            fail_at(spec);
            failures += open_pipeline(&f, 2, false, &p, &error) != HR_STATUS_OK;
            for (int i = 0; p && i < 30 && failures == 0; i++) {
                hr_outputs *o = NULL;
                failures += hr_pipeline_run(p, -1, &o, &error) != HR_STATUS_OK;
                hr_outputs_unref(o);
            }
            hr_pipeline_destroy(p);
            fail_at(NULL);
            CHECK(failures == 0 || error.message[0]);
            CHECK(failures > 0 || n > 1);
            CHECK(alive() == 0);
        }
    }
    fixture_remove(&f);
}

/* Every worker runs on a CPU near the GPU, whichever that is. */
TEST(workers_run_near_the_gpu)
{
    fixture f;
    cpu_set_t set;
    hr_error error = {0};
    fake_find();
    fixture_make(&f, FILES);
    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    CHECK(dlopen(HR_FAKE_NVML, RTLD_NOW | RTLD_GLOBAL) != NULL);
    for (int cpu = 0; cpu < 2; cpu++) {
        char text[16];
        hr_pipeline *p = NULL;
        hr_outputs *o = NULL;
        if (!CPU_ISSET(cpu, &set))
            continue;
        sprintf(text, "%d", cpu);
        setenv("HEADRACE_NEAR_CPU", text, 1);
        CHECK_OK(open_pipeline(&f, 3, true, &p, &error), error);
        CHECK_OK(hr_pipeline_run(p, -1, &o, &error), error);
        hr_outputs_unref(o);
        WAIT_FOR(pinned_threads(cpu) >= 3); /* and the streams' threads, which inherit it */
        hr_pipeline_destroy(p);
    }
    fixture_remove(&f);
}

TEST_MAIN
