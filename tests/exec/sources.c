/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Several sources and several stages, combined with bad samples, views and a lack of memory. */
#include <stdatomic.h>
#include <sys/resource.h>

#include "exec/fixture.h"
#include "exec/source.h"
#include "graph/graph.h"
#include "graph/value.h"
#include "test.h"

#define FILES 24

static const hr_arg_def no_args[] = {HR_ARG_END};

/* ---- the test's own operators ---- */

static hr_status infer_first(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, NULL);
    return HR_STATUS_OK;
}

/* Refuses the number 13 and all numbers from 100 on. */
static hr_status run_picky(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t v = *(const int32_t *)calls[i].in[0].data;
        if (v == 13 || v >= 100)
            return hr_fail(error, HR_STATUS_ERROR, "does not like %d", v);
        *(int32_t *)calls[i].out[0].data = v;
    }
    return HR_STATUS_OK;
}

static int32_t ordered_next;
static bool ordered_broken;

static hr_status run_ordered(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        int32_t v = *(const int32_t *)calls[i].in[0].data;
        ordered_broken = ordered_broken || v != ordered_next++ % FILES;
        *(int32_t *)calls[i].out[0].data = v;
    }
    return HR_STATUS_OK;
}

#define OP_INT(op, what, run, more)                                                                \
    {                                                                                              \
        HR_OP_ABI, .name = (op), .doc = (what), .flags = (more), .args = no_args,                  \
                   .in = HR_INPUTS({"data", NULL}), .infer = infer_first, .run_cpu = (run)         \
    }

static const hr_op_def op_picky = OP_INT("test.picky", "Refuses some.", run_picky, 0);
static const hr_op_def op_ordered = OP_INT("test.ordered", "In order.", run_ordered, HR_OP_ORDERED);

/* ---- graphs ---- */

static hr_status add(hr_graph *g, const char *op, const hr_edge *in, const hr_arg_value *args,
                     int32_t arg_count, int32_t *node, hr_error *error)
{
    hr_node_desc desc = {
        .op = op, .inputs = in, .input_count = in ? 1 : 0, .args = args, .arg_count = arg_count};
    return hr_graph_add_node(g, &desc, node, error);
}

static hr_status add_own(hr_graph *g, const hr_op_def *def, hr_edge in, int32_t *node,
                         hr_error *error)
{
    hr_node_desc desc = {.op = def->name, .inputs = &in, .input_count = 1};
    return hr__graph_add(g, def, &desc, node, error);
}

/* Files in order, each with its number as label. */
static hr_status add_reader(hr_graph *g, const fixture *f, int32_t *node, hr_error *error)
{
    static char names[FILES][128];
    const char *files[FILES];
    size_t skip = strlen(f->dir) + 1;
    for (int i = 0; i < FILES; i++)
        files[i] = fixture_path(f, i, names[i]) + skip;
    hr_arg_value args[] = {
        {"file_root", {.kind = HR_VALUE_STRING, .u.s = f->dir}},
        {"files", {.kind = HR_VALUE_STRINGS, .count = FILES, .u.strings = files}}};
    return add(g, "readers.file", NULL, args, 2, node, error);
}

static hr_status add_resized(hr_graph *g, int32_t reader, int32_t *node, hr_error *error)
{
    static const double size[] = {8, 8};
    hr_arg_value args[] = {{"size", {.kind = HR_VALUE_FLOATS, .count = 2, .u.floats = size}}};
    HR_TRY(add(g, "decoders.image", &(hr_edge){reader, 0}, NULL, 0, node, error));
    return add(g, "resize", &(hr_edge){*node, 0}, args, 1, node, error);
}

