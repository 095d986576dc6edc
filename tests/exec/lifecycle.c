/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Order, shutdown in mid-epoch, forks, failing allocations, verdicts, and the work of resuming. */
#include <limits.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>

#include "exec/fixture.h"
#include "io/readahead.h"
#include "test.h"

#define FILES 23

TEST(order_is_the_readers)
{
    fixture f;
    hr_error error = {0};
    fixture_make(&f, FILES);
    for (int stall = 0; stall < 2; stall++) {
        hr_pipeline *p;
        fixture_graph o = {.images = true, .num_shards = 3, .shard_id = 1};
        hr_pipeline_options options = fixture_options(5, 8);
        options.prefetch_queue_depth = 4;
        if (stall)
            setenv("HEADRACE_STALL", "1", 1);
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
        unsetenv("HEADRACE_STALL");
        int expect = FILES / 3; /* shard 1 begins here; 2, 0, 1, ... follow */
        for (int it = 0; it < 12; it++) {
            hr_outputs *out;
            CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
            CHECK(hr_outputs_iteration(out) == it && hr_outputs_positions(out) == 5);
            for (int i = 0; i < 5; i++, expect++)
                CHECK(fixture_number(out, i) == expect % FILES);
            hr_outputs_unref(out);
        }
        hr_pipeline_destroy(p);
    }
    fixture_remove(&f);
}

/* ---- an operator that waits until the test lets it through ---- */

static sem_t gate;

static hr_status gate_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, NULL);
    return HR_STATUS_OK;
}

static hr_status gate_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    sem_wait(&gate);
    sem_post(&gate);
    for (int32_t i = 0; i < n; i++) {
        size_t bytes = 0;
        hr_tensor_bytes(&calls[i].in[0], &bytes);
        memcpy(calls[i].out[0].data, calls[i].in[0].data, bytes);
    }
    return HR_STATUS_OK;
}

static const hr_arg_def no_args[] = {HR_ARG_END};
static const hr_op_def op_gate = {HR_OP_ABI,
                                  .name = "test.gate",
                                  .doc = "Waits.",
                                  .args = no_args,
                                  .in = HR_INPUTS({.name = "data"}),
                                  .infer = gate_infer,
                                  .run_cpu = gate_run};

/* Waiting tells whether a full batch comes next, and does not take it. */
TEST(waiting_takes_nothing)
{
    fixture f;
    hr_error error = {0};
    fixture_make(&f, FILES);
    fixture_break(&f, 6, "no image");
    for (int skip = 0; skip < 2; skip++) {
        hr_pipeline *p;
        fixture_graph o = {.images = true, .last = &op_gate};
        hr_pipeline_options options = fixture_options(5, 2);
        options.on_error = skip ? HR_ON_ERROR_SKIP : HR_ON_ERROR_RAISE;
        sem_init(&gate, 0, 0);
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
        CHECK(hr_pipeline_wait(p, 0) == HR_STATUS_TIMEOUT);
        CHECK(hr_pipeline_wait(p, 1) == HR_STATUS_TIMEOUT);
        sem_post(&gate);
        for (int it = 0; it < 4; it++) {
            hr_outputs *out = NULL;
            hr_status expected = it == 1 ? HR_STATUS_STATE : HR_STATUS_OK;
            CHECK(hr_pipeline_wait(p, -1) == expected && hr_pipeline_wait(p, 0) == expected);
            hr_status status = hr_pipeline_run(p, 0, &out, &error);
            CHECK((status == HR_STATUS_OK) == (it != 1 || skip));
            CHECK(!out || (hr_outputs_iteration(out) == it && fixture_number(out, 0) == 5 * it));
            hr_outputs_unref(out);
        }
        hr_pipeline_destroy(p);
        sem_destroy(&gate);
    }
    fixture_remove(&f);
}

/* What the workers do when a batch is taken. */
typedef enum workers_state { ANYTHING, POLL, SLEEP, STATES } workers_state;

static bool workers_are(hr_pipeline *p, workers_state wanted)
{
    pthread_mutex_lock(&p->lock);
    bool wait = fixture_idle(p) == p->worker_count, poll = p->lookout;
    pthread_mutex_unlock(&p->lock);
    return wanted == ANYTHING || (wait && poll == (wanted == POLL));
}

