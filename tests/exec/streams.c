/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Streams: order, ends of batches and epochs, checkpoints behind every batch, bad samples, waits
 * that are cancelled. */
#include <pthread.h>

#include "exec/fixture.h"
#include "graph/graph.h"
#include "graph/value.h"
#include "test.h"

#define SAMPLES 11 /* of an epoch */
#define NONE (-1)

/* ---- a stream of numbers ---- */

typedef struct count_args {
    int32_t bad, cut, wait, once, fails;
} count_args;

static const hr_arg_def count_defs[] = {
    HR_ARG(count_args, bad, INT, HR_ARG_OPTIONAL, NULL, "Fails at this number.", .min = 0,
           .max = 100),
    HR_ARG(count_args, cut, INT, HR_ARG_OPTIONAL, NULL, "Ends batches before multiples of this.",
           .min = 1, .max = 100),
    HR_ARG(count_args, wait, INT, HR_ARG_OPTIONAL, NULL, "Waits forever at this number.", .min = 0,
           .max = 100),
    HR_ARG(count_args, once, BOOL, 0, "False", "There is one epoch."),
    HR_ARG(count_args, fails, BOOL, 0, "False", "Every sample fails."),
    HR_ARG_END};

typedef struct count_state {
    const count_args *args;
    int32_t number, epoch; /* of the next sample */
    bool cut;              /* the batch was ended before it */
    bool cancelled;        /* guarded by lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char name[32];
} count_state;

static int32_t next_calls; /* with one pipeline at a time */

static hr_status count_create(const void *args, void **state, hr_error *error)
{
    count_state *s = hr_calloc(1, sizeof(*s), error);
    if (!s)
        return HR_STATUS_NO_MEMORY;
    s->args = args;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    *state = s;
    return HR_STATUS_OK;
}

static void count_destroy(void *state)
{
    count_state *s = state;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    hr_free(s);
}

static void wait_for_cancel(count_state *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->cancelled)
        pthread_cond_wait(&s->wake, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void count_cancel(void *state)
{
    count_state *s = state;
    pthread_mutex_lock(&s->lock);
    s->cancelled = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

static hr_status count_next(hr_op_call *c, hr_stream_event *event, hr_error *error)
{
    count_state *s = c->state;
    const count_args *a = s->args;
    next_calls++;
    if (s->number == SAMPLES) {
        *event = HR_STREAM_EVENT_END;
        return HR_STATUS_OK;
    }
    if (a->cut > 0 && s->number % a->cut == 0 && !s->cut) {
        *event = HR_STREAM_EVENT_BATCH;
        s->cut = true;
        return HR_STATUS_OK;
    }
    if (s->number == a->wait) {
        wait_for_cancel(s);
        return hr_fail(error, HR_STATUS_STATE, "cancelled");
    }
    int32_t number = s->number++;
    s->cut = false;
    snprintf(s->name, sizeof(s->name), "epoch %d: %d", s->epoch, number);
    c->source_info = s->name;
    if (number == a->bad || a->fails)
        return hr_fail(error, HR_STATUS_CORRUPT, "the number %d is bad", number);
    int32_t *value = hr_arena_alloc(c->arena, sizeof(*value), error);
    if (!value)
        return HR_STATUS_NO_MEMORY;
    *value = 100 * s->epoch + number;
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, (hr_shape){0}, NULL);
    c->out[0].data = value;
    if (number == 5)
        return hr_task_warn(c->task, error, "five is odd");
    return HR_STATUS_OK;
}

static hr_status count_restart(void *state, hr_error *error)
{
    count_state *s = state;
    (void)error;
    if (s->args->once)
        return hr_fail(error, HR_STATUS_IO, "there is only one epoch");
    s->number = 0;
    s->epoch++;
    return HR_STATUS_OK;
}

static size_t count_save(const void *state, void *room, size_t size)
{
    const count_state *s = state;
    int32_t cursor[] = {s->number, s->epoch, s->cut};
    if (size >= sizeof(cursor))
        memcpy(room, cursor, sizeof(cursor));
    return sizeof(cursor);
}

static hr_status count_restore(void *state, const void *bytes, size_t size, hr_error *error)
{
    count_state *s = state;
    int32_t cursor[3];
    if (size != sizeof(cursor))
        return hr_fail(error, HR_STATUS_VALUE, "the cursor has %zu bytes", size);
    memcpy(cursor, bytes, size);
    if (cursor[0] < 0 || cursor[0] > SAMPLES || cursor[1] < 0 || cursor[1] > 1000)
        return hr_fail(error, HR_STATUS_VALUE, "the cursor is out of range");
    s->number = cursor[0];
    s->epoch = cursor[1];
    s->cut = cursor[2];
    return HR_STATUS_OK;
}

#define STREAM_OP(id, op, ...)                                                                     \
    static const hr_stream_def id##_stream = {.next = count_next, __VA_ARGS__};                    \
    static const hr_source_def id##_source = {.kind = HR_SOURCE_KIND_STREAM,                       \
                                              .stream = &id##_stream};                             \
    static const hr_op_def id = {HR_OP_ABI,                                                        \
                                 .name = op,                                                       \
                                 .doc = "Counts.",                                                 \
                                 .args = count_defs,                                               \
                                 .args_size = sizeof(count_args),                                  \
                                 .create = count_create,                                           \
                                 .destroy = count_destroy,                                         \
                                 .source = &id##_source}
STREAM_OP(op_count, "test.count", .restart = count_restart, .save = count_save,
          .restore = count_restore, .cancel = count_cancel);
STREAM_OP(op_ends, "test.ends", .save = count_save, .restore = count_restore);
STREAM_OP(op_lost, "test.lost", .restart = count_restart);

/* ---- another operator: refuses numbers that end with 7 ---- */

static const hr_arg_def no_args[] = {HR_ARG_END};

static hr_status picky_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, NULL);
    return HR_STATUS_OK;
}

static hr_status picky_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t v = *(const int32_t *)calls[i].in[0].data;
        if (v % 100 == 7)
            return hr_fail(error, HR_STATUS_ERROR, "does not like %d", v);
        *(int32_t *)calls[i].out[0].data = v;
    }
    return HR_STATUS_OK;
}

