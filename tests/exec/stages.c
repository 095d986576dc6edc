/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Whole-batch and ordered operators, several outputs and fed sources, with the test's own tables.
 */
#include <stdatomic.h>

#include "core/clock.h"
#include "exec/fixture.h"
#include "graph/graph.h"
#include "graph/value.h"
#include "test.h"

/* Sorts the batch: sample i of the output is the i-th smallest input of the whole batch. */
static hr_status sort_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        int32_t rank = 0, v = *(const int32_t *)calls[i].in[0].data;
        for (int32_t k = 0; k < n; k++) {
            int32_t w = *(const int32_t *)calls[k].in[0].data;
            rank += w < v || (w == v && k < i);
        }
        calls[rank].out[0] = calls[i].in[0];
        calls[rank].out[0].buffer = NULL; /* the executor copies tensors without a buffer */
    }
    return HR_STATUS_OK;
}

static const hr_arg_def no_args[] = {HR_ARG_END};

static const hr_op_def op_sort = {
    HR_OP_ABI,
    .name = "test.sort",
    .doc = "Sorts.",
    .args = no_args,
    .in = HR_INPUTS({"data", NULL}),
    .run_batch = sort_batch,
};

/* As many zeros as the largest number of the batch: only the shape depends on the whole batch. */
static hr_status widen_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    int32_t most = 0;
    for (int32_t i = 0; i < n; i++)
        most = HR_MAX(most, *(const int32_t *)calls[i].in[0].data);
    if (most > 1000)
        return hr_fail(error, HR_STATUS_ERROR, "too wide");
    for (int32_t i = 0; i < n; i++)
        calls[i].out[0].shape = (hr_shape){1, {most}};
    return HR_STATUS_OK;
}

static hr_status widen_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, c->out[0].shape, "N");
    return HR_STATUS_OK;
}

static hr_status widen_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    if (n != 1)
        return hr_fail(error, HR_STATUS_ERROR, "not sample by sample");
    for (int64_t k = 0; k < calls[0].out[0].shape.extent[0]; k++)
        ((int32_t *)calls[0].out[0].data)[k] = *(const int32_t *)calls[0].in[0].data;
    return HR_STATUS_OK;
}

static const hr_op_def op_widen = {
    HR_OP_ABI,
    .name = "test.widen",
    .doc = "Widens.",
    .args = no_args,
    .in = HR_INPUTS({"data", NULL}),
    .infer = widen_infer,
    .run_cpu = widen_run,
    .infer_batch = widen_batch,
};

/* Must see iterations in order: remembers the last one. It needs no lock, because the executor runs
 * ordered operators one iteration at a time. */
static int64_t last_seen;
static hr_status infer_ordered(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT64, (hr_shape){0}, NULL);
    return HR_STATUS_OK;
}

