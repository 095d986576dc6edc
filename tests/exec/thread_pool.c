/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Pipelines that share threads: the same bytes as alone, no more threads than allowed, and none
 * left behind. */
#include <pthread.h>

#include "exec/fixture.h"
#include "test.h"
#include "waiting.h"

#define FILES 12
#define MANY 60
#define RUNNERS 8
#define RUNS 2

typedef struct shared {
    fixture files;
    fixture_graph graph;
    hr_thread_pool *pool;
} shared;

static bool begin(shared *s, int32_t limit)
{
    hr_error error = {0};
    fixture_make(&s->files, FILES);
    s->graph = (fixture_graph){.images = true};
    return hr_thread_pool_create(&s->pool, limit, &error) == HR_STATUS_OK;
}

static void end(shared *s)
{
    hr_thread_pool_unref(s->pool);
    fixture_remove(&s->files);
}

static hr_pipeline *make(shared *s, int threads, bool alone)
{
    hr_error error = {0};
    hr_pipeline *p = NULL;
    hr_pipeline_options options = fixture_options(4, threads);
    options.thread_pool = alone ? NULL : s->pool;
    if (fixture_pipeline(&s->files, &s->graph, &options, &p, &error) != HR_STATUS_OK)
        printf("%s\n", error.message);
    return p;
}

/* The hash of everything that `runs` iterations return; 0: one failed. */
static uint64_t hash_of(hr_pipeline *p, int runs)
{
    uint64_t hash = 1;
    for (int i = 0; i < runs; i++) {
        hr_error error = {0};
        hr_outputs *o = NULL;
        if (hr_pipeline_run(p, -1, &o, &error) != HR_STATUS_OK)
            return 0;
        for (int k = 0; k < hr_batch_size(hr_outputs_batch(o, 0)); k++)
            hash = hash * 31 + fixture_hash(hr_batch_tensor(hr_outputs_batch(o, 0), k));
        hr_outputs_unref(o);
    }
    return hash;
}

TEST(pipelines_that_share_threads_give_the_same_bytes)
{
    shared s;
    hr_pipeline *p[MANY];
    CHECK(begin(&s, 3));
    hr_pipeline *alone = make(&s, 4, true);
    CHECK(alone);
    uint64_t expected = hash_of(alone, RUNS);
    hr_pipeline_destroy(alone);
    CHECK(expected != 0);
    int threads = waiting_threads();
    for (int i = 0; i < MANY; i++) {
        p[i] = make(&s, 1 + i % 5, false);
        CHECK(p[i]);
    }
    CHECK(hr_thread_pool_threads(s.pool) == 3);
    for (int i = 0; i < MANY; i++)
        CHECK(hash_of(p[i], RUNS) == expected);
    WAIT_FOR(waiting_threads() <= threads + 3); /* their read-ahead threads have ended */
    for (int i = 0; i < MANY; i++)
        hr_pipeline_destroy(p[i]);
    CHECK(hr_thread_pool_threads(s.pool) == 0);
    end(&s);
}

typedef struct runner {
    pthread_t thread;
    hr_pipeline *pipeline;
    uint64_t hash;
} runner;

static void *runner_main(void *context)
{
    runner *r = context;
    r->hash = hash_of(r->pipeline, 20 * RUNS);
    return NULL;
}

/* One thread for all: pipelines take turns, and are destroyed while others run. */
TEST(pipelines_that_run_at_once_take_turns)
{
    shared s;
    runner r[RUNNERS];
    CHECK(begin(&s, 1));
    hr_pipeline *alone = make(&s, 2, true);
    CHECK(alone);
    uint64_t expected = hash_of(alone, 20 * RUNS);
    hr_pipeline_destroy(alone);
    for (int i = 0; i < RUNNERS; i++) {
        r[i].pipeline = make(&s, 2, false);
        CHECK(r[i].pipeline);
        CHECK(pthread_create(&r[i].thread, NULL, runner_main, &r[i]) == 0);
    }
    for (int i = 0; i < RUNNERS; i++) {
        pthread_join(r[i].thread, NULL);
        CHECK(r[i].hash == expected && expected != 0);
        hr_pipeline_destroy(r[i].pipeline);
    }
    CHECK(hr_thread_pool_threads(s.pool) == 0);
    end(&s);
}

/* A pool without a limit of its own has what its pipelines ask for, and ends what is too much. */
TEST(a_pool_grows_and_shrinks_with_its_pipelines)
{
    shared s;
    CHECK(begin(&s, 0));
    CHECK(hr_thread_pool_threads(s.pool) == 0);
    hr_pipeline *small = make(&s, 2, false), *large = make(&s, 5, false);
    CHECK(small && large && hr_thread_pool_threads(s.pool) == 7);
    hr_pipeline_destroy(large);
    WAIT_FOR(hr_thread_pool_threads(s.pool) == 2);
    CHECK(hash_of(small, RUNS) != 0);
    hr_pipeline_destroy(small);
    CHECK(hr_thread_pool_threads(s.pool) == 0);
    end(&s);
}

TEST_MAIN