static const hr_op_def op_picky = {HR_OP_ABI,
                                   .name = "test.picky",
                                   .doc = "Refuses some.",
                                   .args = no_args,
                                   .in = HR_INPUTS({"data", NULL}),
                                   .infer = picky_infer,
                                   .run_cpu = picky_run};

/* ---- graphs: the stream, or what `picky` lets through, and a random number per sample ---- */

typedef struct plan {
    const hr_op_def *op; /* NULL: op_count */
    const char *arg;     /* of the stream, with the value below */
    int32_t value;
    bool picky;
} plan;

static hr_error error;

static hr_status open_stream(const plan *with, const hr_pipeline_options *options, hr_pipeline **p)
{
    hr_graph *g;
    int32_t node, other = 0;
    HR_TRY(hr_graph_create(&g, &error));
    hr_arg_value arg = {with->arg, {.kind = HR_VALUE_INT, .u.i = with->value}};
    if (with->arg && (strcmp(with->arg, "once") == 0 || strcmp(with->arg, "fails") == 0))
        arg.value.kind = HR_VALUE_BOOL;
    const hr_op_def *op = with->op ? with->op : &op_count;
    hr_node_desc desc = {.op = op->name, .args = &arg, .arg_count = with->arg ? 1 : 0};
    hr_status status = hr__graph_add(g, op, &desc, &node, &error);
    if (status == HR_STATUS_OK && with->picky) {
        hr_edge in = {node, 0};
        hr_node_desc picky = {.op = op_picky.name, .inputs = &in, .input_count = 1};
        status = hr__graph_add(g, &op_picky, &picky, &node, &error);
    }
    hr_node_desc coin = {.op = "random.uniform"};
    if (status == HR_STATUS_OK)
        status = hr_graph_add_node(g, &coin, &other, &error);
    hr_edge outputs[] = {{node, 0}, {other, 0}};
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, outputs, 2, &error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(p, g, options, &error);
    hr_graph_destroy(g);
    return status;
}

