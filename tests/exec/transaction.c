/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Feeding and taking as one step: calls that are given up, sources that are fed together, and
 * memory that lacks at any allocation. Nothing is lost, doubled or shifted. */
#include "exec/fixture.h"
#include "test.h"

#define BATCH 3

typedef struct two_sources {
    hr_pipeline *p;
    int32_t a, b; /* fed; the third output is the number that the reader gives */
} two_sources;

/* Outputs: a, b, and a reader's labels. */
static void make(const fixture *f, hr_pipeline_options options, two_sources *out)
{
    hr_error error = {0};
    hr_graph *g;
    int32_t reader;
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = f->dir}}};
    hr_node_desc source = {.op = "external_source"},
                 read = {.op = "readers.file", .args = args, .arg_count = 1};
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(hr_graph_add_node(g, &source, &out->a, &error), error);
    CHECK_OK(hr_graph_add_node(g, &source, &out->b, &error), error);
    CHECK_OK(hr_graph_add_node(g, &read, &reader, &error), error);
    hr_edge outputs[] = {{out->a, 0}, {out->b, 0}, {reader, 0}};
    CHECK_OK(hr_graph_set_outputs(g, outputs, 3, &error), error);
    CHECK_OK(hr_pipeline_create(&out->p, g, &options, &error), error);
    hr_graph_destroy(g);
}

/* A batch of `size` equal numbers. */
static hr_batch *numbers(int32_t number, int32_t size)
{
    hr_error error = {0};
    hr_batch *batch = NULL;
    int32_t data[BATCH + 2];
    hr_tensor samples[BATCH + 2];
    for (int32_t i = 0; i < size; i++) {
        data[i] = number;
        samples[i] = (hr_tensor){.data = &data[i], .dtype = HR_DTYPE_INT32};
    }
    (void)hr_batch_create(&batch, samples, size, false, &error);
    return batch;
}

static int32_t value(const hr_outputs *out, int32_t output, int32_t i)
{
    return *(const int32_t *)hr_batch_tensor(hr_outputs_batch(out, output), i)->data;
}

/* Whether the outputs are those of `a` and `b`, and of the reader's iteration `number`. */
static bool is(const hr_outputs *out, int32_t a, int32_t b, int number)
{
    char name[32];
    bool yes = true;
    for (int32_t i = 0; i < BATCH; i++) {
        const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(out, 2), i);
        sprintf(name, "f%04d.ppm", (number * BATCH + i) % 6);
        yes = yes && value(out, 0, i) == a && value(out, 1, i) == b && t->source_info &&
              strstr(t->source_info, name);
    }
    return yes;
}

static hr_status call(const two_sources *t, int32_t a, int32_t b, hr_call call, hr_outputs **out,
                      bool *taken, hr_error *error)
{
    hr_batch *batches[] = {numbers(a, BATCH), numbers(b, BATCH)};
    hr_feeding feedings[] = {{t->a, 1, &batches[0]}, {t->b, 1, &batches[1]}};
    call.feedings = feedings;
    call.count = 2;
    call.seed = call.sample = -1;
    hr_status status = hr_pipeline_call(t->p, &call, out, taken, error);
    hr_batch_unref(batches[0]);
    hr_batch_unref(batches[1]);
    return status;
}

