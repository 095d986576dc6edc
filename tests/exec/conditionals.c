/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Branches: a node runs only for the samples whose guard holds, on any number of threads, and a
 * failure in a branch concerns only those samples. */
#include "exec/fixture.h"
#include "graph/graph.h"
#include "test.h"

#define FILES 40 /* ten of each class 0 .. 3 */

static hr_error error;

#define NODE_IF ", \"guard\": [4, 0, true], "
#define NODE_UNLESS ", \"guard\": [4, 0, false], "

/* label > 0 decides (used as the probability of a coin flip, which makes it a scalar): a small
 * image, randomly mirrored, or a constant one plus random numbers. */
static const char branches[] =
    "{\"headrace_graph\": 1, \"nodes\": ["
    "{\"op\": \"readers.file\", \"args\": {\"file_root\": \"%s\", \"random_shuffle\": true}},"
    "{\"op\": \"_arithmetic\", \"inputs\": [[0, 1]],"
    " \"args\": {\"op\": \"gt\", \"const_side\": 1, \"const_type\": 6, \"ivalue\": 0}},"
    "{\"op\": \"cast\", \"inputs\": [[1, 0]], \"args\": {\"dtype\": 9}},"
    "{\"op\": \"random.coin_flip\", \"args\": {\"probability\": {\"edge\": [2, 0]}}},"
    "{\"op\": \"_conditional.validate_logical\", \"inputs\": [[3, 0]],"
    " \"args\": {\"expression_name\": \"if\"}},"
    "{\"op\": \"decoders.image\", \"name\": \"decode\"" NODE_IF "\"inputs\": [[0, 0]]},"
    "{\"op\": \"random.coin_flip\"" NODE_IF "\"inputs\": []},"
    "{\"op\": \"resize\", \"name\": \"resize\"" NODE_IF "\"inputs\": [[5, 0]],"
    " \"args\": {\"size\": [8, 8]}},"
    "{\"op\": \"flip\"" NODE_IF "\"inputs\": [[7, 0]],"
    " \"args\": {\"horizontal\": {\"edge\": [6, 0]}}},"
    "{\"op\": \"constant\"" NODE_UNLESS "\"args\": {\"idata\": [9], \"dtype\": 0,"
    " \"shape\": [8, 8, 3], \"layout\": \"HWC\"}},"
    "{\"op\": \"random.uniform\", \"name\": \"noise\"" NODE_UNLESS
    "\"args\": {\"range\": [0, 200], \"dtype\": 0, \"shape\": [3]}},"
    "{\"op\": \"_arithmetic\", \"name\": \"sum\"" NODE_UNLESS
    "\"inputs\": [[9, 0], [10, 0]], \"args\": {\"op\": \"add\"}},"
    "{\"op\": \"_conditional.merge\", \"inputs\": [[8, 0], [11, 0]],"
    " \"args\": {\"predicate\": {\"edge\": [4, 0]}}}"
    "], \"outputs\": [[12, 0], [0, 1]]}";

static hr_status start(const char *text, const hr_pipeline_options *options, hr_pipeline **p)
{
    hr_graph *g;
    HR_TRY(hr_graph_parse(&g, text, strlen(text), &error));
    hr_status status = hr_pipeline_create(p, g, options, &error);
    hr_graph_destroy(g);
    return status;
}

static hr_status start_branches(const fixture *f, const hr_pipeline_options *options,
                                hr_pipeline **p)
{
    char text[4096];
    snprintf(text, sizeof(text), branches, f->dir);
    return start(text, options, p);
}

static int32_t label_of(const hr_outputs *o, int32_t i)
{
    return *(const int32_t *)hr_batch_tensor(hr_outputs_batch(o, 1), i)->data;
}

/* Number of samples that the node of this name ran for. */
static int samples_of(hr_pipeline *p, const char *name)
{
    char *json = NULL, key[64];
    int n = -1;
    if (hr_pipeline_stats(p, &json, &error) != HR_STATUS_OK)
        return -1;
    snprintf(key, sizeof(key), "\"name\": \"%s\", \"samples\": ", name);
    const char *at = strstr(json, key);
    if (at)
        n = atoi(at + strlen(key));
    hr_string_free(json);
    return n;
}

static bool hash_epoch(const fixture *f, int batch, int threads, bool fuse, uint64_t *hashes)
{
    hr_pipeline_options options = fixture_options(batch, threads);
    hr_pipeline *p;
    options.fuse = fuse;
    if (start_branches(f, &options, &p) != HR_STATUS_OK)
        return false;
    for (int done = 0; done < 2 * FILES;) {
        hr_outputs *out;
        if (hr_pipeline_run(p, -1, &out, &error) != HR_STATUS_OK)
            return false;
        for (int32_t i = 0; i < batch && done < 2 * FILES; i++)
            hashes[done++] = fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), i));
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
    return true;
}