static bool take_one(hr_pipeline *p)
{
    hr_outputs *out = NULL;
    hr_status status = hr_pipeline_run(p, -1, &out, NULL);
    hr_outputs_unref(out);
    return status == HR_STATUS_OK;
}

/* Takes a batch while the workers are in this state. They poll for a while only, and again after
 * more work. */
static bool take_while(hr_pipeline *p, workers_state wanted)
{
    int pauses = 0;
    while (!workers_are(p, wanted)) {
        if (wanted == POLL && workers_are(p, SLEEP) && !take_one(p))
            return false;
        if (!waiting_pause(&pauses))
            return false;
    }
    return take_one(p);
}

/* Whether idle workers poll or wait to be woken: batches that were taken are replaced. */
TEST(idle_workers_go_on)
{
    fixture f;
    hr_error error = {0};
    fixture_make(&f, FILES);
    for (int depth = 1; depth < 4; depth++) {
        hr_pipeline *p;
        fixture_graph o = {.images = true};
        hr_pipeline_options options = fixture_options(4, depth);
        options.prefetch_queue_depth = depth;
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
        for (workers_state s = ANYTHING; s < STATES; s++) {
            if (s == POLL && depth == 1) /* then nobody does */
                continue;
            CHECK(take_while(p, s));
            WAIT_FOR(hr_pipeline_pending(p) == depth);
        }
        hr_pipeline_destroy(p);
    }
    fixture_remove(&f);
}

TEST(shutdown_in_mid_epoch)
{
    fixture f;
    hr_error error = {0};
    fixture_make(&f, FILES);
    setenv("HEADRACE_STALL", "1", 1);
    for (int round = 0; round < 25; round++) {
        hr_pipeline *p;
        hr_outputs *out = NULL;
        fixture_graph o = {.images = round % 2 == 0};
        hr_pipeline_options options = fixture_options(1 + round % 7, 1 + round % 5);
        options.prefetch_queue_depth = 1 + round % 3;
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
        for (int i = 0; i < round % 4; i++) {
            hr_outputs_unref(out);
            CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        }
        hr_pipeline_destroy(p);
        if (out) /* outputs outlive their pipeline */
            CHECK(fixture_number(out, 0) >= 0 &&
                  fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), 0)) != 0);
        hr_outputs_unref(out);
    }
    unsetenv("HEADRACE_STALL");
    fixture_remove(&f);
}

TEST(a_forked_child_may_not_use_it)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    int code = -1;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 2);
    fixture_make(&f, FILES);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    pid_t child = fork();
    if (child == 0) {
        hr_outputs *mine;
        bool refused = hr_pipeline_run(p, HANG_MS, &mine, &error) == HR_STATUS_STATE;
        hr_outputs_unref(out); /* may free memory of the parent's pipeline */
        hr_pipeline_destroy(p);
        _exit(refused ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &code, 0) == child && WIFEXITED(code) &&
          WEXITSTATUS(code) == 0);
    hr_outputs_unref(out);
    CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
    hr_outputs_unref(out);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

TEST(any_allocation_may_fail)
{
    fixture f;
    fixture_make(&f, 6);
    int failed = 0, worked = 0;
    for (int n = 0; n < 600 && worked < 20; n++) {
        hr_error error = {0};
        hr_pipeline *p = NULL;
        fixture_graph o = {.images = true};
        hr_pipeline_options options = fixture_options(3, 2);
        hr_alloc_fail_after(n);
        hr_status status = fixture_pipeline(&f, &o, &options, &p, &error);
        for (int i = 0; i < 2 && status == HR_STATUS_OK; i++) {
            hr_outputs *out;
            status = hr_pipeline_run(p, HANG_MS, &out, &error);
            if (status == HR_STATUS_OK)
                hr_outputs_unref(out);
        }
        hr_alloc_fail_after(-1);
        failed += status != HR_STATUS_OK;
        worked = status == HR_STATUS_OK ? worked + 1 : 0;
        CHECK(status == HR_STATUS_OK || error.message[0]);
        CHECK(status != HR_STATUS_TIMEOUT);
        hr_pipeline_destroy(p);
    }
    CHECK(failed > 20);
    fixture_remove(&f);
}