static hr_status start(hr_graph *g, const hr_edge *outputs, int32_t count,
                       const hr_pipeline_options *options, hr_pipeline **p, hr_error *error)
{
    hr_status status = hr_graph_set_outputs(g, outputs, count, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(p, g, options, error);
    hr_graph_destroy(g);
    return status;
}

static const char *info_at(const hr_outputs *o, int32_t output, int32_t i)
{
    const char *info = hr_batch_tensor(hr_outputs_batch(o, output), i)->source_info;
    return info ? info : "";
}

static int32_t int_at(const hr_outputs *o, int32_t output, int32_t i)
{
    return *(const int32_t *)hr_batch_tensor(hr_outputs_batch(o, output), i)->data;
}

static hr_batch *int_batch(const int32_t *values, int32_t n)
{
    hr_tensor t[16];
    hr_batch *batch = NULL;
    for (int32_t i = 0; i < n; i++) {
        hr_tensor_describe(&t[i], HR_DTYPE_INT32, (hr_shape){0}, NULL);
        t[i].data = (void *)&values[i];
    }
    return hr_batch_create(&batch, t, n, false, NULL) == HR_STATUS_OK ? batch : NULL;
}

/* ---- views ---- */

TEST(views_stay_what_they_are_when_samples_are_skipped)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *g;
    hr_outputs *out;
    int32_t reader, images, view, skipped = 0;
    hr_pipeline_options options = fixture_options(6, 2);
    options.on_error = HR_ON_ERROR_SKIP;
    fixture_make(&f, FILES);
    fixture_break(&f, 0, "junk");
    fixture_break(&f, 8, "junk");
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(add_reader(g, &f, &reader, &error), error);
    CHECK_OK(add_resized(g, reader, &images, &error), error);
    CHECK_OK(add(g, "copy", &(hr_edge){images, 0}, NULL, 0, &view, &error), error);
    hr_edge outputs[] = {{images, 0}, {view, 0}, {reader, 1}};
    CHECK_OK(start(g, outputs, 3, &options, &p, &error), error);
    for (int it = 0; it < FILES / 6; it++) {
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        int32_t n = hr_batch_size(hr_outputs_batch(out, 0));
        skipped += 6 - n;
        for (int32_t i = 0; i < n; i++) {
            CHECK(fixture_number(out, i) == int_at(out, 2, i));
            CHECK(fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), i)) ==
                  fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 1), i)));
        }
        hr_outputs_unref(out);
    }
    CHECK(skipped == 2);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* ---- two readers ---- */

/* Images of `a` and the bytes of `b`, in pairs. */
static hr_status start_pair(const fixture *a, const fixture *b, const hr_pipeline_options *options,
                            hr_pipeline **p, hr_error *error)
{
    hr_graph *g;
    int32_t first = 0, second = 0, images = 0, others = 0;
    HR_TRY(hr_graph_create(&g, error));
    hr_status status = add_reader(g, a, &first, error);
    if (status == HR_STATUS_OK)
        status = add_reader(g, b, &second, error);
    if (status == HR_STATUS_OK)
        status = add_resized(g, first, &images, error);
    if (status == HR_STATUS_OK)
        status = add_resized(g, second, &others, error);
    hr_edge outputs[] = {{images, 0}, {others, 0}, {first, 1}, {second, 1}};
    return start(g, outputs, 4, options, p, error);
}

TEST(a_replaced_sample_changes_at_all_readers)
{
    fixture a, b;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    int replaced = 0;
    hr_pipeline_options options = fixture_options(4, 3);
    options.on_error = HR_ON_ERROR_REPLACE;
    fixture_make(&a, FILES);
    fixture_make(&b, FILES);
    fixture_break(&a, 3, "junk");
    fixture_break(&b, 10, "junk");
    CHECK_OK(start_pair(&a, &b, &options, &p, &error), error);
    for (int it = 0; it < FILES / 4; it++) {
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        for (int i = 0; i < 4; i++) {
            int number = int_at(out, 2, i);
            CHECK(number == int_at(out, 3, i) && number != 3 && number != 10);
            CHECK(strcmp(info_at(out, 0, i), info_at(out, 1, i)) == 0);
            CHECK(fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), i)) ==
                  fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 1), i)));
            replaced += number != it * 4 + i;
        }
        hr_outputs_unref(out);
    }
    CHECK(replaced == 2);
    hr_pipeline_destroy(p);
    fixture_remove(&a);
    fixture_remove(&b);
}