TEST(same_bytes_for_any_threads_and_batches)
{
    fixture f;
    uint64_t expected[2 * FILES], got[2 * FILES];
    static const int ways[][3] = {{7, 4, 1}, {40, 2, 1}, {5, 3, 0}, {64, 4, 0}};
    fixture_make(&f, FILES);
    CHECK(hash_epoch(&f, 1, 1, true, expected));
    for (size_t k = 0; k < HR_COUNT_OF(ways); k++) {
        CHECK(hash_epoch(&f, ways[k][0], ways[k][1], ways[k][2], got));
        CHECK(memcmp(expected, got, sizeof(got)) == 0);
    }
    CHECK(expected[0] != expected[1]);
    fixture_remove(&f);
}

TEST(only_the_taken_branch_runs)
{
    fixture f;
    hr_pipeline *p;
    hr_outputs *out;
    hr_tensor whole;
    fixture_make(&f, FILES);
    for (int i = 0; i < FILES / 4; i++) /* class 0 is never decoded */
        fixture_break(&f, i, "no image");
    hr_pipeline_options options = fixture_options(FILES, 4);
    options.prefetch_queue_depth = 1;
    CHECK_OK(start_branches(&f, &options, &p), error);
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    hr_pipeline_destroy(p); /* before it schedules more iterations */
    CHECK(hr_batch_dense(hr_outputs_batch(out, 0), &whole)); /* made in its output slots */
    CHECK(whole.shape.ndim == 4 && whole.shape.extent[0] == FILES);
    for (int32_t i = 0; i < FILES; i++) {
        const unsigned char *pixels = hr_batch_tensor(hr_outputs_batch(out, 0), i)->data;
        bool same = true;
        for (int k = 3; k < 8 * 8 * 3; k++)
            same = same && pixels[k] == pixels[k % 3];
        CHECK(same == (label_of(out, i) == 0) && (!same || pixels[0] >= 9));
    }
    hr_outputs_unref(out);
    fixture_remove(&f);
}

TEST(statistics_count_taken_branches)
{
    fixture f;
    hr_pipeline *p;
    hr_outputs *out;
    fixture_make(&f, FILES);
    hr_pipeline_options options = fixture_options(FILES, 3);
    options.fuse = false;
    CHECK_OK(start_branches(&f, &options, &p), error);
    for (int k = 0; k < 3; k++) {
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        hr_outputs_unref(out);
    }
    /* Later batches may be partly processed, and processing continues between these calls. */
    int resized = samples_of(p, "resize"), decoded = samples_of(p, "decode");
    int sum = samples_of(p, "sum"), noise = samples_of(p, "noise");
    CHECK(resized >= 90 && decoded >= resized && decoded <= 150); /* three of four samples */
    CHECK(sum >= 30 && noise >= sum && noise <= 50);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* Two files of class 1 are broken. With each policy, these samples and no others are bad. */
TEST(only_taken_branches_fail)
{
    fixture f;
    fixture_make(&f, FILES);
    for (int i = 0; i < FILES / 4 + 2; i++)
        fixture_break(&f, i, "no image");
    static const hr_on_error policies[] = {HR_ON_ERROR_RAISE, HR_ON_ERROR_REPLACE,
                                           HR_ON_ERROR_SKIP};
    for (size_t k = 0; k < HR_COUNT_OF(policies); k++) {
        hr_pipeline *p;
        hr_outputs *out;
        char *json;
        hr_pipeline_options options = fixture_options(FILES, 4);
        options.on_error = policies[k];
        options.prefetch_queue_depth = 1;
        CHECK_OK(start_branches(&f, &options, &p), error);
        hr_status status = hr_pipeline_run(p, -1, &out, &error);
        CHECK_OK(hr_pipeline_errors(p, &json, NULL), error);
        CHECK(strstr(json, "class1/f001") && !strstr(json, "class0"));
        hr_string_free(json);
        if (policies[k] == HR_ON_ERROR_RAISE) {
            CHECK(status != HR_STATUS_OK && strstr(error.message, "decode"));
        } else {
            bool replaced = policies[k] == HR_ON_ERROR_REPLACE;
            CHECK_OK(status, error);
            CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == (replaced ? FILES : FILES - 2));
            for (int32_t i = 0; i < hr_batch_size(hr_outputs_batch(out, 0)); i++) {
                const unsigned char *t = hr_batch_tensor(hr_outputs_batch(out, 0), i)->data;
                CHECK((memcmp(t, t + 3, 189) == 0) == (label_of(out, i) == 0));
            }
            hr_outputs_unref(out);
        }
        hr_pipeline_destroy(p);
    }
    fixture_remove(&f);
}

/* ---- fed pipelines ---- */

#define HEAD "{\"headrace_graph\": 1, \"nodes\": [{\"op\": \"external_source\"},"
#define GREATER(than)                                                                              \
    "{\"op\": \"_arithmetic\", \"inputs\": [[0, 0]], \"args\": {\"op\": \"gt\", \"const_side\": "  \
    "1, "                                                                                          \
    "\"const_type\": 6, \"ivalue\": " than "}},"
#define TRUTH(from, guard)                                                                         \
    "{\"op\": \"_conditional.validate_logical\", \"inputs\": [[" from ", 0]], "                    \
    "\"args\": {\"expression_name\": \"if\"}" guard "},"