static bool verdict_names(const fixture *f, const char *stall, int consumer_us, const char *word)
{
    hr_error error = {0};
    hr_pipeline *p;
    char *text;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 2);
    if (stall)
        setenv("HEADRACE_STALL", stall, 1);
    hr_status status = fixture_pipeline(f, &o, &options, &p, &error);
    unsetenv("HEADRACE_STALL");
    for (int i = 0; i < 12 && status == HR_STATUS_OK; i++) {
        hr_outputs *out;
        status = hr_pipeline_run(p, -1, &out, &error);
        if (status == HR_STATUS_OK)
            hr_outputs_unref(out);
        /* no luck: a slow consumer, which a timing test wants */
        usleep((unsigned)consumer_us);
    }
    if (status != HR_STATUS_OK || hr_pipeline_explain(p, &text, &error) != HR_STATUS_OK)
        return false;
    char *line = strchr(text, '\n');
    *line = 0;
    bool found = strstr(text, word) != NULL;
    if (!found)
        printf("wanted '%s': %s\n", word, text);
    hr_string_free(text);
    hr_pipeline_destroy(p);
    return found;
}

TIMING_TEST(the_verdict_names_the_culprit)
{
    fixture f;
    fixture_make(&f, FILES);
    CHECK(verdict_names(&f, "read:20000", 0, "Verdict: reading"));
    CHECK(verdict_names(&f, "decode:5000", 0, "Verdict: decoding on the CPU. decoders."));
    CHECK(verdict_names(&f, NULL, 20000, "Verdict: the consumer"));
    fixture_remove(&f);
}

/* The CPU time that resuming there takes, for the timing test below. */
static clock_t resume_at(const fixture *f, long long position)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    char *state;
    fixture_graph o = {.images = true, .random_shuffle = true};
    hr_pipeline_options options = fixture_options(4, 1);
    if (fixture_pipeline(f, &o, &options, &p, &error) != HR_STATUS_OK ||
        hr_checkpoint_at_epoch(p, position / 4, position, &state, &options.checkpoint_size,
                               &error) != HR_STATUS_OK)
        return -1;
    hr_pipeline_destroy(p);
    options.checkpoint = state;
    clock_t start = clock(); /* no luck: only a timing test calls this */
    if (fixture_pipeline(f, &o, &options, &p, &error) != HR_STATUS_OK ||
        hr_pipeline_run(p, -1, &out, &error) != HR_STATUS_OK)
        return -1;
    clock_t took = clock() - start; /* no luck: see above */
    hr_string_free(state);
    bool there = hr_outputs_iteration(out) == position / 4;
    hr_outputs_unref(out);
    hr_pipeline_destroy(p);
    return there ? took : -1;
}

TIMING_TEST(resuming_takes_no_longer_further_on)
{
    fixture f;
    fixture_make(&f, FILES);
    clock_t near = LONG_MAX, far = LONG_MAX;
    for (int i = 0; i < 7; i++) {
        clock_t a = resume_at(&f, 40), b = resume_at(&f, 4000000);
        CHECK(a >= 0 && b >= 0);
        near = HR_MIN(near, a);
        far = HR_MIN(far, b);
    }
    /* a walk of a million iterations would take seconds */
    CHECK(far < 3 * near + CLOCKS_PER_SEC / 10);
    fixture_remove(&f);
}

TEST(wrong_checkpoints_are_refused)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p = NULL;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 1);
    static const char *const states[] = {
        "",
        "{}",
        "[1, 2]",
        "{\"headrace_checkpoint\": 99}",
        "{\"headrace_checkpoint\": 3}",
        "{\"headrace_checkpoint\": 3, \"engine\": [1]}",
        "{\"headrace_checkpoint\": 1, \"graph\": 1, \"seed\": 7, \"batch_size\": 4}",
        "{\"headrace_checkpoint\": 2, \"graph\": 1, \"seed\": 7, \"batch_size\": 4}"};
    fixture_make(&f, FILES);
    for (size_t i = 0; i < HR_COUNT_OF(states); i++) {
        options.checkpoint = states[i];
        options.checkpoint_size = strlen(states[i]);
        CHECK(fixture_pipeline(&f, &o, &options, &p, &error) != HR_STATUS_OK);
        CHECK(strstr(error.message, "checkpoint") != NULL);
    }
    fixture_remove(&f);
}