static hr_status run_ordered(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        int64_t now = *(const int32_t *)calls[i].in[0].data;
        if (now < last_seen)
            return hr_fail(error, HR_STATUS_ERROR, "out of order");
        last_seen = now;
        *(int64_t *)calls[i].out[0].data = now;
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_ordered = {
    HR_OP_ABI,
    .name = "test.ordered",
    .doc = "Requires iterations in order.",
    .flags = HR_OP_ORDERED,
    .args = no_args,
    .in = HR_INPUTS({"data", NULL}),
    .infer = infer_ordered,
    .run_cpu = run_ordered,
};

static hr_status infer_same(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status run_refuse(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t *v = calls[i].in[0].data;
        if (v[0] < 0)
            return hr_fail(error, HR_STATUS_ERROR, "negative");
        memcpy(calls[i].out[0].data, v, 2 * sizeof(*v));
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_refuse = {
    HR_OP_ABI,
    .name = "test.refuse",
    .doc = "Refuses negative numbers.",
    .args = no_args,
    .in = HR_INPUTS({"data", NULL}),
    .infer = infer_same,
    .run_cpu = run_refuse,
};

/* Cheap, until `slow` is set: then the first sample takes long, and all others wait until a second
 * thread works on the batch. */
static atomic_bool slow;
static atomic_int slow_begun, slow_threads;
static _Thread_local bool slow_here;

static hr_status run_slow(hr_op_call *calls, int32_t n, hr_error *error)
{
    int64_t end = hr_clock_ns() + 2000000;
    int pauses = 0;
    for (int32_t i = 0; i < n; i++)
        *(int32_t *)calls[i].out[0].data = *(const int32_t *)calls[i].in[0].data + 1;
    if (!atomic_load(&slow))
        return HR_STATUS_OK;
    atomic_fetch_add(&slow_threads, !slow_here);
    slow_here = true;
    bool first = atomic_fetch_add(&slow_begun, 1) == 0;
    while (first && hr_clock_ns() < end) {
    }
    while (!first && atomic_load(&slow_threads) < 2)
        if (!waiting_pause(&pauses))
            return hr_fail(error, HR_STATUS_ERROR, "no other thread has come");
    return HR_STATUS_OK;
}

static const hr_op_def op_slow = {
    HR_OP_ABI,
    .name = "test.slow",
    .doc = "Becomes slow.",
    .args = no_args,
    .in = HR_INPUTS({"data", NULL}),
    .infer = infer_same,
    .run_cpu = run_slow,
};

static hr_status add_op(hr_graph *g, const hr_op_def *def, int32_t input, int32_t *node,
                        hr_error *error)
{
    hr_edge in = {input, 0};
    hr_node_desc desc = {.op = def->name, .inputs = &in, .input_count = 1};
    return hr__graph_add(g, def, &desc, node, error);
}

static hr_batch *make_batch(const int32_t *values, int32_t n)
{
    hr_tensor t[16];
    hr_batch *batch = NULL;
    for (int32_t i = 0; i < n; i++) {
        hr_tensor_describe(&t[i], HR_DTYPE_INT32, (hr_shape){0}, NULL);
        t[i].data = (void *)&values[i];
    }
    return hr_batch_create(&batch, t, n, false, NULL) == HR_STATUS_OK ? batch : NULL;
}

static hr_status make_fed(const hr_op_def *def, hr_pipeline **p, int32_t *source, hr_error *error)
{
    hr_graph *g;
    int32_t node = 0;
    hr_node_desc desc = {.op = "external_source", .name = "in"};
    hr_pipeline_options options = fixture_options(8, 4);
    HR_TRY(hr_graph_create(&g, error));
    hr_status status = hr_graph_add_node(g, &desc, source, error);
    if (status == HR_STATUS_OK)
        status = add_op(g, def, *source, &node, error);
    hr_edge outputs[] = {{node, 0}, {*source, 0}, {node, 0}};
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, outputs, 3, error);
    options.prefetch_queue_depth = 5;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(p, g, &options, error);
    hr_graph_destroy(g);
    return status;
}

static int32_t int_at(const hr_outputs *o, int32_t output, int32_t i)
{
    return (int32_t)hr_element_int(hr_batch_tensor(hr_outputs_batch(o, output), i)->data,
                                   hr_batch_tensor(hr_outputs_batch(o, output), i)->dtype, 0);
}

TEST(whole_batch_operators_see_the_batch)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    int32_t source;
    CHECK_OK(make_fed(&op_sort, &p, &source, &error), error);
    CHECK(hr_pipeline_run(p, -1, &out, &error) == HR_STATUS_INDEX); /* nothing fed */
    for (int32_t round = 0; round < 6; round++) {
        int32_t values[8], n = 8 - round;
        for (int32_t i = 0; i < n; i++)
            values[i] = (i * 5 + round) % 8;
        hr_batch *batch = make_batch(values, n);
        CHECK(batch);
        CHECK_OK(hr_pipeline_feed(p, source, &batch, 1, &error), error);
        hr_batch_unref(batch);
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == n);
        for (int32_t i = 0; i < n; i++) {
            CHECK(i == 0 || int_at(out, 0, i - 1) <= int_at(out, 0, i));
            CHECK(int_at(out, 1, i) == values[i] && int_at(out, 2, i) == int_at(out, 0, i));
        }
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
}

/* A worker takes many cheap tasks at once, and no other one is woken for them. It gives back those
 * that it has not begun when they turn out not to be cheap. */
TEST(what_becomes_slow_is_shared)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    int32_t source;
    CHECK_OK(make_fed(&op_slow, &p, &source, &error), error);
    for (int32_t round = 0; round < 30; round++) {
        int32_t values[8] = {round, 1, 2, 3, 4, 5, 6, 7};
        hr_batch *batch = make_batch(values, 8);
        CHECK(batch);
        atomic_store(&slow, round == 29);
        CHECK_OK(hr_pipeline_feed(p, source, &batch, 1, &error), error);
        hr_batch_unref(batch);
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        for (int32_t i = 0; i < 8; i++)
            CHECK(int_at(out, 0, i) == values[i] + 1);
        hr_outputs_unref(out);
    }
    CHECK(atomic_load(&slow_begun) == 8 && atomic_load(&slow_threads) >= 2);
    hr_pipeline_destroy(p);
}

TEST(only_shapes_mean_the_batch)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    int32_t source;
    CHECK_OK(make_fed(&op_widen, &p, &source, &error), error);
    for (int32_t round = 0; round < 6; round++) {
        int32_t values[8], n = 8 - round;
        for (int32_t i = 0; i < n; i++)
            values[i] = round == 3 ? 2000 : (i + 3) % 4 + round;
        hr_batch *batch = make_batch(values, n);
        CHECK(batch);
        CHECK_OK(hr_pipeline_feed(p, source, &batch, 1, &error), error);
        hr_batch_unref(batch);
        hr_status status = hr_pipeline_run(p, -1, &out, &error);
        if (round == 3) {
            CHECK(status == HR_STATUS_ERROR && strstr(error.message, "too wide"));
            continue;
        }
        CHECK_OK(status, error);
        CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == n);
        for (int32_t i = 0; i < n; i++) {
            const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(out, 0), i);
            CHECK(t->shape.extent[0] == 3 + round && strcmp(t->layout.name, "N") == 0);
            CHECK(((const int32_t *)t->data)[2 + round] == values[i]);
        }
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
}