TEST(errors_name_the_file_of_their_reader)
{
    fixture a, b;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    char path[128], *json;
    hr_pipeline_options options = fixture_options(4, 2);
    fixture_make(&a, FILES);
    fixture_make(&b, FILES);
    unlink(fixture_path(&b, 1, path));
    fixture_break(&b, 6, "junk"); /* class1 */
    hr_graph *g;
    int32_t first, second, images;
    const char *masks[] = {"class0/f0000.ppm", "class0/f0001.ppm", "class1/f0006.ppm",
                           "class1/f0007.ppm"};
    hr_arg_value args[] = {{"file_root", {.kind = HR_VALUE_STRING, .u.s = b.dir}},
                           {"files", {.kind = HR_VALUE_STRINGS, .count = 4, .u.strings = masks}}};
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(add_reader(g, &a, &first, &error), error);
    CHECK_OK(add(g, "readers.file", NULL, args, 2, &second, &error), error);
    CHECK_OK(add_resized(g, second, &images, &error), error);
    hr_edge outputs[] = {{first, 0}, {images, 0}};
    options.on_error = HR_ON_ERROR_SKIP;
    CHECK_OK(start(g, outputs, 2, &options, &p, &error), error);
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    CHECK(hr_batch_size(hr_outputs_batch(out, 1)) == 2);
    CHECK(strcmp(info_at(out, 0, 1), "class0/f0003.ppm") == 0);
    CHECK(strcmp(info_at(out, 1, 1), "class1/f0007.ppm") == 0);
    hr_outputs_unref(out);
    CHECK_OK(hr_pipeline_errors(p, &json, &error), error);
    CHECK(strstr(json, "\"source\": \"class0/f0001.ppm\"") &&
          strstr(json, "\"source\": \"class1/f0006.ppm\""));
    CHECK(strstr(json, "class1/f0006.ppm: ") && !strstr(json, "class0/f0002.ppm"));
    hr_string_free(json);
    hr_pipeline_destroy(p);
    fixture_remove(&a);
    fixture_remove(&b);
}

TEST(a_long_path_leaves_room_for_the_reason)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *g;
    hr_outputs *out;
    int32_t reader;
    static char name[3000];
    for (size_t i = 0; i < sizeof(name) - 1; i++)
        name[i] = i % 100 == 99 ? '/' : 'd';
    const char *files[] = {name};
    hr_arg_value args[] = {{"files", {.kind = HR_VALUE_STRINGS, .count = 1, .u.strings = files}}};
    hr_pipeline_options options = fixture_options(1, 1);
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(add(g, "readers.file", NULL, args, 1, &reader, &error), error);
    CHECK_OK(start(g, &(hr_edge){reader, 0}, 1, &options, &p, &error), error);
    CHECK(hr_pipeline_run(p, -1, &out, &error) == HR_STATUS_IO);
    CHECK(strstr(error.message, "cannot be opened: No such file"));
    hr_pipeline_destroy(p);
}

/* ---- stages ---- */

TEST(no_sample_goes_through_an_ordered_stage_twice)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *g;
    hr_outputs *out;
    char *json;
    int32_t reader, ordered, picky, failed = 0;
    hr_pipeline_options options = fixture_options(4, 4);
    options.on_error = HR_ON_ERROR_REPLACE;
    options.prefetch_queue_depth = 4;
    ordered_next = 0;
    ordered_broken = false;
    fixture_make(&f, FILES);
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(add_reader(g, &f, &reader, &error), error);
    CHECK_OK(add_own(g, &op_ordered, (hr_edge){reader, 1}, &ordered, &error), error);
    CHECK_OK(add_own(g, &op_picky, (hr_edge){ordered, 0}, &picky, &error), error);
    hr_edge outputs[] = {{picky, 0}, {reader, 1}};
    CHECK_OK(start(g, outputs, 2, &options, &p, &error), error);
    for (int it = 0; it < 3 * FILES / 4; it++) {
        hr_status status = hr_pipeline_run(p, -1, &out, &error);
        if (status == HR_STATUS_OK) {
            CHECK(int_at(out, 0, 0) == it * 4 % FILES);
            hr_outputs_unref(out);
        } else {
            CHECK(strstr(error.message, "does not like 13"));
            failed++;
        }
    }
    CHECK(failed == 3);
    CHECK_OK(hr_pipeline_errors(p, &json, &error), error);
    CHECK(strstr(json, "\"raised\"") && !strstr(json, "\"replaced\""));
    hr_string_free(json);
    hr_pipeline_destroy(p);
    CHECK(!ordered_broken);
    fixture_remove(&f);
}

TEST(skipping_everything_without_a_source_ends)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *g;
    hr_outputs *out;
    int32_t constant, picky;
    int64_t value = 100;
    hr_arg_value args[] = {{"idata", {.kind = HR_VALUE_INTS, .count = 1, .u.ints = &value}}};
    hr_pipeline_options options = fixture_options(4, 2);
    options.on_error = HR_ON_ERROR_SKIP;
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(add(g, "constant", NULL, args, 1, &constant, &error), error);
    CHECK_OK(add_own(g, &op_picky, (hr_edge){constant, 0}, &picky, &error), error);
    CHECK_OK(start(g, &(hr_edge){picky, 0}, 1, &options, &p, &error), error);
    for (int i = 0; i < 3; i++)
        CHECK(hr_pipeline_run(p, HANG_MS, &out, &error) == HR_STATUS_ERROR &&
              strstr(error.message, "skip"));
    hr_pipeline_destroy(p);
}

