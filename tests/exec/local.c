/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* State of an operator per worker and node: made once for each, used by one thread at a time,
 * destroyed with the pipeline. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/core.h"
#include "graph/graph.h"
#include "headrace/operator.h"
#include "test.h"
#include "waiting.h"

#define BATCH 8
#define THREADS 3

typedef struct local {
    const void *state;
    atomic_bool busy;
    int32_t calls;
} local;

static atomic_int made, destroyed, misused, created, begun;
static bool refuses;

static hr_status counter_create(const void *args, void **state, hr_error *error)
{
    (void)args;
    *state = hr_calloc(1, 1, error);
    atomic_fetch_add(&created, 1);
    return *state ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static hr_status counter_local_create(const void *args, void *state, void **out, hr_error *error)
{
    (void)args;
    if (refuses)
        return hr_fail(error, HR_STATUS_VALUE, "no state today");
    local *l = hr_calloc(1, sizeof(*l), error);
    if (!l)
        return HR_STATUS_NO_MEMORY;
    l->state = state;
    atomic_fetch_add(&made, 1);
    *out = l;
    return HR_STATUS_OK;
}

static void counter_local_destroy(void *out)
{
    atomic_fetch_add(&destroyed, 1);
    hr_free(out);
}

static hr_status counter_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, (hr_shape){0}, NULL);
    return HR_STATUS_OK;
}

/* The first calls wait for each other: all workers are in one at the same time. */
static void meet(void)
{
    int pauses = 0;
    if (atomic_fetch_add(&begun, 1) >= THREADS)
        return;
    while (atomic_load(&begun) < THREADS && waiting_pause(&pauses))
        ;
}

/* Output: how many samples this worker has processed at this node. */
static hr_status counter_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        local *l = calls[i].local;
        bool wrong = l->state != calls[i].state || atomic_exchange(&l->busy, true);
        atomic_fetch_add(&misused, wrong);
        meet();
        *(int32_t *)calls[i].out[0].data = ++l->calls;
        atomic_store(&l->busy, false);
    }
    return HR_STATUS_OK;
}

static const hr_arg_def no_args[] = {HR_ARG_END};
static const hr_op_def counter = {
    HR_OP_ABI,
    .name = "test.counter",
    .doc = "Counts calls per worker.",
    .devices = "cpu",
    .args = no_args,
    .in = HR_INPUTS({.name = "data"}),
    .create = counter_create,
    .destroy = hr_free,
    .infer = counter_infer,
    .run_cpu = counter_run,
    .local_create = counter_local_create,
    .local_destroy = counter_local_destroy,
};

static void reset(bool refuse)
{
    static bool added;
    const hr_op_def *ops[] = {&counter, NULL};
    if (!added && hr_registry_add(ops, "test", NULL) != HR_STATUS_OK)
        exit(2);
    added = true;
    refuses = refuse;
    atomic_store(&made, 0);
    atomic_store(&destroyed, 0);
    atomic_store(&misused, 0);
    atomic_store(&created, 0);
    atomic_store(&begun, 0);
}

/* external_source -> two nodes of test.counter. They take different inputs, or they would be
 * merged. */
static hr_status pipeline_make(hr_pipeline **out, int32_t nodes[2], hr_error *error)
{
    hr_graph *graph;
    hr_edge outputs[2];
    HR_TRY(hr_graph_create(&graph, error));
    hr_status status = HR_STATUS_OK;
    for (int32_t k = 0; k < 2 && status == HR_STATUS_OK; k++) {
        hr_node_desc source = {.op = "external_source"};
        status = hr_graph_add_node(graph, &source, &nodes[k], error);
        hr_edge in = {nodes[k], 0};
        hr_node_desc desc = {.op = "test.counter", .inputs = &in, .input_count = 1};
        if (status == HR_STATUS_OK)
            status = hr_graph_add_node(graph, &desc, &outputs[k].node, error);
        outputs[k].output = 0;
    }
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(graph, outputs, 2, error);
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = BATCH;
    options.num_threads = THREADS;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, graph, &options, error);
    hr_graph_destroy(graph);
    return status;
}

static hr_status feed(hr_pipeline *p, const int32_t nodes[2], hr_error *error)
{
    static float pixels[20000]; /* large samples: a task each */
    hr_tensor samples[BATCH];
    for (int32_t i = 0; i < BATCH; i++) {
        hr_tensor_describe(&samples[i], HR_DTYPE_FLOAT, (hr_shape){1, {20000}}, NULL);
        samples[i].data = pixels;
    }
    for (int32_t k = 0; k < 2; k++) {
        hr_batch *batch;
        HR_TRY(hr_batch_create(&batch, samples, BATCH, false, error));
        hr_status status = hr_pipeline_feed(p, nodes[k], &batch, 1, error);
        hr_batch_unref(batch);
        HR_TRY(status);
    }
    return HR_STATUS_OK;
}

TEST(one_per_worker_and_node)
{
    hr_pipeline *p;
    hr_error error = {0};
    int32_t nodes[2], samples = 0, seen[4 * BATCH + 1] = {0};
    reset(false);
    CHECK_OK(pipeline_make(&p, nodes, &error), error);
    for (int32_t n = 0; n < 4; n++) {
        hr_outputs *outputs;
        CHECK_OK(feed(p, nodes, &error), error);
        CHECK_OK(hr_pipeline_run(p, -1, &outputs, &error), error);
        for (int32_t i = 0; i < BATCH; i++) {
            int32_t v = *(const int32_t *)hr_batch_tensor(hr_outputs_batch(outputs, 0), i)->data;
            CHECK(v >= 1 && v <= 4 * BATCH);
            seen[v]++;
            samples++;
        }
        hr_outputs_unref(outputs);
    }
    int32_t workers = seen[1]; /* a worker's first call of the node gives 1 */
    CHECK(samples == 4 * BATCH && workers == THREADS);
    for (int32_t v = 2; v <= 4 * BATCH; v++)
        CHECK(seen[v] <= seen[v - 1]);
    CHECK(atomic_load(&created) == 2);
    CHECK(atomic_load(&made) > THREADS && atomic_load(&made) <= 2 * THREADS);
    CHECK(atomic_load(&misused) == 0 && atomic_load(&destroyed) == 0);
    hr_pipeline_destroy(p);
    CHECK(atomic_load(&destroyed) == atomic_load(&made));
}

TEST(a_state_that_cannot_be_made_fails_the_sample)
{
    hr_pipeline *p;
    hr_outputs *outputs;
    hr_error error = {0};
    int32_t nodes[2];
    reset(true);
    CHECK_OK(pipeline_make(&p, nodes, &error), error);
    CHECK_OK(feed(p, nodes, &error), error);
    CHECK(hr_pipeline_run(p, -1, &outputs, &error) == HR_STATUS_VALUE);
    CHECK(strstr(error.message, "test.counter") && strstr(error.message, "no state today"));
    hr_pipeline_destroy(p);
    CHECK(atomic_load(&made) == 0 && atomic_load(&destroyed) == 0);
}

TEST_MAIN
