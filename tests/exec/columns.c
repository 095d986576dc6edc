/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Cheap nodes over columns: samples that are alike are processed in one call, and the others are
 * still right. How often an operator is called does not depend on how busy the machine is, so the
 * tests count calls. */
#include "exec/fixture.h"
#include "graph/graph.h"
#include "graph/value.h"
#include "test.h"

#define BATCH 64

typedef struct twice_args {
    int32_t add;
} twice_args;

static const hr_arg_def twice_arg_defs[] = {
    HR_ARG(twice_args, add, INT, HR_ARG_PER_SAMPLE, "0", "Added to the double."), HR_ARG_END};

static int32_t infers, runs; /* calls; one worker */

static hr_status twice_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    infers++;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status twice_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t k = 0; k < n; k++) {
        const hr_op_call *c = &calls[k];
        const int32_t *in = c->in[0].data;
        int32_t *out = c->out[0].data;
        size_t count = 0;
        hr_shape_volume(&c->in[0].shape, &count);
        runs++;
        for (size_t i = 0; i < count * (size_t)c->count; i++) {
            if (in[i] < 0)
                return hr_fail(error, HR_STATUS_VALUE, "%d is negative", in[i]);
            out[i] = 2 * in[i] + ((const twice_args *)c->args)->add;
        }
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_twice = {
    HR_OP_ABI,
    .name = "test.twice",
    .doc = "Doubles; refuses negative numbers.",
    .flags = HR_OP_CHEAP | HR_OP_COLUMNS,
    .args = twice_arg_defs,
    .args_size = sizeof(twice_args),
    .in = HR_INPUTS({"data", NULL}),
    .infer = twice_infer,
    .run_cpu = twice_run,
};

/* Adds 1; samples that are 1000 fail. */
static hr_status next_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t k = 0; k < n; k++) {
        hr_op_call *c = &calls[k];
        const int32_t *in = c->in[0].data;
        int32_t *out = hr_arena_alloc(c->arena, (size_t)c->count * sizeof(*out), error);
        if (!out)
            return HR_STATUS_NO_MEMORY;
        for (int32_t i = 0; i < c->count; i++) {
            out[i] = in[i] + 1;
            if (in[i] == 1000)
                HR_TRY(hr_task_fail(c->task, HR_STATUS_OK, "it is 1000", error));
        }
        hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, (hr_shape){0}, NULL);
        c->out[0].data = out;
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_next = {
    HR_OP_ABI,
    .name = "test.next",
    .doc = "Adds 1; 1000 fails.",
    .flags = HR_OP_CHEAP | HR_OP_COLUMNS,
    .in = HR_INPUTS({"data", NULL}),
    .run_batch = next_run,
};

typedef struct fed { /* a pipeline with a fed source */
    hr_graph *graph;
    hr_pipeline *pipeline;
    int32_t source, last; /* nodes */
} fed;

static hr_status fed_begin(fed *f, hr_error *error)
{
    hr_node_desc desc = {.op = "external_source", .name = "in"};
    HR_TRY(hr_graph_create(&f->graph, error));
    HR_TRY(hr_graph_add_node(f->graph, &desc, &f->source, error));
    f->last = f->source;
    infers = runs = 0;
    return HR_STATUS_OK;
}

/* Adds a node after the last one; `add`: the node whose values are added, or -1. */
static hr_status fed_twice(fed *f, int32_t add, hr_error *error)
{
    hr_edge in = {f->last, 0};
    hr_arg_value arg = {"add", {.kind = HR_VALUE_EDGE, .u.edge = {add, 0}}};
    hr_node_desc desc = {
        .op = "test.twice", .inputs = &in, .input_count = 1, .args = &arg, .arg_count = add >= 0};
    return hr__graph_add(f->graph, &op_twice, &desc, &f->last, error);
}

static hr_status fed_builtin(fed *f, const char *op, const hr_edge *in, int32_t n,
                             const hr_arg_value *args, int32_t arg_count, hr_error *error)
{
    hr_node_desc desc = {
        .op = op, .inputs = in, .input_count = n, .args = args, .arg_count = arg_count};
    return hr_graph_add_node(f->graph, &desc, &f->last, error);
}

static hr_status fed_build(fed *f, hr_on_error on_error, hr_error *error)
{
    hr_pipeline_options options = fixture_options(BATCH, 1);
    hr_edge output = {f->last, 0};
    options.on_error = on_error;
    options.prefetch_queue_depth = 1;
    hr_status status = hr_graph_set_outputs(f->graph, &output, 1, error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(&f->pipeline, f->graph, &options, error);
    hr_graph_destroy(f->graph);
    return status;
}

/* Runs one iteration. Sample i is `extent(i)` numbers from `values[i]` on; a scalar if that is 0.
 */
static hr_status fed_run(fed *f, const int32_t *values, int (*extent)(int i), hr_outputs **out,
                         hr_error *error)
{
    static int32_t numbers[BATCH][8];
    hr_tensor t[BATCH];
    hr_batch *batch;
    for (int i = 0; i < BATCH; i++) {
        int n = extent ? extent(i) : 0;
        hr_tensor_describe(&t[i], HR_DTYPE_INT32, extent ? (hr_shape){1, {n}} : (hr_shape){0},
                           NULL);
        for (int k = 0; k < 8; k++)
            numbers[i][k] = values[i] + k;
        t[i].data = numbers[i];
    }
    HR_TRY(hr_batch_create(&batch, t, BATCH, false, error));
    hr_status status = hr_pipeline_feed(f->pipeline, f->source, &batch, 1, error);
    hr_batch_unref(batch);
    return status == HR_STATUS_OK ? hr_pipeline_run(f->pipeline, -1, out, error) : status;
}

static int32_t int_at(const hr_outputs *o, int i, int k)
{
    const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(o, 0), i);
    return t && t->dtype == HR_DTYPE_INT32 ? ((const int32_t *)t->data)[k] : INT32_MIN;
}