static int32_t number_at(const hr_outputs *o, int32_t i)
{
    return *(const int32_t *)hr_batch_tensor(hr_outputs_batch(o, 0), i)->data;
}

/* What a run gave: "0 1 2 " (each with its random number), "END ", or an error. */
static void run_text(hr_pipeline *p, bool randoms, char *text)
{
    hr_outputs *o = NULL;
    text[0] = '\0';
    hr_status status = hr_pipeline_run(p, HANG_MS, &o, &error);
    if (status != HR_STATUS_OK) {
        sprintf(text, "%s ", hr_status_name(status));
        return;
    }
    for (int32_t i = 0; i < hr_batch_size(hr_outputs_batch(o, 0)); i++) {
        text += sprintf(text, "%d ", number_at(o, i));
        if (randoms)
            text += sprintf(text, "(%08x) ",
                            *(const uint32_t *)hr_batch_tensor(hr_outputs_batch(o, 1), i)->data);
    }
    hr_outputs_unref(o);
}

#define CHECK_RUN(p, expected)                                                                     \
    do {                                                                                           \
        char got[512];                                                                             \
        run_text(p, false, got);                                                                   \
        if (strcmp(got, expected) != 0)                                                            \
            printf("got '%s': %s\n", got, error.message);                                          \
        CHECK(strcmp(got, expected) == 0);                                                         \
    } while (0)

/* ---- order and ends ---- */

TEST(samples_come_in_order_and_epochs_end)
{
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        for (int32_t depth = 1; depth <= 4; depth += 3) {
            hr_pipeline *p;
            hr_outputs *o;
            hr_pipeline_options options = fixture_options(4, threads);
            options.prefetch_queue_depth = depth;
            CHECK_OK(open_stream(&(plan){0}, &options, &p), error);
            CHECK_RUN(p, "0 1 2 3 ");
            CHECK_RUN(p, "4 5 6 7 ");
            CHECK_OK(hr_pipeline_run(p, -1, &o, &error), error);
            CHECK(hr_batch_size(hr_outputs_batch(o, 0)) == 3 && hr_outputs_positions(o) == 3);
            CHECK(number_at(o, 2) == 10);
            CHECK(strcmp(hr_batch_tensor(hr_outputs_batch(o, 0), 1)->source_info, "epoch 0: 9") ==
                  0);
            hr_outputs_unref(o);
            CHECK_RUN(p, "END ");
            CHECK(strstr(error.message, "test.count") && strstr(error.message, "epoch is over"));
            CHECK_RUN(p, "100 101 102 103 ");
            CHECK(hr_pipeline_feed_room(p, 0) == 0);
            CHECK(hr_pipeline_feed(p, 0, NULL, 1, &error) == HR_STATUS_KEY);
            hr_pipeline_destroy(p);
        }
    }
}