/* ---- fed sources together with a reader ---- */

TEST(fed_data_goes_with_a_readers_samples)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *g;
    hr_outputs *out;
    int32_t fed, reader, images, flipped, position = 0;
    hr_pipeline_options options = fixture_options(4, 3);
    fixture_make(&f, FILES);
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(add(g, "external_source", NULL, NULL, 0, &fed, &error), error);
    CHECK_OK(add_reader(g, &f, &reader, &error), error);
    CHECK_OK(add_resized(g, reader, &images, &error), error);
    hr_arg_value args[] = {{"horizontal", {.kind = HR_VALUE_EDGE, .u.edge = {fed, 0}}}};
    CHECK_OK(add(g, "flip", &(hr_edge){images, 0}, args, 1, &flipped, &error), error);
    hr_edge outputs[] = {{images, 0}, {flipped, 0}, {reader, 1}, {fed, 0}};
    CHECK_OK(start(g, outputs, 4, &options, &p, &error), error);
    for (int32_t it = 0; it < 5; it++) {
        int32_t n = it == 1 ? 2 : it == 3 ? 1 : 4, values[] = {it % 2, 1, 0, 1};
        hr_batch *batch = int_batch(values, n);
        CHECK_OK(hr_pipeline_feed(p, fed, &batch, 1, &error), error);
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == n && hr_outputs_positions(out) == n);
        for (int32_t i = 0; i < n; i++) {
            const uint8_t *a = hr_batch_tensor(hr_outputs_batch(out, 0), i)->data;
            const uint8_t *b = hr_batch_tensor(hr_outputs_batch(out, 1), i)->data;
            CHECK(int_at(out, 2, i) == position++ && int_at(out, 3, i) == values[i]);
            for (int k = 0; k < 8 * 8; k++)
                CHECK(memcmp(b + 3 * k, a + 3 * (values[i] ? k / 8 * 8 + 7 - k % 8 : k), 3) == 0);
        }
        /* The fed batch is returned without a copy, but as another batch object. */
        CHECK(hr_batch_tensor(hr_outputs_batch(out, 3), 0)->data ==
              hr_batch_tensor(batch, 0)->data);
        CHECK(hr_outputs_batch(out, 3) != batch);
        hr_outputs_unref(out);
        hr_batch_unref(batch);
    }
    CHECK(hr_pipeline_run(p, -1, &out, &error) == HR_STATUS_INDEX);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

static atomic_int released; /* workers release in parallel */

static void release_and_ask(void *context)
{
    hr_pipeline **p = context;
    released += hr_pipeline_pending(*p) >= 0;
}

/* Releasing fed memory may call back into the library. */
TEST(fed_memory_is_released_without_a_lock)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *g;
    hr_outputs *out;
    int32_t fed, picky, values[3] = {100, 13, 5};
    hr_pipeline_options options = fixture_options(4, 2);
    options.on_error = HR_ON_ERROR_SKIP;
    released = 0;
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK_OK(add(g, "external_source", NULL, NULL, 0, &fed, &error), error);
    CHECK_OK(add_own(g, &op_picky, (hr_edge){fed, 0}, &picky, &error), error);
    CHECK_OK(start(g, &(hr_edge){picky, 0}, 1, &options, &p, &error), error);
    for (int i = 0; i < 3; i++) { /* the first two batches lose their only sample */
        hr_buffer *buffer;
        hr_batch *batch;
        hr_tensor t;
        CHECK_OK(hr_buffer_adopt(&buffer, &values[i], 4, release_and_ask, &p, &error), error);
        hr_tensor_describe(&t, HR_DTYPE_INT32, (hr_shape){0}, NULL);
        t.data = &values[i];
        t.buffer = buffer;
        CHECK_OK(hr_batch_create(&batch, &t, 1, true, &error), error);
        hr_buffer_unref(buffer);
        CHECK_OK(hr_pipeline_feed(p, fed, &batch, 1, &error), error);
        hr_batch_unref(batch);
    }
    for (int i = 0; i < 3; i++) { /* one result for each batch that was fed */
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        CHECK(hr_outputs_positions(out) == 1);
        CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == (i == 2));
        CHECK(i < 2 || int_at(out, 0, 0) == 5);
        CHECK(released > i);
        hr_outputs_unref(out);
    }
    CHECK(released == 3);
    hr_pipeline_destroy(p);
}