static void count_up(int32_t *values)
{
    for (int i = 0; i < BATCH; i++)
        values[i] = 3 * i;
}

TEST(a_column_is_one_call)
{
    hr_error error = {0};
    hr_outputs *out;
    int32_t values[BATCH];
    fed f;
    count_up(values);
    CHECK_OK(fed_begin(&f, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    hr_edge in = {f.last, 0};
    CHECK_OK(fed_builtin(&f, "copy", &in, 1, NULL, 0, &error), error); /* a view is one, too */
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_build(&f, HR_ON_ERROR_RAISE, &error), error);
    for (int round = 1; round < 4; round++) {
        CHECK_OK(fed_run(&f, values, NULL, &out, &error), error);
        CHECK(infers == 3 * round && runs == 3 * round);
        for (int i = 0; i < BATCH; i++)
            CHECK(int_at(out, i, 0) == 8 * values[i]);
        hr_tensor dense;
        CHECK(hr_batch_dense(hr_outputs_batch(out, 0), &dense));
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(f.pipeline);
}

static int one_or_three(int i)
{
    return i % 5 == 2 ? 1 : 3;
}

TEST(samples_of_other_shapes_are_called_alone)
{
    hr_error error = {0};
    hr_outputs *out;
    int32_t values[BATCH];
    fed f;
    count_up(values);
    CHECK_OK(fed_begin(&f, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    hr_edge in[] = {{f.last, 0}, {f.source, 0}};
    hr_arg_value op = {"op", {.kind = HR_VALUE_STRING, .u.s = "add"}};
    CHECK_OK(fed_builtin(&f, "_arithmetic", in, 2, &op, 1, &error), error);
    CHECK_OK(fed_build(&f, HR_ON_ERROR_RAISE, &error), error);
    CHECK_OK(fed_run(&f, values, one_or_three, &out, &error), error);
    CHECK(infers == BATCH);
    for (int i = 0; i < BATCH; i++) {
        const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(out, 0), i);
        CHECK(t->shape.extent[0] == one_or_three(i));
        for (int k = 0; k < one_or_three(i); k++)
            CHECK(int_at(out, i, k) == 3 * (values[i] + k));
    }
    hr_outputs_unref(out);
    hr_pipeline_destroy(f.pipeline);
}

TEST(large_samples_are_tasks_of_their_own)
{
    static int32_t large[BATCH][5000];
    hr_error error = {0};
    hr_outputs *out;
    hr_tensor t[BATCH];
    hr_batch *batch;
    fed f;
    for (int i = 0; i < BATCH; i++) {
        large[i][4999] = i;
        hr_tensor_describe(&t[i], HR_DTYPE_INT32, (hr_shape){1, {5000}}, NULL);
        t[i].data = large[i];
    }
    CHECK_OK(fed_begin(&f, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_build(&f, HR_ON_ERROR_RAISE, &error), error);
    CHECK_OK(hr_batch_create(&batch, t, BATCH, false, &error), error);
    CHECK_OK(hr_pipeline_feed(f.pipeline, f.source, &batch, 1, &error), error);
    hr_batch_unref(batch);
    CHECK_OK(hr_pipeline_run(f.pipeline, -1, &out, &error), error);
    CHECK(runs == BATCH);
    for (int i = 0; i < BATCH; i++)
        CHECK(int_at(out, i, 4999) == 2 * i);
    hr_outputs_unref(out);
    hr_pipeline_destroy(f.pipeline);
}

TEST(an_error_belongs_to_its_sample)
{
    hr_error error = {0};
    hr_outputs *out;
    int32_t values[BATCH];
    fed f;
    count_up(values);
    values[37] = -4;
    CHECK_OK(fed_begin(&f, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_build(&f, HR_ON_ERROR_RAISE, &error), error);
    CHECK(fed_run(&f, values, NULL, &out, &error) == HR_STATUS_VALUE);
    CHECK(strstr(error.message, "sample 37 of the batch") && strstr(error.message, "-4"));
    hr_pipeline_destroy(f.pipeline);
}

TEST(a_gap_cuts_a_column_in_two)
{
    hr_error error = {0};
    hr_outputs *out;
    int32_t values[BATCH];
    fed f;
    count_up(values);
    values[37] = -4;
    CHECK_OK(fed_begin(&f, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_build(&f, HR_ON_ERROR_SKIP, &error), error);
    CHECK_OK(fed_run(&f, values, NULL, &out, &error), error);
    CHECK(infers == 1 + BATCH + 2); /* the batch, each sample, and both sides of the gap */
    CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == BATCH - 1);
    for (int i = 0; i < BATCH - 1; i++)
        CHECK(int_at(out, i, 0) == 4 * values[i + (i >= 37)]);
    hr_outputs_unref(out);
    hr_pipeline_destroy(f.pipeline);
}

/* hr_task_fail in a call for all samples, which cannot say whose failure it is. */
TEST(a_failed_task_is_one_sample)
{
    hr_error error = {0};
    hr_outputs *out;
    int32_t values[BATCH];
    fed f;
    count_up(values);
    values[37] = 1000;
    CHECK_OK(fed_begin(&f, &error), error);
    hr_edge in = {f.last, 0};
    hr_node_desc desc = {.op = "test.next", .inputs = &in, .input_count = 1};
    CHECK_OK(hr__graph_add(f.graph, &op_next, &desc, &f.last, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_build(&f, HR_ON_ERROR_SKIP, &error), error);
    CHECK_OK(fed_run(&f, values, NULL, &out, &error), error);
    CHECK(hr_batch_size(hr_outputs_batch(out, 0)) == BATCH - 1);
    for (int i = 0; i < BATCH - 1; i++)
        CHECK(int_at(out, i, 0) == 2 * (values[i + (i >= 37)] + 1));
    hr_outputs_unref(out);
    hr_pipeline_destroy(f.pipeline);
}

TEST(arguments_of_samples_stay_theirs)
{
    hr_error error = {0};
    hr_outputs *out;
    int32_t values[BATCH];
    fed f;
    count_up(values);
    CHECK_OK(fed_begin(&f, &error), error);
    CHECK_OK(fed_twice(&f, f.source, &error), error);
    CHECK_OK(fed_twice(&f, -1, &error), error);
    CHECK_OK(fed_build(&f, HR_ON_ERROR_RAISE, &error), error);
    CHECK_OK(fed_run(&f, values, NULL, &out, &error), error);
    CHECK(infers == BATCH + 1); /* the outputs of single calls are a column again */
    for (int i = 0; i < BATCH; i++)
        CHECK(int_at(out, i, 0) == 6 * values[i]);
    hr_outputs_unref(out);
    hr_pipeline_destroy(f.pipeline);
}

/* The numbers of `batch` samples per iteration, one after the other. */
static hr_status draw(int batch, double *numbers, hr_error *error)
{
    static const double range[] = {-2, 3};
    hr_arg_value ranged = {"range", {.kind = HR_VALUE_FLOATS, .count = 2, .u.floats = range}};
    hr_arg_value third[] = {{"op", {.kind = HR_VALUE_STRING, .u.s = "div"}},
                            fixture_int("const_side", 1),
                            fixture_int("const_type", HR_DTYPE_INT32),
                            fixture_int("ivalue", 3)};
    hr_arg_value add = {"op", {.kind = HR_VALUE_STRING, .u.s = "add"}};
    hr_pipeline_options options = fixture_options(batch, 1);
    hr_outputs *out;
    fed f;
    HR_TRY(hr_graph_create(&f.graph, error));
    HR_TRY(fed_builtin(&f, "random.uniform", NULL, 0, &ranged, 1, error));
    hr_edge first = {f.last, 0};
    HR_TRY(fed_builtin(&f, "_arithmetic", &first, 1, third, 4, error));
    hr_edge both[2] = {{f.last, 0}};
    HR_TRY(fed_builtin(&f, "random.coin_flip", NULL, 0, NULL, 0, error));
    both[1] = (hr_edge){f.last, 0};
    HR_TRY(fed_builtin(&f, "_arithmetic", both, 2, &add, 1, error));
    hr_edge output = {f.last, 0};
    HR_TRY(hr_graph_set_outputs(f.graph, &output, 1, error));
    HR_TRY(hr_pipeline_create(&f.pipeline, f.graph, &options, error));
    hr_graph_destroy(f.graph);
    for (int i = 0; i < BATCH; i += batch) {
        HR_TRY(hr_pipeline_run(f.pipeline, -1, &out, error));
        for (int k = 0; k < batch; k++) {
            const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(out, 0), k);
            numbers[i + k] = hr_element_double(t->data, t->dtype, 0);
        }
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(f.pipeline);
    return HR_STATUS_OK;
}

TEST(a_column_draws_what_samples_draw)
{
    hr_error error = {0};
    double alone[BATCH], together[BATCH];
    int above = 0;
    CHECK_OK(draw(1, alone, &error), error);
    CHECK_OK(draw(BATCH, together, &error), error);
    for (int i = 0; i < BATCH; i++) {
        CHECK(alone[i] == together[i] && alone[i] >= -2.0 / 3 && alone[i] < 2);
        above += alone[i] > 0.66;
    }
    CHECK(above > 8 && above < BATCH - 8);
}

TEST_MAIN
