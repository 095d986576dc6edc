/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batches copied into memory that a pipeline keeps for fed data. */
#include <sys/wait.h>

#include "exec/fixture.h"
#include "test.h"

enum { BATCH = 3, COUNT = 5000, LARGE = 1 << 20 };

/* A pipeline that returns the data that it is fed. */
static hr_status make(hr_pipeline **out, int32_t *source, int32_t device, hr_error *error)
{
    hr_graph *g;
    hr_pipeline_options options = fixture_options(BATCH, 1);
    HR_TRY(hr_graph_create(&g, error));
    hr_node_desc desc = {.op = "external_source"};
    hr_status status = hr_graph_add_node(g, &desc, source, error);
    hr_edge edge = {*source, 0};
    options.device_id = device;
    options.host_memory_limit = 1000; /* fed data does not count */
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, &edge, 1, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, g, &options, error);
    hr_graph_destroy(g);
    return status;
}

/* Copies samples whose elements are all `value`, `count` per sample; the last sample has `less`
 * fewer. */
static hr_status copy(hr_pool *pool, int32_t value, int32_t count, int32_t less, hr_batch **out,
                      hr_error *error)
{
    static int32_t elements[LARGE];
    hr_tensor t[BATCH];
    for (int32_t k = 0; k < count; k++)
        elements[k] = value;
    for (int32_t i = 0; i < BATCH; i++) {
        hr_shape shape = {1, {i < BATCH - 1 ? count : count - less}};
        hr_tensor_describe(&t[i], HR_DTYPE_INT32, shape, NULL);
        t[i].data = elements;
    }
    return hr_batch_copy(out, pool, t, BATCH, error);
}

static bool holds(const hr_batch *batch, int32_t value)
{
    for (int32_t i = 0; i < BATCH; i++) {
        const hr_tensor *t = hr_batch_tensor(batch, i);
        for (int64_t k = 0; k < t->shape.extent[0]; k++)
            if (((const int32_t *)t->data)[k] != value)
                return false;
    }
    return true;
}

static hr_status pass(hr_pipeline *p, int32_t source, hr_pool *pool, int32_t value, int32_t less,
                      hr_outputs **out, hr_error *error)
{
    hr_batch *batch;
    HR_TRY(copy(pool, value, COUNT, less, &batch, error));
    hr_status status = hr_pipeline_feed(p, source, &batch, 1, error);
    hr_batch_unref(batch);
    return status == HR_STATUS_OK ? hr_pipeline_run(p, -1, out, error) : status;
}

TEST(memory_is_used_again_and_outlives_the_pipeline)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *first, *out;
    int32_t source;
    CHECK_OK(make(&p, &source, HR_DEVICE_HOST, &error), error);
    hr_pool *pool = hr_pipeline_feed_pool(p);
    CHECK_OK(pass(p, source, pool, -1, 0, &first, &error), error);
    const void *before = NULL;
    for (int32_t i = 0; i < 6; i++) {
        CHECK_OK(pass(p, source, pool, i, i % 2, &out, &error), error);
        const void *now = hr_batch_tensor(hr_outputs_batch(out, 0), 0)->data;
        CHECK(holds(hr_outputs_batch(out, 0), i) && (uintptr_t)now % HR_ALIGN == 0);
        CHECK(i == 0 || now == before);
        before = now;
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
    hr_batch *late;
    CHECK_OK(copy(pool, 7, COUNT, 1, &late, &error), error);
    hr_pool_unref(pool);
    CHECK(holds(hr_outputs_batch(first, 0), -1) && holds(late, 7));
    hr_outputs_unref(first);
    hr_batch_unref(late);
}

TEST(a_forked_child_has_none)
{
    hr_error error = {0};
    hr_pipeline *p;
    int32_t source;
    CHECK_OK(make(&p, &source, HR_DEVICE_HOST, &error), error);
    hr_pool *pool = hr_pipeline_feed_pool(p);
    pid_t child = fork();
    if (child == 0) {
        hr_batch *batch;
        _exit(copy(pool, 1, COUNT, 0, &batch, &error) == HR_STATUS_STATE ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    hr_pool_unref(pool);
    hr_pipeline_destroy(p);
}

TEST(it_is_pinned_where_a_device_is_named)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_batch *small, *large;
    int32_t source;
    setenv("HEADRACE_CUDA_MODULE", HR_FAKE_CUDA, 1);
    CHECK_OK(make(&p, &source, 0, &error), error);
    hr_pool *pool = hr_pipeline_feed_pool(p);
    CHECK_OK(copy(pool, 1, COUNT, 0, &small, &error), error);
    CHECK_OK(copy(pool, 2, LARGE, 0, &large, &error), error);
    hr_pipeline_destroy(p);
    hr_pool_unref(pool);
    CHECK(hr_buffer_pinned(hr_batch_tensor(large, 0)->buffer) && holds(large, 2));
    CHECK(!hr_buffer_pinned(hr_batch_tensor(small, 0)->buffer) && holds(small, 1));
    hr_batch_unref(large);
    hr_batch_unref(small);
}

TEST_MAIN