TEST(a_stream_may_end_batches_and_end_forever)
{
    hr_pipeline *p;
    hr_pipeline_options options = fixture_options(4, 2);
    CHECK_OK(open_stream(&(plan){.arg = "cut", .value = 6}, &options, &p), error);
    CHECK_RUN(p, "0 1 2 3 ");
    CHECK_RUN(p, "4 5 ");
    CHECK_RUN(p, "6 7 8 9 ");
    CHECK_RUN(p, "10 ");
    CHECK_RUN(p, "END ");
    CHECK_RUN(p, "100 101 102 103 ");
    hr_pipeline_destroy(p);
    options = fixture_options(SAMPLES, 2);
    CHECK_OK(open_stream(&(plan){.op = &op_ends}, &options, &p), error);
    CHECK_RUN(p, "0 1 2 3 4 5 6 7 8 9 10 ");
    for (int i = 0; i < 5; i++)
        CHECK_RUN(p, "END ");
    hr_pipeline_destroy(p);
    CHECK_OK(open_stream(&(plan){.arg = "once", .value = 1}, &options, &p), error);
    CHECK_RUN(p, "0 1 2 3 4 5 6 7 8 9 10 ");
    for (int i = 0; i < 3; i++) {
        CHECK_RUN(p, "IO ");
        CHECK(strstr(error.message, "test.count") && strstr(error.message, "only one epoch"));
    }
    hr_pipeline_destroy(p);
}

/* Samples have the same random numbers in any batch. */
static bool all_text(int32_t batch_size, int32_t threads, char *text)
{
    hr_pipeline *p;
    hr_pipeline_options options = fixture_options(batch_size, threads);
    if (open_stream(&(plan){0}, &options, &p) != HR_STATUS_OK)
        return false;
    for (int i = 0; i < 3;) {
        run_text(p, true, text);
        i += strcmp(text, "END ") == 0;
        text += strlen(text);
    }
    hr_pipeline_destroy(p);
    return true;
}

TEST(bytes_do_not_depend_on_batches_and_threads)
{
    static char first[4096], text[4096];
    CHECK(all_text(1, 1, first) && strstr(first, " 110 ") && strstr(first, " 210 "));
    for (int32_t batch_size = 2; batch_size < 14; batch_size += 3) {
        CHECK(all_text(batch_size, batch_size % 3 + 1, text));
        CHECK(strcmp(first, text) == 0);
    }
}

/* ---- checkpoints ---- */

#define RUNS 12

TEST(a_checkpoint_behind_every_batch_resumes_there)
{
    char expected[RUNS][512], text[512], *states[RUNS];
    size_t sizes[RUNS];
    hr_pipeline *p;
    for (int32_t cut = 3; cut <= 100; cut += 97) {
        plan with = {.arg = "cut", .value = cut};
        hr_pipeline_options options = fixture_options(4, 2);
        CHECK_OK(open_stream(&with, &options, &p), error);
        for (int32_t i = 0; i < RUNS; i++) {
            CHECK_OK(hr_pipeline_checkpoint(p, &states[i], &sizes[i], &error), error);
            run_text(p, true, expected[i]);
        }
        hr_pipeline_destroy(p);
        for (int32_t i = 0; i < RUNS; i++) {
            options.checkpoint = states[i];
            options.checkpoint_size = sizes[i];
            options.num_threads = i % 3 + 1;
            options.prefetch_queue_depth = i % 4 + 1;
            next_calls = 0;
            CHECK_OK(open_stream(&with, &options, &p), error);
            for (int32_t k = i; k < RUNS; k++) {
                run_text(p, true, text);
                CHECK(strcmp(text, expected[k]) == 0);
            }
            hr_pipeline_destroy(p);
            /* Nothing before the checkpoint was read again. */
            CHECK(next_calls <= (RUNS - i + options.prefetch_queue_depth + 2) * 6);
            hr_string_free(states[i]);
        }
    }
}

