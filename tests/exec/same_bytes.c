/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A sample has the same bytes whatever the number of threads, batch size, shards, CPU level, fusion
 * and resuming. */
#include "exec/fixture.h"
#include "test.h"

#define FILES 37
#define EPOCHS 2

typedef struct table {
    uint64_t hash[EPOCHS][FILES];
} table;

typedef struct variant {
    const char *what;
    int batch_size, threads, shards, level;
    bool unfused;
    int resume_every; /* iterations between checkpoint and a new pipeline; 0: never */
} variant;

/* The epoch of the k-th sample of a shard is how often its file occurred before. */
static int run_shard(const fixture *f, const variant *v, int shard, table *t, hr_error *error)
{
    fixture_graph o = {
        .random_shuffle = true, .num_shards = v->shards, .shard_id = shard, .images = true};
    hr_pipeline_options options = fixture_options(v->batch_size, v->threads);
    hr_pipeline *p = NULL;
    char *state = NULL;
    int left = 0, seen[FILES] = {0};
    options.cpu_level = v->level;
    options.fuse = !v->unfused;
    if (fixture_pipeline(f, &o, &options, &p, error) != HR_STATUS_OK)
        return -1;
    for (int e = 0; e < EPOCHS; e++) {
        int s = (shard + e) % v->shards;
        left += FILES * (s + 1) / v->shards - FILES * s / v->shards;
    }
    for (int k = 0, it = 0; k < left; it++) {
        hr_outputs *out;
        if (v->resume_every && it > 0 && it % v->resume_every == 0) {
            size_t size;
            if (hr_pipeline_checkpoint(p, &state, &size, error) != HR_STATUS_OK)
                return -1;
            hr_pipeline_destroy(p);
            options.checkpoint = state;
            options.checkpoint_size = size;
            if (fixture_pipeline(f, &o, &options, &p, error) != HR_STATUS_OK)
                return -1;
            hr_string_free(state);
        }
        if (hr_pipeline_run(p, -1, &out, error) != HR_STATUS_OK)
            return -1;
        for (int i = 0; i < v->batch_size && k < left; i++, k++) {
            int number = fixture_number(out, i);
            int e = v->shards == 1 ? seen[number]++ : -1;
            if (v->shards >
                1) { /* shards are visited in order: the position determines the epoch */
                int s = shard % v->shards,
                    first = FILES * (s + 1) / v->shards - FILES * s / v->shards;
                e = k < first ? 0 : 1;
            }
            t->hash[e][number] = fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), i));
        }
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
    return 0;
}

TEST(same_bytes)
{
    static const variant variants[] = {
        {"reference", 4, 1, 1, 0, false, 0},
        {"2 threads", 4, 2, 1, 0, false, 0},
        {"8 threads", 4, 8, 1, 0, false, 0},
        {"batch 1", 1, 3, 1, 0, false, 0},
        {"batch 64", 64, 3, 1, 0, false, 0},
        {"batch 64, 1 thread", 64, 1, 1, 0, false, 0},
        {"4 shards", 4, 2, 4, 0, false, 0},
        {"base", 4, 2, 1, 1, false, 0},
        {"v3", 4, 2, 1, 2, false, 0},
        {"v4", 4, 2, 1, 3, false, 0},
        {"unfused", 4, 2, 1, 0, true, 0},
        {"resumed", 4, 2, 1, 0, false, 3},
        {"resumed in 4 shards", 3, 2, 4, 1, true, 1},
    };
    static table reference, other;
    hr_error error = {0};
    fixture f;
    fixture_make(&f, FILES);
    for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
        memset(&other, 0, sizeof(other));
        for (int s = 0; s < variants[v].shards; s++)
            if (run_shard(&f, &variants[v], s, &other, &error) != 0)
                printf("%s: %s\n", variants[v].what, error.message);
        if (v == 0)
            reference = other;
        for (int e = 0; e < EPOCHS; e++)
            for (int i = 0; i < FILES; i++)
                if (other.hash[e][i] == 0 || other.hash[e][i] != reference.hash[e][i])
                    printf("%s: epoch %d, file %d differs\n", variants[v].what, e, i);
        CHECK(memcmp(&other, &reference, sizeof(other)) == 0);
    }
    CHECK(memcmp(reference.hash[0], reference.hash[1], sizeof(reference.hash[0])) != 0);
    fixture_remove(&f);
}

TEST_MAIN