#define ADD(name, v, guard)                                                                        \
    "{\"op\": \"_arithmetic\", \"name\": \"" name "\", \"inputs\": [[0, 0]], \"args\": {\"op\": "  \
    "\"add\", \"const_side\": 1, \"const_type\": 6, \"ivalue\": " v "}" guard "},"
#define MERGE(a, b, p, guard)                                                                      \
    "{\"op\": \"_conditional.merge\", \"inputs\": [[" a ", 0], [" b ", 0]], "                      \
    "\"args\": {\"predicate\": {\"edge\": [" p ", 0]}}" guard "}"
#define IF(p) ", \"guard\": [" p ", 0, true]"
#define UNLESS(p) ", \"guard\": [" p ", 0, false]"

static hr_status feed(hr_pipeline *p, const int32_t *values, int32_t n)
{
    hr_tensor t[64];
    hr_batch *batch;
    for (int32_t i = 0; i < n; i++) {
        hr_tensor_describe(&t[i], HR_DTYPE_INT32, (hr_shape){0}, NULL);
        t[i].data = (void *)&values[i];
    }
    HR_TRY(hr_batch_create(&batch, t, n, false, &error));
    hr_status status = hr_pipeline_feed(p, 0, &batch, 1, &error);
    hr_batch_unref(batch);
    return status;
}

/* x > 10 ? (x > 20 ? x + 2000 : x + 1000) : x + 100, all in cheap nodes, so that samples are
 * processed together. */
TEST(nested_branches)
{
    static const char text[] = HEAD GREATER("10") TRUTH("1", "") GREATER("20") TRUTH("3", IF("2"))
        ADD("c", "2000", IF("4")) ADD("b", "1000", UNLESS("4"))
            MERGE("5", "6", "4", IF("2")) "," ADD("a", "100", UNLESS("2"))
                MERGE("7", "8", "2", "") "], \"outputs\": [[9, 0], [2, 0]]}";
    hr_pipeline_options options = fixture_options(64, 2);
    hr_pipeline *p;
    CHECK_OK(start(text, &options, &p), error);
    for (int round = 0; round < 3; round++) {
        hr_outputs *out;
        int32_t values[32], n = 32 - 11 * round;
        for (int32_t i = 0; i < n; i++)
            values[i] = round == 2 ? 3 : i;
        CHECK_OK(feed(p, values, n), error);
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        for (int32_t i = 0; i < n; i++) {
            int32_t x = values[i];
            const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(out, 0), i);
            CHECK(*(int32_t *)t->data == x + (x > 20 ? 2000 : x > 10 ? 1000 : 100));
            CHECK(*(bool *)hr_batch_tensor(hr_outputs_batch(out, 1), i)->data == (x > 10));
        }
        hr_outputs_unref(out);
    }
    CHECK(samples_of(p, "a") == 11 + 11 + 10 && samples_of(p, "b") == 10 + 10);
    CHECK(samples_of(p, "c") == 11);
    hr_pipeline_destroy(p);
}

TEST(branches_must_agree)
{
    static const char text[] = HEAD GREATER("10") TRUTH("1", "")
        ADD("a", "1", IF("2")) "{\"op\": \"cast\", \"inputs\": [[0, 0]], \"args\": {\"dtype\": "
                               "9}" UNLESS("2") "}," MERGE("3", "4", "2",
                                                           "") "], \"outputs\": [[5, 0]]}";
    hr_pipeline_options options = fixture_options(8, 1);
    hr_pipeline *p;
    hr_outputs *out;
    CHECK_OK(start(text, &options, &p), error);
    CHECK_OK(feed(p, (const int32_t[]){1, 2, 3}, 3), error); /* all take one branch: FLOAT */
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    CHECK(hr_batch_tensor(hr_outputs_batch(out, 0), 0)->dtype == HR_DTYPE_FLOAT);
    hr_outputs_unref(out);
    CHECK_OK(feed(p, (const int32_t[]){1, 12, 3}, 3), error);
    CHECK(hr_pipeline_run(p, -1, &out, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "_conditional.merge") && strstr(error.message, "branches") &&
          strstr(error.message, "FLOAT, 0-d") && strstr(error.message, "INT32, 0-d"));
    hr_pipeline_destroy(p);
}

TEST(a_guard_is_a_truth_value)
{
    static const char text[] = HEAD ADD("a", "1", IF("0")) ADD("b", "1", UNLESS("0"))
        MERGE("1", "2", "0", "") "], \"outputs\": [[3, 0]]}";
    hr_pipeline_options options = fixture_options(8, 1);
    hr_pipeline *p;
    hr_outputs *out;
    CHECK_OK(start(text, &options, &p), error);
    CHECK_OK(feed(p, (const int32_t[]){1, 2, 3}, 3), error);
    CHECK(hr_pipeline_run(p, -1, &out, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "'a'") && strstr(error.message, "BOOL scalar"));
    hr_pipeline_destroy(p);
}

TEST_MAIN