TEST(cursors_that_do_not_fit_are_refused)
{
    static const char *const lists[] = {"",
                                        ", \"cursors\": 3",
                                        ", \"cursors\": []",
                                        ", \"cursors\": [5]",
                                        ", \"cursors\": [\"0\"]",
                                        ", \"cursors\": [\"0g\"]",
                                        ", \"cursors\": [\"00\"]",
                                        ", \"cursors\": [\"ffffffff0000000000000000\"]"};
    char *state, text[1024];
    size_t size;
    hr_pipeline *p;
    hr_pipeline_options options = fixture_options(4, 2);
    CHECK_OK(open_stream(&(plan){0}, &options, &p), error);
    CHECK(hr_checkpoint_at_epoch(p, 0, 0, &state, &size, &error) == HR_STATUS_NOT_IMPLEMENTED);
    CHECK(strstr(error.message, "only goes forward"));
    CHECK_OK(hr_pipeline_checkpoint(p, &state, &size, &error), error);
    hr_pipeline_destroy(p);
    char *end = strstr(state, ", \"cursors\": [\"000000000000000000000000\"]}");
    CHECK(end);
    *end = '\0';
    for (size_t i = 0; i < HR_COUNT_OF(lists); i++) {
        sprintf(text, "%s%s}}", state, lists[i]);
        options.checkpoint = text;
        options.checkpoint_size = strlen(text);
        CHECK(open_stream(&(plan){0}, &options, &p) == HR_STATUS_VALUE);
        CHECK(strstr(error.message, "cursor"));
    }
    hr_string_free(state);
    options = fixture_options(4, 2);
    CHECK_OK(open_stream(&(plan){.op = &op_lost}, &options, &p), error);
    CHECK(hr_pipeline_checkpoint(p, &state, &size, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "test.lost") && strstr(error.message, "has no checkpoints"));
    hr_pipeline_destroy(p);
}

/* ---- bad samples ---- */

TEST(an_error_is_that_of_one_sample)
{
    char *json;
    hr_pipeline *p;
    plan with = {.arg = "bad", .value = 6};
    hr_pipeline_options options = fixture_options(4, 2);
    CHECK_OK(open_stream(&with, &options, &p), error);
    CHECK_RUN(p, "0 1 2 3 ");
    CHECK_RUN(p, "CORRUPT ");
    CHECK(strstr(error.message, "test.count") && strstr(error.message, "epoch 0: 6: the number 6"));
    CHECK_RUN(p, "8 9 10 ");
    CHECK_RUN(p, "END ");
    hr_pipeline_destroy(p);
    options.on_error = HR_ON_ERROR_SKIP;
    CHECK_OK(open_stream(&with, &options, &p), error);
    CHECK_RUN(p, "0 1 2 3 ");
    CHECK_RUN(p, "4 5 7 ");
    CHECK_RUN(p, "8 9 10 ");
    CHECK_OK(hr_pipeline_errors(p, &json, &error), error);
    CHECK(strstr(json, "\"index\": 6, \"epoch\": 0, \"action\": \"skipped\", \"source\": "
                       "\"epoch 0: 6\", \"operator\": \"test.count\""));
    CHECK(strstr(json, "\"iteration\": 1, \"index\": 5, \"epoch\": 0, \"action\": \"warning\", "
                       "\"source\": \"epoch 0: 5\""));
    hr_string_free(json);
    hr_pipeline_destroy(p);
    options.on_error = HR_ON_ERROR_REPLACE;
    CHECK_OK(open_stream(&with, &options, &p), error);
    CHECK_RUN(p, "0 1 2 3 ");
    CHECK_RUN(p, "4 5 7 7 ");
    CHECK_RUN(p, "8 9 10 ");
    hr_pipeline_destroy(p);
}

/* The replacement is refused, too, where it is the 7 that `picky` refuses. */
TEST(a_sample_that_a_later_operator_refuses_is_replaced)
{
    hr_pipeline *p;
    plan with = {.arg = "bad", .value = 6, .picky = true};
    for (int32_t threads = 1; threads < 4; threads++) {
        hr_pipeline_options options = fixture_options(4, threads);
        options.on_error = HR_ON_ERROR_REPLACE;
        CHECK_OK(open_stream(&with, &options, &p), error);
        CHECK_RUN(p, "0 1 2 3 ");
        CHECK_RUN(p, "4 5 4 4 ");
        CHECK_RUN(p, "8 9 10 ");
        hr_pipeline_destroy(p);
    }
    hr_pipeline_options options = fixture_options(1, 2);
    options.on_error = HR_ON_ERROR_REPLACE; /* there is no other sample */
    CHECK_OK(open_stream(&with, &options, &p), error);
    CHECK_RUN(p, "0 ");
    for (int i = 1; i < 6; i++)
        run_text(p, false, (char[64]){0});
    CHECK_RUN(p, "CORRUPT ");
    CHECK_RUN(p, "ERROR ");
    CHECK(strstr(error.message, "epoch 0: 7: does not like 7"));
    CHECK_RUN(p, "8 ");
    hr_pipeline_destroy(p);
}