TEST(ordered_operators_see_iterations_in_order)
{
    hr_error error = {0};
    hr_pipeline *p;
    int32_t source, number = 0, taken = 0;
    last_seen = -1;
    setenv("HEADRACE_STALL", "1", 1);
    CHECK_OK(make_fed(&op_ordered, &p, &source, &error), error);
    unsetenv("HEADRACE_STALL");
    while (taken < 30) {
        while (number < 30 && hr_pipeline_feed_room(p, source) > 0) {
            int32_t values[4] = {number, number, number, number};
            hr_batch *batch = make_batch(values, 4);
            CHECK_OK(hr_pipeline_feed(p, source, &batch, 1, &error), error);
            hr_batch_unref(batch);
            number++;
        }
        hr_outputs *out;
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        CHECK(int_at(out, 0, 0) == taken++);
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
}

TEST(wrong_feeding_is_refused)
{
    hr_error error = {0};
    hr_pipeline *p;
    int32_t source, values[16] = {0};
    CHECK_OK(make_fed(&op_sort, &p, &source, &error), error);
    hr_batch *batch = make_batch(values, 9);
    CHECK(hr_pipeline_feed(p, source, &batch, 1, &error) == HR_STATUS_ERROR &&
          strstr(error.message, "batch_size"));
    CHECK(hr_pipeline_feed(p, source + 1, &batch, 1, &error) == HR_STATUS_KEY);
    hr_batch *two[] = {batch, batch};
    CHECK(hr_pipeline_feed(p, source, two, 2, &error) == HR_STATUS_ERROR);
    hr_batch_unref(batch);
    hr_pipeline_destroy(p);
}

TEST(fed_data_is_what_was_declared)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *g;
    hr_outputs *out;
    int32_t source, node, values[4] = {7, 8, 9, 10};
    float f = 1.5f;
    hr_tensor t[2];
    hr_batch *batch;
    hr_arg_value args[] = {
        fixture_int("dtype", HR_DTYPE_INT32),
        {"layout", {.kind = HR_VALUE_STRING, .u.s = "X"}},
    };
    hr_node_desc desc = {.op = "external_source", .args = args, .arg_count = 2};
    hr_pipeline_options options = fixture_options(8, 2);
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(hr_graph_add_node(g, &desc, &source, &error), error);
    CHECK_OK(add_op(g, &op_refuse, source, &node, &error), error);
    hr_edge outputs[] = {{source, 0}, {node, 0}};
    CHECK_OK(hr_graph_set_outputs(g, outputs, 2, &error), error);
    CHECK_OK(hr_pipeline_create(&p, g, &options, &error), error);
    hr_graph_destroy(g);

    for (int i = 0; i < 2; i++) {
        hr_tensor_describe(&t[i], HR_DTYPE_FLOAT, (hr_shape){1, {1}}, NULL);
        t[i].data = &f;
    }
    CHECK_OK(hr_batch_create(&batch, t, 2, false, &error), error);
    CHECK(hr_pipeline_feed(p, source, &batch, 1, &error) == HR_STATUS_ERROR &&
          strstr(error.message, "FLOAT") && strstr(error.message, "INT32"));
    hr_batch_unref(batch);
    batch = make_batch(values, 2); /* scalars: the layout does not fit */
    CHECK(hr_pipeline_feed(p, source, &batch, 1, &error) == HR_STATUS_ERROR &&
          strstr(error.message, "\"X\""));
    hr_batch_unref(batch);

    for (int i = 0; i < 2; i++) {
        hr_tensor_describe(&t[i], HR_DTYPE_INT32, (hr_shape){1, {2}}, NULL);
        t[i].data = values + 2 * i;
    }
    for (int round = 0; round < 2; round++) {
        CHECK_OK(hr_batch_create(&batch, t, 2, false, &error), error);
        CHECK_OK(hr_pipeline_feed(p, source, &batch, 1, &error), error);
        hr_batch_unref(batch);
        hr_status status = hr_pipeline_run(p, -1, &out, &error);
        if (round == 0) {
            CHECK_OK(status, error);
            CHECK(strcmp(hr_batch_tensor(hr_outputs_batch(out, 0), 1)->layout.name, "X") == 0);
            hr_outputs_unref(out);
            values[2] = -1;
        } else { /* no file to name: the sample's index in the batch */
            CHECK(status == HR_STATUS_ERROR && strstr(error.message, "sample 1 of the batch"));
        }
    }
    hr_pipeline_destroy(p);
}

TEST_MAIN
