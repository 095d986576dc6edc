/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions of the caller: called in order, one iteration at a time, with the results in the right
 * samples; failures, destruction in mid-flight, and memory ownership. */
#include <stdatomic.h>

#include "exec/fixture.h"
#include "exec/iteration.h"
#include "test.h"

#define BATCH 5

typedef struct caller { /* not locked: TSan reports calls that run at the same time */
    int32_t next, calls, fail_at;
    bool short_of_one, out_of_order, fail_alone;
    hr_on_error on_error;
    bool strided, in_place; /* how it returns its results */
    atomic_int released, inside;
    hr_pipeline *pipeline; /* whose workers call it */
} caller;

static void caller_release(void *context)
{
    atomic_fetch_add(&((caller *)context)->released, 1);
}

static hr_status make_in_place(caller *c, hr_function_call *call, hr_error *error)
{
    hr_tensor like[BATCH], made[BATCH];
    for (int32_t i = 0; i < BATCH; i++)
        like[i] = (hr_tensor){.dtype = HR_DTYPE_INT32, .shape = {.ndim = 1, .extent = {2}}};
    HR_TRY(hr_function_make(call, 0, like, made, error));
    for (int32_t i = 0; i < BATCH; i++, c->next++)
        ((int32_t *)made[i].data)[0] = ((int32_t *)made[i].data)[1] =
            *(const int32_t *)hr_function_input(call, 0, i)->data;
    bool host = hr_function_device(call) == HR_DEVICE_HOST && !hr_function_stream(call) &&
                hr_function_await(call, NULL, error) == HR_STATUS_OK &&
                hr_function_synchronize(call, error) == HR_STATUS_OK;
    bool twice = hr_function_make(call, 0, like, made, error) == HR_STATUS_STATE;
    return host && twice ? HR_STATUS_OK : HR_STATUS_ERROR;
}

/* Lets iterations pile up: until the other workers have nothing to do, or are called as well. */
static void pile_up(caller *c)
{
    hr_pipeline *p = c->pipeline;
    bool more = true;
    for (int pauses = 0; more && atomic_load(&c->inside) == 1;) {
        pthread_mutex_lock(&p->lock);
        more = !p->stop && fixture_idle(p) < p->worker_count - 1;
        pthread_mutex_unlock(&p->lock);
        more = more && waiting_pause(&pauses);
    }
}

/* Output: the sample's number twice as int32. */
static hr_status call_alone(caller *c, hr_function_call *call, hr_error *error)
{
    int32_t n = hr_function_samples(call);
    c->calls++;
    if (c->in_place)
        return make_in_place(c, call, error);
    for (int32_t i = 0; i < n; i++) {
        const hr_tensor *in = hr_function_input(call, 0, i);
        int32_t v = *(const int32_t *)in->data, both[2] = {v, v};
        c->out_of_order = c->out_of_order || v != c->next;
        c->next++;
        if (v == c->fail_at && c->fail_alone) {
            hr_status own = hr_function_fail(call, i, HR_STATUS_VALUE, "does not like 6", error);
            if (own != HR_STATUS_OK ||
                hr_function_fail(call, n, HR_STATUS_VALUE, "", error) != HR_STATUS_INDEX)
                return HR_STATUS_ERROR;
            continue;
        }
        if (v == c->fail_at) {
            error->status = HR_STATUS_VALUE;
            snprintf(error->message, sizeof(error->message), "does not like %d", (int)v);
            return HR_STATUS_VALUE;
        }
        hr_tensor out = {
            .data = both, .dtype = HR_DTYPE_INT32, .shape = {.ndim = 1, .extent = {2}}};
        if (c->short_of_one && i == n - 1)
            break;
        int64_t stride = i % 2 ? 0 : -(int64_t)sizeof(v); /* one element twice, or backwards */
        if (c->strided)
            out.data = &both[i % 2 ? 0 : 1];
        hr_status status =
            hr_function_output_strided(call, 0, i, &out, c->strided ? &stride : NULL, error);
        if (status != HR_STATUS_OK)
            return status;
    }
    bool outside = hr_function_input(call, 1, 0) || hr_function_input(call, 0, n) ||
                   hr_function_inputs(call) != 1 || hr_function_outputs(call) != 1;
    return outside ? HR_STATUS_ERROR : HR_STATUS_OK;
}