/* Takes `count` batches; the hashes of their first samples. */
static int take_hashes(hr_pipeline *p, int count, uint64_t *hashes, int64_t *first)
{
    hr_error error = {0};
    for (int i = 0; i < count; i++) {
        hr_outputs *out;
        if (hr_pipeline_run(p, -1, &out, &error) != HR_STATUS_OK)
            return -1;
        if (i == 0)
            *first = hr_outputs_iteration(out);
        hashes[i] = fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), 0));
        hr_outputs_unref(out);
    }
    return 0;
}

/* Resumes at the text, takes as many batches and compares them. */
static bool resumes(const fixture *f, const fixture_graph *o, const char *state, int64_t iteration,
                    int count, const uint64_t *expected)
{
    hr_error error = {0};
    hr_pipeline *p = NULL;
    uint64_t hashes[2 * FILES];
    int64_t first = -1;
    hr_pipeline_options options = fixture_options(4, 2);
    options.checkpoint = state;
    options.checkpoint_size = strlen(state);
    bool good = fixture_pipeline(f, o, &options, &p, &error) == HR_STATUS_OK &&
                take_hashes(p, count, hashes, &first) == 0 && first == iteration &&
                memcmp(hashes, expected, (size_t)count * sizeof(*hashes)) == 0;
    if (!good)
        printf("%s: %s\n", state, error.message);
    hr_pipeline_destroy(p);
    return good;
}

TEST(checkpoints_at_an_epoch_and_of_the_version_before)
{
    enum { EPOCH = (FILES + 3) / 4 };
    fixture f;
    hr_error error = {0};
    hr_pipeline *p = NULL;
    fixture_graph o = {.images = true, .random_shuffle = true, .pad_last_batch = true};
    hr_pipeline_options options = fixture_options(4, 2);
    uint64_t hashes[3 * EPOCH];
    int64_t first = -1;
    size_t size = 0;
    char *moved = NULL, *text = NULL;
    fixture_make(&f, FILES);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    CHECK(take_hashes(p, 1, hashes, &first) == 0); /* where the pipeline is does not matter */
    CHECK_OK(hr_checkpoint_at_epoch(p, 2 * EPOCH, 8 * EPOCH, &moved, &size, &error), error);
    CHECK(size == strlen(moved));
    CHECK(take_hashes(p, EPOCH - 1, hashes + 1, &first) == 0);
    CHECK_OK(hr_pipeline_checkpoint(p, &text, &size, &error), error);
    CHECK(take_hashes(p, 2 * EPOCH, hashes + EPOCH, &first) == 0);
    CHECK(resumes(&f, &o, moved, 2 * EPOCH, EPOCH, hashes + 2 * EPOCH));
    CHECK(resumes(&f, &o, text, EPOCH, EPOCH, hashes + EPOCH));
    /* version 2 was what the section contains now */
    char flat[1024];
    const char *engine = strstr(text, "\"engine\": {");
    CHECK(engine != NULL);
    snprintf(flat, sizeof(flat), "{\"headrace_checkpoint\": 2, %s", strchr(engine, '{') + 1);
    flat[strlen(flat) - 1] = 0; /* the brace of the document */
    CHECK(resumes(&f, &o, flat, EPOCH, EPOCH, hashes + EPOCH));
    CHECK(hr_checkpoint_at_epoch(p, -1, 0, &moved, &size, &error) == HR_STATUS_VALUE);
    CHECK(hr_checkpoint_at_epoch(p, 0, INT64_MAX, &moved, &size, &error) == HR_STATUS_VALUE);
    hr_string_free(moved);
    hr_string_free(text);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

TEST_MAIN
