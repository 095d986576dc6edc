/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Calls of a pipeline whose caller does brief tasks itself instead of waking threads. */
#include <stdatomic.h>

#include "exec/fixture.h"
#include "test.h"

#define SAMPLES 100
#define CALLS 300
#define SPIN_NS 5000000

static pthread_t caller;
static atomic_int here, running, most; /* tasks on the caller's thread; at once: now, and at most */
static atomic_bool spin; /* a task takes SPIN_NS, until the caller was asked whether to stop */
static int asked;

static hr_status where_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, NULL);
    return HR_STATUS_OK;
}

static hr_status where_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    int now = atomic_fetch_add(&running, 1) + 1, before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
    }
    atomic_fetch_add(&here, pthread_equal(pthread_self(), caller) ? 1 : 0);
    for (int64_t end = hr_clock_ns() + SPIN_NS; atomic_load(&spin) && hr_clock_ns() < end;)
        sched_yield();
    for (int32_t i = 0; i < n; i++)
        *(int32_t *)calls[i].out[0].data = *(const int32_t *)calls[i].in[0].data + 1;
    atomic_fetch_sub(&running, 1);
    return HR_STATUS_OK;
}

static const hr_arg_def no_args[] = {HR_ARG_END};
static const hr_op_def op_where = {HR_OP_ABI,
                                   .name = "test.where",
                                   .doc = "Adds 1, and notes the thread.",
                                   .args = no_args,
                                   .in = HR_INPUTS({.name = "data"}),
                                   .infer = where_infer,
                                   .run_cpu = where_run};
static hr_status pass_all(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        calls[i].out[0] = calls[i].in[0];
        calls[i].out[0].buffer = NULL; /* the executor copies tensors without a buffer */
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_all = {HR_OP_ABI,
                                 .name = "test.all",
                                 .doc = "The whole batch, as it is.",
                                 .args = no_args,
                                 .in = HR_INPUTS({.name = "data"}),
                                 .run_batch = pass_all};

/* `all`: test.all follows. */
static void make(int32_t threads, bool all, hr_pipeline **p, int32_t *source)
{
    static bool added;
    const hr_op_def *ops[] = {&op_where, &op_all, NULL};
    hr_error error = {0};
    hr_graph *g;
    int32_t node;
    hr_node_desc feed = {.op = "external_source"};
    if (!added)
        CHECK_OK(hr_registry_add(ops, "test", &error), error);
    added = true;
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(hr_graph_add_node(g, &feed, source, &error), error);
    hr_edge in = {*source, 0};
    hr_node_desc desc = {.op = "test.where", .inputs = &in, .input_count = 1};
    CHECK_OK(hr_graph_add_node(g, &desc, &node, &error), error);
    hr_edge where = {node, 0};
    desc = (hr_node_desc){.op = "test.all", .inputs = &where, .input_count = 1};
    if (all)
        CHECK_OK(hr_graph_add_node(g, &desc, &node, &error), error);
    hr_edge out = {node, 0};
    CHECK_OK(hr_graph_set_outputs(g, &out, 1, &error), error);
    hr_pipeline_options options = fixture_options(SAMPLES, threads);
    options.prefetch_queue_depth = 1;
    CHECK_OK(hr_pipeline_create(p, g, &options, &error), error);
    hr_graph_destroy(g);
    caller = pthread_self();
    atomic_store(&here, 0);
    atomic_store(&most, 0);
    asked = 0;
}

static bool stop(void *context)
{
    (void)context;
    asked++;
    return atomic_exchange(&spin, false);
}

/* The samples are `number` and those that follow it. */
static hr_status call(hr_pipeline *p, int32_t source, int32_t number, hr_error *error)
{
    int32_t data[SAMPLES];
    hr_tensor samples[SAMPLES];
    hr_batch *batch = NULL;
    hr_outputs *out = NULL;
    bool taken;
    for (int32_t i = 0; i < SAMPLES; i++) {
        data[i] = number + i;
        samples[i] = (hr_tensor){.data = &data[i], .dtype = HR_DTYPE_INT32};
    }
    HR_TRY(hr_batch_create(&batch, samples, SAMPLES, false, error));
    hr_feeding feeding = {source, 1, &batch};
    hr_call made = {&feeding, 1, .seed = -1, .sample = -1, .stop = stop};
    hr_status status = hr_pipeline_call(p, &made, &out, &taken, error);
    for (int32_t i = 0; i < SAMPLES && status == HR_STATUS_OK; i++)
        if (*(const int32_t *)hr_batch_tensor(hr_outputs_batch(out, 0), i)->data != number + i + 1)
            status = hr_fail(error, HR_STATUS_ERROR, "sample %d is wrong", i);
    hr_outputs_unref(out);
    hr_batch_unref(batch);
    return status;
}

/* Until a task has run, nobody knows that it is brief. The caller is one of num_threads. */
TEST(the_caller_works)
{
    for (int32_t threads = 1; threads < 4; threads++) {
        hr_error error = {0};
        int32_t source;
        hr_pipeline *p = NULL;
        make(threads, false, &p, &source);
        CHECK_OK(call(p, source, 0, &error), error);
        for (int i = 0; i < CALLS; i++)
            CHECK_OK(call(p, source, i, &error), error);
        CHECK(atomic_load(&here) > 0);
        CHECK(atomic_load(&most) <= threads);
        hr_pipeline_destroy(p);
    }
}

/* It looks for Ctrl-C between its tasks, and a call that is given up leaves nothing behind. */
TEST(a_caller_that_works_can_be_stopped)
{
    hr_error error = {0};
    int32_t source;
    hr_pipeline *p = NULL;
    make(2, false, &p, &source);
    CHECK_OK(call(p, source, 0, &error), error);
    atomic_store(&spin, true);
    CHECK(call(p, source, 1, &error) == HR_STATUS_TIMEOUT && asked > 0);
    CHECK_OK(call(p, source, 2, &error), error);
    hr_pipeline_destroy(p);
}

/* A worker is called for a stage whose tasks are not brief, although the caller has just worked. */
TEST(the_caller_does_some_stages)
{
    for (int32_t threads = 1; threads < 3; threads++) {
        hr_error error = {0};
        int32_t source;
        hr_pipeline *p = NULL;
        make(threads, true, &p, &source);
        CHECK(p->plan->stage_count == 2);
        for (int i = 0; i < CALLS / 10; i++) {
            pthread_mutex_lock(&p->lock);
            p->sample_ns[0] = i % 3 ? 1 : 1000000000;
            p->sample_ns[1] = i % 2 ? 1 : 1000000000;
            pthread_mutex_unlock(&p->lock);
            CHECK_OK(call(p, source, i, &error), error);
        }
        hr_pipeline_destroy(p);
    }
}

TEST_MAIN