static hr_status caller_call(void *context, hr_function_call *call, hr_error *error)
{
    caller *c = context;
    atomic_fetch_add(&c->inside, 1);
    pile_up(c);
    if (atomic_load(&c->inside) > 1)
        c->out_of_order = true;
    hr_status status = call_alone(c, call, error);
    atomic_fetch_sub(&c->inside, 1);
    return status;
}

/* external_source -> python_function -> cast; outputs: the function's and the cast's. */
static hr_status graph_make(hr_graph **out, caller *c, hr_error *error)
{
    hr_function *function;
    int32_t source, made = 0, cast;
    hr_arg_value to_float = {"dtype", {.kind = HR_VALUE_INT, .u.i = HR_DTYPE_FLOAT}};
    HR_TRY(hr_function_create(&function, caller_call, c, caller_release, error));
    hr_node_desc desc = {.op = "external_source"};
    hr_status status = hr_graph_create(out, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_add_node(*out, &desc, &source, error);
    if (status == HR_STATUS_OK) {
        hr_edge in = {source, 0};
        desc = (hr_node_desc){
            .op = "python_function", .inputs = &in, .input_count = 1, .function = function};
        status = hr_graph_add_node(*out, &desc, &made, error);
    }
    hr_function_unref(function);
    HR_TRY(status);
    hr_edge from = {made, 0};
    desc = (hr_node_desc){
        .op = "cast", .inputs = &from, .input_count = 1, .args = &to_float, .arg_count = 1};
    HR_TRY(hr_graph_add_node(*out, &desc, &cast, error));
    hr_edge outputs[] = {{made, 0}, {cast, 0}};
    return hr_graph_set_outputs(*out, outputs, 2, error);
}

static hr_status pipeline_make(hr_pipeline **out, caller *c, hr_error *error)
{
    hr_graph *graph = NULL;
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = BATCH;
    options.num_threads = 3;
    options.prefetch_queue_depth = 4;
    options.on_error = c->on_error;
    hr_status status = graph_make(&graph, c, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, graph, &options, error);
    hr_graph_destroy(graph);
    c->pipeline = *out; /* nothing is called before the first run */
    return status;
}

static hr_status feed(hr_pipeline *p, int32_t first, hr_error *error)
{
    int32_t values[BATCH];
    hr_tensor tensors[BATCH];
    hr_batch *batch;
    for (int32_t i = 0; i < BATCH; i++) {
        values[i] = first + i;
        tensors[i] = (hr_tensor){.data = &values[i], .dtype = HR_DTYPE_INT32};
    }
    HR_TRY(hr_batch_create(&batch, tensors, BATCH, false, error));
    hr_status status = hr_pipeline_feed(p, 0, &batch, 1, error);
    hr_batch_unref(batch);
    return status;
}

static bool right(const hr_outputs *outputs, int32_t first)
{
    const hr_batch *ints = hr_outputs_batch(outputs, 0), *floats = hr_outputs_batch(outputs, 1);
    hr_tensor dense;
    if (hr_batch_size(ints) != BATCH || !hr_batch_dense(ints, &dense))
        return false;
    for (int32_t i = 0; i < BATCH; i++) {
        const int32_t *v = hr_batch_tensor(ints, i)->data;
        const float *f = hr_batch_tensor(floats, i)->data;
        if (v[0] != first + i || v[1] != v[0] || (int32_t)f[1] != v[0])
            return false;
    }
    return true;
}

TEST(in_order_and_in_place)
{
    caller c = {.fail_at = -1};
    hr_pipeline *p = NULL;
    hr_error error = {0};
    CHECK_OK(pipeline_make(&p, &c, &error), error);
    for (int32_t k = 0; k < 4; k++)
        CHECK_OK(feed(p, k * BATCH, &error), error);
    for (int32_t k = 0; k < 40; k++) {
        hr_outputs *outputs;
        CHECK_OK(hr_pipeline_run(p, -1, &outputs, &error), error);
        bool ok = right(outputs, k * BATCH);
        hr_outputs_unref(outputs);
        CHECK(ok);
        CHECK_OK(feed(p, (k + 4) * BATCH, &error), error);
    }
    CHECK(atomic_load(&c.released) == 0);
    hr_pipeline_destroy(p); /* with four iterations in flight */
    CHECK(!c.out_of_order && c.calls >= 40);
    CHECK(atomic_load(&c.released) == 1);
}

TEST(results_of_other_kinds)
{
    for (int32_t k = 0; k < 2; k++) {
        caller c = {.fail_at = -1, .strided = k == 0, .in_place = k == 1};
        hr_pipeline *p = NULL;
        hr_error error = {0};
        hr_outputs *outputs;
        CHECK_OK(pipeline_make(&p, &c, &error), error);
        CHECK_OK(feed(p, 0, &error), error);
        CHECK_OK(hr_pipeline_run(p, -1, &outputs, &error), error);
        bool ok = right(outputs, 0);
        hr_outputs_unref(outputs);
        hr_pipeline_destroy(p);
        CHECK(ok);
    }
}

TEST(failures_end_one_iteration)
{
    caller c = {.fail_at = BATCH + 1};
    hr_pipeline *p = NULL;
    hr_error error = {0};
    hr_outputs *outputs;
    CHECK_OK(pipeline_make(&p, &c, &error), error);
    for (int32_t k = 0; k < 3; k++) {
        CHECK_OK(feed(p, k * BATCH, &error), error);
        hr_status status = hr_pipeline_run(p, -1, &outputs, &error);
        CHECK(status == (k == 1 ? HR_STATUS_VALUE : HR_STATUS_OK));
        if (status == HR_STATUS_OK)
            hr_outputs_unref(outputs);
    }
    CHECK(strstr(error.message, "does not like 6") && strstr(error.message, "python_function"));
    hr_pipeline_destroy(p);
}

/* The function fails for one sample, which on_error decides about; the others are not touched. */
TEST(a_sample_fails_alone)
{
    for (int32_t skip = 0; skip < 2; skip++) {
        caller c = {.fail_at = BATCH + 1, .fail_alone = true};
        hr_pipeline *p = NULL;
        hr_error error = {0};
        hr_outputs *outputs;
        char *json;
        c.on_error = skip ? HR_ON_ERROR_SKIP : HR_ON_ERROR_RAISE;
        CHECK_OK(pipeline_make(&p, &c, &error), error);
        CHECK_OK(feed(p, BATCH, &error), error);
        c.next = BATCH;
        hr_status status = hr_pipeline_run(p, -1, &outputs, &error);
        CHECK(status == (skip ? HR_STATUS_OK : HR_STATUS_VALUE));
        if (skip) {
            const hr_batch *batch = hr_outputs_batch(outputs, 0);
            CHECK(hr_batch_size(batch) == BATCH - 1);
            for (int32_t i = 0; i < BATCH - 1; i++)
                CHECK(*(const int32_t *)hr_batch_tensor(batch, i)->data == BATCH + i + (i > 0));
            hr_outputs_unref(outputs);
        } else {
            CHECK(strstr(error.message, "sample 1 of the batch: does not like 6"));
        }
        CHECK_OK(hr_pipeline_errors(p, &json, &error), error);
        const char *bad = strstr(json, "\"index\"");
        CHECK(bad && !strstr(bad + 1, "\"index\""));
        hr_string_free(json);
        hr_pipeline_destroy(p);
        CHECK(!c.out_of_order);
    }
}

TEST(every_output_is_needed)
{
    caller c = {.fail_at = -1, .short_of_one = true};
    hr_pipeline *p = NULL;
    hr_error error = {0};
    hr_outputs *outputs;
    CHECK_OK(pipeline_make(&p, &c, &error), error);
    CHECK_OK(feed(p, 0, &error), error);
    CHECK(hr_pipeline_run(p, -1, &outputs, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "no output 0 of sample 4"));
    hr_pipeline_destroy(p);
}

TEST(only_where_it_belongs)
{
    caller c = {0};
    hr_graph *graph;
    hr_function *function;
    hr_error error = {0};
    char *text;
    size_t size;
    CHECK_OK(hr_graph_create(&graph, &error), error);
    CHECK_OK(hr_function_create(&function, caller_call, &c, caller_release, &error), error);
    hr_node_desc without = {.op = "python_function"}, with = {.op = "constant"};
    with.function = function;
    CHECK(hr_graph_add_node(graph, &without, NULL, &error) == HR_STATUS_TYPE);
    with.op = "external_source";
    CHECK(hr_graph_add_node(graph, &with, NULL, &error) == HR_STATUS_TYPE);
    with.op = "python_function";
    CHECK_OK(hr_graph_add_node(graph, &with, NULL, &error), error);
    CHECK(hr_graph_serialize(graph, &text, &size, &error) == HR_STATUS_ERROR);
    hr_function_unref(function);
    CHECK(atomic_load(&c.released) == 0);
    hr_graph_destroy(graph);
    CHECK(atomic_load(&c.released) == 1);
}

static hr_status count_call(void *context, hr_function_call *call, hr_error *error)
{
    atomic_fetch_add((atomic_int *)context, 1);
    for (int32_t i = 0; i < hr_function_samples(call); i++)
        HR_TRY(hr_function_output(call, 0, i, hr_function_input(call, 0, i), error));
    return HR_STATUS_OK;
}

/* A source that needs no feeding, followed by python_function. */
static hr_status endless_make(hr_pipeline **out, atomic_int *calls, int32_t depth, hr_error *error)
{
    hr_graph *graph;
    hr_function *function;
    int32_t coin, made;
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = BATCH;
    options.num_threads = 2;
    options.prefetch_queue_depth = depth;
    HR_TRY(hr_function_create(&function, count_call, calls, NULL, error));
    hr_node_desc desc = {.op = "random.coin_flip"};
    HR_TRY(hr_graph_create(&graph, error));
    HR_TRY(hr_graph_add_node(graph, &desc, &coin, error));
    hr_edge in = {coin, 0};
    desc = (hr_node_desc){
        .op = "python_function", .inputs = &in, .input_count = 1, .function = function};
    HR_TRY(hr_graph_add_node(graph, &desc, &made, error));
    hr_function_unref(function);
    hr_edge output = {made, 0};
    HR_TRY(hr_graph_set_outputs(graph, &output, 1, error));
    hr_status status = hr_pipeline_create(out, graph, &options, error);
    hr_graph_destroy(graph);
    return status;
}

/* Whether the expected number of calls has been made, and no other is allowed: of `depth`
 * iterations in flight, those that were asked for are done. */
static bool settled(hr_pipeline *p, atomic_int *calls, int expected)
{
    pthread_mutex_lock(&p->lock);
    bool last = atomic_load(calls) >= expected && !p->scheduling.due && !p->scheduling.busy &&
                p->flight.count == p->options.prefetch_queue_depth;
    for (const hr_iteration *it = p->flight.first; it; it = it->next)
        last = last && (it->done || (it->tasks > 0 && it->number >= p->flight.ordered_end));
    pthread_mutex_unlock(&p->lock);
    return last;
}

/* As in DALI: `depth` calls when the first batch is requested, and one more for each later one.
 * Iterators request the batch after the one that they return. */
TEST(calls_run_ahead_by_depth)
{
    for (int32_t depth = 1; depth <= 3; depth++) {
        atomic_int calls = 0;
        hr_pipeline *p = NULL;
        hr_error error = {0};
        hr_outputs *outputs;
        CHECK_OK(endless_make(&p, &calls, depth, &error), error);
        WAIT_FOR(settled(p, &calls, 0));
        CHECK(calls == 0);
        for (int32_t k = 0; k < 4; k++) {
            CHECK_OK(hr_pipeline_run(p, -1, &outputs, &error), error);
            hr_outputs_unref(outputs);
            WAIT_FOR(settled(p, &calls, depth + k));
            CHECK(calls == depth + k);
        }
        CHECK_OK(hr_pipeline_wait(p, -1), error);
        WAIT_FOR(settled(p, &calls, depth + 4));
        CHECK(calls == depth + 4);
        hr_pipeline_destroy(p);
    }
}

TEST_MAIN
