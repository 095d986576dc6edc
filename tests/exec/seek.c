/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Jobs in C: parts of the same batches, going to any iteration, leaving some out. */
#include "exec/fixture.h"
#include "exec/state.h"
#include "test.h"

#define FILES 26
#define BATCH 7

static hr_status start(const fixture *f, int32_t ranks, int32_t rank, const hr_pipeline_options *o,
                       hr_pipeline **out, hr_error *error)
{
    hr_graph *g;
    int32_t reader;
    hr_pipeline_options options = *o;
    HR_TRY(hr_graph_create(&g, error));
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = f->dir}},
                           fixture_int("random_shuffle", 1),
                           fixture_int("global_batch", BATCH)};
    hr_node_desc desc = {.op = "readers.file", .args = args, .arg_count = 3};
    hr_status status = hr_graph_add_node(g, &desc, &reader, error);
    hr_edge output = {reader, 0};
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, &output, 1, error);
    options.num_shards = ranks;
    options.shard_id = rank;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, g, &options, error);
    hr_graph_destroy(g);
    return status;
}

/* The files of the next iteration, at their places in the batch of the job; -1 where there is none.
 */
static hr_status take(hr_pipeline *p, int32_t ranks, int32_t rank, int *numbers, hr_error *error)
{
    hr_outputs *out;
    HR_TRY(hr_pipeline_run(p, -1, &out, error));
    int32_t n = hr_batch_size(hr_outputs_batch(out, 0));
    for (int32_t i = 0; i < n; i++)
        numbers[hr_outputs_slot(out, i) * ranks + rank] = fixture_number(out, i);
    hr_outputs_unref(out);
    return HR_STATUS_OK;
}

typedef struct whole { /* the batches of a job */
    int numbers[12][BATCH];
} whole;

static bool reference(const fixture *f, whole *w)
{
    hr_pipeline *p;
    hr_pipeline_options options = fixture_options(0, 2);
    if (start(f, 1, 0, &options, &p, NULL) != HR_STATUS_OK)
        return false;
    bool ok = hr_pipeline_batch_size(p) == BATCH;
    for (int k = 0; k < 12; k++)
        ok = ok && take(p, 1, 0, w->numbers[k], NULL) == HR_STATUS_OK;
    hr_pipeline_destroy(p);
    return ok;
}

TEST(parts_of_the_same_batches)
{
    fixture f;
    whole w;
    hr_error error = {0};
    fixture_make(&f, FILES);
    CHECK(reference(&f, &w));
    for (int32_t ranks = 2; ranks <= BATCH; ranks++) {
        whole found = {0};
        for (int32_t rank = 0; rank < ranks; rank++) {
            hr_pipeline *p;
            hr_pipeline_options options = fixture_options(0, 2);
            CHECK_OK(start(&f, ranks, rank, &options, &p, &error), error);
            for (int k = 0; k < 12; k++)
                CHECK_OK(take(p, ranks, rank, found.numbers[k], &error), error);
            hr_pipeline_destroy(p);
        }
        CHECK(memcmp(&found, &w, sizeof(w)) == 0);
    }
    fixture_remove(&f);
}