TEST(an_epoch_of_bad_samples_ends)
{
    hr_pipeline *p;
    hr_outputs *o;
    hr_pipeline_options options = fixture_options(4, 2);
    options.on_error = HR_ON_ERROR_SKIP;
    CHECK_OK(open_stream(&(plan){.arg = "fails", .value = 1}, &options, &p), error);
    CHECK(hr_pipeline_run(p, -1, &o, &error) == HR_STATUS_END);
    hr_pipeline_destroy(p);
}

/* ---- waits ---- */

TEST(a_stream_that_waits_delays_nothing_else_and_is_cancelled)
{
    for (int32_t at = 0; at < 10; at += 3) {
        hr_pipeline *p;
        hr_outputs *o;
        hr_pipeline_options options = fixture_options(3, 1);
        CHECK_OK(open_stream(&(plan){.arg = "wait", .value = at}, &options, &p), error);
        for (int32_t i = 0; i < at / 3; i++) {
            CHECK_OK(hr_pipeline_run(p, HANG_MS, &o, &error), error);
            CHECK(number_at(o, 2) == 3 * i + 2);
            hr_outputs_unref(o);
        }
        CHECK(hr_pipeline_run(p, 20, &o, &error) == HR_STATUS_TIMEOUT);
        CHECK(hr_pipeline_wait(p, 0) == HR_STATUS_TIMEOUT);
        CHECK(hr_pipeline_pending(p) == 0);
        hr_pipeline_destroy(p); /* returns: without cancelling it would wait forever */
    }
}

TEST(a_pipeline_that_was_never_run_can_be_destroyed)
{
    for (int i = 0; i < 20; i++) {
        hr_pipeline *p;
        hr_pipeline_options options = fixture_options(3, 2);
        CHECK_OK(open_stream(&(plan){0}, &options, &p), error);
        hr_pipeline_destroy(p);
    }
}

/* ---- with other sources ---- */