/* ---- a lack of memory ---- */

TEST(what_memory_forbade_is_scheduled_later)
{
    fixture f;
    int failures = 0;
    fixture_make(&f, FILES);
    for (int n = 0; n < 160; n += 3) {
        hr_error error = {0};
        hr_pipeline *p;
        hr_outputs *out;
        fixture_graph o = {0};
        hr_pipeline_options options = fixture_options(3, 2);
        int64_t expect = 0;
        hr_alloc_fail_after(-1); /* known to the threads that are started now */
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
        hr_alloc_fail_after(n);
        for (int i = 0; i < 16; i++) {
            hr_status status = hr_pipeline_run(p, HANG_MS, &out, &error);
            CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY);
            failures += status != HR_STATUS_OK;
            CHECK(status == HR_STATUS_OK || i < 15); /* the pipeline continues */
            if (status != HR_STATUS_OK)
                continue;
            /* At most the failed batch is missing; no batch is incomplete or delivered twice. */
            CHECK(hr_outputs_iteration(out) >= expect && hr_outputs_iteration(out) <= expect + 1);
            expect = hr_outputs_iteration(out) + 1;
            for (int k = 0; k < 3; k++)
                CHECK(fixture_number(out, k) == (hr_outputs_iteration(out) * 3 + k) % FILES);
            hr_outputs_unref(out);
        }
        hr_alloc_fail_after(-1);
        hr_pipeline_destroy(p);
    }
    CHECK(failures > 0);
    fixture_remove(&f);
}

TEST(no_file_is_bad_because_descriptors_lack)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    fixture_graph o = {.random_shuffle = true};
    struct rlimit before, none;
    hr_pipeline_options options = fixture_options(4, 2);
    options.on_error = HR_ON_ERROR_SKIP;
    options.prefetch_queue_depth = 1;
    fixture_make(&f, FILES);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    none = before;
    none.rlim_cur = 0;
    int failed = 0, complete = 0;
    /* What was read ahead comes first: the number of batches until a failure is open. */
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    for (int it = 0; it < 10 * FILES && complete < FILES; it++) {
        hr_status status = hr_pipeline_run(p, -1, &out, &error);
        CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY);
        if (status == HR_STATUS_NO_MEMORY && !failed++)
            CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        if (status == HR_STATUS_OK) {
            CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == 4);
            CHECK(hr_outputs_positions(out) == 4); /* no file was skipped */
            complete += failed > 0;
            hr_outputs_unref(out);
        }
    }
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(failed > 0 && complete == FILES);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* A sparse file that is larger than memory is treated like any other bad file. */
TEST(a_file_larger_than_memory_is_skipped)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    char path[128], *json;
    fixture_graph o = {0};
    hr_pipeline_options options = fixture_options(4, 2);
    options.on_error = HR_ON_ERROR_SKIP;
    options.host_memory_limit = 1 << 20;
    fixture_make(&f, FILES);
    CHECK(truncate(fixture_path(&f, 1, path), (off_t)1 << 32) == 0);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == 3 && fixture_number(out, 1) == 2);
    hr_outputs_unref(out);
    CHECK_OK(hr_pipeline_errors(p, &json, &error), error);
    CHECK(strstr(json, "host_memory_limit"));
    hr_string_free(json);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* The first batches do not wait for the bytes of many later ones. */
TEST(reads_ahead_what_was_taken_before)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 1);
    options.run_here = true; /* no other thread schedules */
    options.prefetch_queue_depth = 2;
    fixture_make(&f, FILES);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    for (int32_t taken = 4; taken < 4 * 60; taken += 4) {
        CHECK_OK(hr_pipeline_run(p, HANG_MS, &out, &error), error);
        hr_outputs_unref(out);
        int32_t ahead = p->sources[0].ahead_count, scheduled = 4 * options.prefetch_queue_depth;
        CHECK(ahead >= HR_MIN(HR_MAX(taken - scheduled, 16), 128));
        CHECK(ahead <= HR_MIN(HR_MAX(taken, 16), 128));
    }
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

TEST(options_of_another_size_are_refused)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    fixture_graph o = {0};
    hr_pipeline_options options = fixture_options(3, 2);
    fixture_make(&f, 4);
    options.struct_size = sizeof(size_t);
    CHECK(fixture_pipeline(&f, &o, &options, &p, &error) == HR_STATUS_VALUE &&
          strstr(error.message, "struct_size"));
    fixture_remove(&f);
}

TEST_MAIN