TEST(any_iteration)
{
    static const int steps[] = {5, 5, 0, 11, 3, 4, 10, 1};
    fixture f;
    whole w;
    hr_error error = {0};
    hr_pipeline *p;
    fixture_make(&f, FILES);
    CHECK(reference(&f, &w));
    hr_pipeline_options options = fixture_options(BATCH, 3);
    options.prefetch_queue_depth = 3;
    CHECK_OK(start(&f, 0, 0, &options, &p, &error), error);
    for (int i = 0; i < 8; i++) {
        int numbers[BATCH];
        CHECK_OK(hr_pipeline_seek(p, steps[i], &error), error);
        for (int k = steps[i]; k < HR_MIN(steps[i] + 3, 12); k++) {
            CHECK_OK(take(p, 1, 0, numbers, &error), error);
            CHECK(memcmp(numbers, w.numbers[k], sizeof(numbers)) == 0);
        }
    }
    CHECK(hr_pipeline_seek(p, -1, &error) == HR_STATUS_VALUE);
    CHECK(hr_pipeline_seek(p, INT64_MAX, &error) == HR_STATUS_VALUE);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

TEST(iterations_left_out)
{
    fixture f;
    whole w;
    hr_error error = {0};
    hr_pipeline *p;
    int numbers[BATCH];
    char *text;
    size_t size;
    hr_outputs *out;
    fixture_make(&f, FILES);
    CHECK(reference(&f, &w));
    hr_pipeline_options options = fixture_options(BATCH, 2);
    CHECK_OK(start(&f, 0, 0, &options, &p, &error), error);
    CHECK_OK(hr_pipeline_leave_out(p, 3, 5, &error), error);
    CHECK_OK(hr_pipeline_leave_out(p, 1, 2, &error), error);
    CHECK_OK(hr_pipeline_leave_out(p, 4, 7, &error), error);
    CHECK_OK(take(p, 1, 0, numbers, &error), error);
    CHECK(memcmp(numbers, w.numbers[0], sizeof(numbers)) == 0);
    CHECK_OK(hr_pipeline_checkpoint(p, &text, &size, &error), error);
    CHECK(strstr(text, "\"left_out\": [[1, 2], [3, 7]]"));
    hr_pipeline_destroy(p);
    options.checkpoint = text;
    options.checkpoint_size = size;
    CHECK_OK(start(&f, 0, 0, &options, &p, &error), error);
    hr_string_free(text);
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    CHECK(hr_outputs_iteration(out) == 2 && hr_outputs_positions(out) == 2 * BATCH);
    CHECK(fixture_number(out, 0) == w.numbers[2][0]);
    hr_outputs_unref(out);
    CHECK(hr_pipeline_wait(p, -1) == HR_STATUS_STATE); /* the next one has positions of others */
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    CHECK(hr_outputs_iteration(out) == 7 && hr_outputs_positions(out) == 5 * BATCH);
    CHECK(fixture_number(out, 6) == w.numbers[7][6]);
    hr_outputs_unref(out);
    CHECK(hr_pipeline_leave_out(p, 5, 5, &error) == HR_STATUS_VALUE);
    CHECK(hr_pipeline_leave_out(p, 5, INT64_MAX, &error) == HR_STATUS_VALUE);
    CHECK_OK(hr_pipeline_leave_out(p, 0, 8, &error), error); /* taken already */
    CHECK_OK(take(p, 1, 0, numbers, &error), error);
    CHECK(memcmp(numbers, w.numbers[8], sizeof(numbers)) == 0);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

TEST(options_that_do_not_fit)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p = NULL;
    fixture_make(&f, FILES);
    hr_pipeline_options options = fixture_options(2, 1);
    CHECK(start(&f, 3, 0, &options, &p, &error) == HR_STATUS_VALUE);
    CHECK(strstr(error.message, "need at least 3"));
    options.batch_size = 0;
    CHECK(start(&f, 3, 3, &options, &p, &error) == HR_STATUS_ERROR);
    CHECK(start(&f, 8, 3, &options, &p, &error) == HR_STATUS_ERROR);
    CHECK(start(&f, -1, 0, &options, &p, &error) == HR_STATUS_VALUE);
    options.seed = -1;
    CHECK(start(&f, 3, 1, &options, &p, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "needs a seed"));
    fixture_graph plain = {0};
    options = fixture_options(2, 1);
    options.num_shards = 2;
    CHECK(fixture_pipeline(&f, &plain, &options, &p, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "no reader has global_batch"));
    options = fixture_options(0, 1);
    CHECK(fixture_pipeline(&f, &plain, &options, &p, &error) == HR_STATUS_VALUE);
    fixture_remove(&f);
}

TEST_MAIN