TEST(a_call_that_is_not_delivered_is_taken_back)
{
    fixture f;
    two_sources t;
    hr_error error = {0};
    hr_outputs *out;
    bool taken;
    fixture_make(&f, 6);
    make(&f, fixture_options(BATCH, 2), &t);
    for (int i = 0; i < 8; i++) {
        CHECK_OK(call(&t, i, 100, (hr_call){.hold = true}, &out, &taken, &error), error);
        CHECK(taken && is(out, i, 100, i));
        hr_outputs_unref(out);
        CHECK_OK(call(&t, -i, 200, (hr_call){.again = true}, &out, &taken, &error), error);
        CHECK(taken && is(out, -i, 200, i));
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(t.p);
    fixture_remove(&f);
}

TEST(sources_are_fed_together_or_not_at_all)
{
    fixture f;
    two_sources t;
    hr_error error = {0};
    hr_outputs *out;
    bool taken;
    fixture_make(&f, 6);
    make(&f, fixture_options(BATCH, 1), &t);
    hr_batch *good[] = {numbers(1, BATCH), numbers(2, BATCH)}, *large = numbers(3, BATCH + 1);
    hr_feeding both[] = {{t.a, 1, &good[0]}, {t.b, 1, &good[1]}};
    hr_feeding bad[] = {{t.a, 1, &good[1]}, {t.b, 1, &large}};
    hr_feeding unknown[] = {{t.a, 1, &good[1]}, {99, 1, &good[1]}};
    CHECK(hr_pipeline_feed_all(t.p, bad, 2, &error) == HR_STATUS_ERROR);
    CHECK(hr_pipeline_feed_all(t.p, unknown, 2, &error) == HR_STATUS_KEY);
    CHECK(hr_pipeline_pending(t.p) == 0);
    CHECK_OK(hr_pipeline_feed_all(t.p, both, 2, &error), error);
    CHECK(call(&t, 8, 9, (hr_call){0}, &out, &taken, &error) == HR_STATUS_STATE && !taken);
    CHECK_OK(hr_pipeline_run(t.p, HANG_MS, &out, &error), error);
    CHECK(is(out, 1, 2, 0));
    hr_outputs_unref(out);
    CHECK_OK(call(&t, 8, 9, (hr_call){0}, &out, &taken, &error), error);
    CHECK(is(out, 8, 9, 1));
    hr_outputs_unref(out);
    hr_batch_unref(good[0]);
    hr_batch_unref(good[1]);
    hr_batch_unref(large);
    hr_pipeline_destroy(t.p);
    fixture_remove(&f);
}

static bool at_once(void *context)
{
    ++*(int *)context;
    return true;
}

TEST(a_call_that_is_given_up_leaves_nothing_behind)
{
    fixture f;
    two_sources t;
    hr_error error = {0};
    hr_outputs *out;
    bool taken;
    int asked = 0, ended = 0;
    fixture_make(&f, 6);
    setenv("HEADRACE_STALL", "read:400000", 1);
    make(&f, fixture_options(BATCH, 2), &t);
    unsetenv("HEADRACE_STALL");
    hr_call stop = {.stop = at_once, .context = &asked};
    for (int i = 0; i < 4; i++) {
        hr_status status = call(&t, 7, 8, stop, &out, &taken, &error);
        CHECK(status == HR_STATUS_TIMEOUT || status == HR_STATUS_OK);
        if (status == HR_STATUS_OK)
            CHECK(is(out, 7, 8, ended++));
        if (status == HR_STATUS_OK)
            hr_outputs_unref(out);
    }
    CHECK(asked > 0);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(call(&t, i, i + 1, (hr_call){0}, &out, &taken, &error), error);
        CHECK(is(out, i, i + 1, ended + i));
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(t.p);
    fixture_remove(&f);
}

/* Each allocation fails once, in a pipeline that runs, that is fed, or that is called. */
TEST(no_failed_allocation_loses_a_batch)
{
    fixture f;
    int failed = 0;
    fixture_make(&f, 6);
    for (int n = 0; n < 150; n++) {
        for (int fed = 0; fed < 2; fed++) {
            two_sources t;
            hr_error error = {0};
            hr_outputs *out;
            bool taken;
            hr_pipeline_options options = fixture_options(BATCH, 2);
            options.prefetch_queue_depth = 1 + n % 3;
            hr_alloc_fail_after(-1); /* known to the threads that are started now */
            make(&f, options, &t);
            for (int i = 0; i < 3; i++) {
                hr_batch *batches[] = {numbers(i, BATCH), numbers(i + 9, BATCH)};
                hr_feeding both[] = {{t.a, 1, &batches[0]}, {t.b, 1, &batches[1]}};
                hr_call given = {.feedings = both, .count = 2, .seed = -1, .sample = -1};
                hr_status status = HR_STATUS_NO_MEMORY;
                if (i == 1)
                    hr_alloc_fail_after(n);
                for (int k = 0; fed && k < 2 && status == HR_STATUS_NO_MEMORY; k++)
                    status = hr_pipeline_feed_all(t.p, both, 2, &error);
                status = HR_STATUS_NO_MEMORY;
                for (int k = 0; k < 3 && status == HR_STATUS_NO_MEMORY; k++) {
                    status = fed ? hr_pipeline_run(t.p, HANG_MS, &out, &error)
                                 : hr_pipeline_call(t.p, &given, &out, &taken, &error);
                    failed += status == HR_STATUS_NO_MEMORY;
                }
                hr_alloc_fail_after(-1);
                CHECK_OK(status, error);
                CHECK(is(out, i, i + 9, i));
                hr_outputs_unref(out);
                hr_batch_unref(batches[0]);
                hr_batch_unref(batches[1]);
            }
            hr_pipeline_destroy(t.p);
        }
    }
    CHECK(failed > 10);
    fixture_remove(&f);
}

/* A batch that does not fit beside outputs that the caller holds comes once they are released. */
TEST(a_memory_limit_loses_no_batch)
{
    fixture f;
    fixture_make(&f, 24);
    for (int limit = 60000; limit < 300000; limit += 20000) {
        hr_error error = {0};
        hr_pipeline *p;
        hr_outputs *held[64];
        fixture_graph o = {.images = true};
        hr_pipeline_options options = fixture_options(8, 2);
        int count = 0, refused = 0;
        options.host_memory_limit = (size_t)limit;
        options.prefetch_queue_depth = 1 + limit / 20000 % 3;
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
        for (int number = 0; number < 24;) {
            hr_status status = hr_pipeline_run(p, HANG_MS, &held[count], &error);
            if (status == HR_STATUS_OK) {
                for (int32_t i = 0; i < 8; i++)
                    CHECK(fixture_number(held[count], i) == (number * 8 + i) % 24);
                number++;
                count++;
                continue;
            }
            CHECK(status == HR_STATUS_NO_MEMORY && count > 0);
            if (status != HR_STATUS_NO_MEMORY || count == 0)
                break;
            for (refused++; count > 0;)
                hr_outputs_unref(held[--count]);
        }
        CHECK(refused > 0);
        while (count > 0)
            hr_outputs_unref(held[--count]);
        hr_pipeline_destroy(p);
    }
    fixture_remove(&f);
}

TEST_MAIN