/* A batch of a stream decides how many items the reader gives, and what is fed must be as long. */
TEST(a_stream_goes_with_a_reader_and_with_what_is_fed)
{
    fixture f;
    hr_graph *g;
    hr_pipeline *p;
    hr_outputs *o;
    int32_t stream, reader, fed, position = 0;
    fixture_make(&f, 24);
    CHECK_OK(hr_graph_create(&g, &error), error);
    hr_node_desc first = {.op = "external_source"}, second = {.op = op_count.name};
    hr_arg_value root = {"file_root", {.kind = HR_VALUE_STRING, .u.s = f.dir}};
    hr_node_desc third = {.op = "readers.file", .args = &root, .arg_count = 1};
    CHECK_OK(hr_graph_add_node(g, &first, &fed, &error), error);
    CHECK_OK(hr__graph_add(g, &op_count, &second, &stream, &error), error);
    CHECK_OK(hr_graph_add_node(g, &third, &reader, &error), error);
    hr_edge outputs[] = {{reader, 0}, {stream, 0}, {fed, 0}};
    CHECK_OK(hr_graph_set_outputs(g, outputs, 3, &error), error);
    hr_pipeline_options options = fixture_options(4, 2);
    CHECK_OK(hr_pipeline_create(&p, g, &options, &error), error);
    hr_graph_destroy(g);
    CHECK(hr_pipeline_run(p, HANG_MS, &o, &error) == HR_STATUS_INDEX); /* not fed */
    for (int32_t i = 0; i < 8; i++) {
        int32_t size = i % 4 == 2 ? 3 : 4, values[4] = {i, i, i, i};
        hr_tensor t[4];
        hr_batch *batch;
        for (int32_t k = 0; k < size; k++) {
            hr_tensor_describe(&t[k], HR_DTYPE_INT32, (hr_shape){0}, NULL);
            t[k].data = &values[k];
        }
        if (i % 4 == 3) {
            CHECK(hr_pipeline_run(p, HANG_MS, &o, &error) == HR_STATUS_END);
            continue;
        }
        CHECK_OK(hr_batch_create(&batch, t, size, false, &error), error);
        CHECK_OK(hr_pipeline_feed(p, fed, &batch, 1, &error), error);
        hr_batch_unref(batch);
        CHECK_OK(hr_pipeline_run(p, HANG_MS, &o, &error), error);
        CHECK(hr_batch_size(hr_outputs_batch(o, 0)) == size);
        for (int32_t k = 0; k < size; k++) {
            CHECK(fixture_number(o, k) == position++ % 24);
            CHECK(*(int32_t *)hr_batch_tensor(hr_outputs_batch(o, 1), k)->data ==
                  i / 4 * 100 + i % 4 * 4 + k);
        }
        hr_outputs_unref(o);
    }
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* ---- a lack of memory ---- */

/* Some batch may fail; no sample comes twice or out of order. */
TEST(a_lack_of_memory_loses_no_place)
{
    int failures = 0;
    for (int n = 0; n < 120; n++) {
        hr_pipeline *p;
        hr_outputs *o;
        int32_t last = NONE;
        hr_pipeline_options options = fixture_options(3, 2);
        hr_alloc_fail_after(-1); /* known to the threads that are started now */
        CHECK_OK(open_stream(&(plan){0}, &options, &p), error);
        hr_alloc_fail_after(n);
        for (int i = 0; i < 9; i++) {
            hr_status status = hr_pipeline_run(p, HANG_MS, &o, &error);
            CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY ||
                  status == HR_STATUS_END);
            failures += status == HR_STATUS_NO_MEMORY;
            if (status != HR_STATUS_OK)
                continue;
            for (int32_t k = 0; k < hr_batch_size(hr_outputs_batch(o, 0)); k++) {
                CHECK(number_at(o, k) > last && number_at(o, k) % 100 < SAMPLES);
                last = number_at(o, k);
            }
            hr_outputs_unref(o);
        }
        hr_alloc_fail_after(-1);
        CHECK(last >= 100);
        hr_pipeline_destroy(p);
    }
    CHECK(failures > 3);
    for (int n = 0, left = 1; left; n++) { /* while the pipeline is made */
        hr_pipeline *p = NULL;
        hr_pipeline_options options = fixture_options(3, 2);
        hr_alloc_fail_after(n);
        left = open_stream(&(plan){0}, &options, &p) != HR_STATUS_OK;
        hr_alloc_fail_after(-1);
        hr_pipeline_destroy(left ? NULL : p);
        CHECK(n < 10000);
    }
}

/* ---- statistics ---- */

TEST(the_time_of_the_thread_is_counted)
{
    hr_pipeline *p;
    char *text, *plan_text;
    hr_pipeline_options options = fixture_options(4, 2);
    CHECK_OK(open_stream(&(plan){0}, &options, &p), error);
    CHECK_RUN(p, "0 1 2 3 ");
    CHECK_RUN(p, "4 5 6 7 ");
    CHECK_OK(hr_pipeline_explain(p, &text, &error), error);
    CHECK(strstr(text, "in a thread of its own"));
    CHECK_OK(hr_pipeline_describe(p, &plan_text, &error), error);
    CHECK(strstr(plan_text, "primary source: test.count") || strstr(plan_text, "test.count"));
    hr_string_free(text);
    hr_string_free(plan_text);
    hr_pipeline_destroy(p);
}

TEST_MAIN
