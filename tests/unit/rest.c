/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Changes of the number of shards, against a count of what all shards have read: each item exactly
 * once per epoch, whenever the number changes. */
#include "readers/sampler.h"

#include <stdlib.h>

#include "test.h"

#define EPOCHS 160
#define ITEMS 40
#define CHANGES 4

typedef struct run {
    hr_sampler_args args;
    int64_t count, chunk;
    int32_t batch[CHANGES], shards[CHANGES];
    int64_t position[CHANGES]; /* where the number of shards changes; in the end, where to stop */
    int changes;
    int seen[EPOCHS][ITEMS];
    hr_sampler s;
} run;

/* All lanes read up to `position`. */
static bool read_all(run *r, int64_t position)
{
    hr_sampler lane = r->s;
    for (lane.args.shard_id = 0; lane.args.shard_id < lane.args.num_shards; lane.args.shard_id++)
        for (int64_t p = 0; p < position; p++) {
            hr_sampler_item at = hr_sampler_at(&lane, p);
            if (at.epoch < 0 || at.epoch >= EPOCHS || at.index < 0 || at.index >= r->count)
                return false;
            r->seen[at.epoch][at.index] += at.repeat == 0;
        }
    return true;
}

/* Every epoch that is behind all lanes was read exactly once, and no item of a later one twice. */
static bool complete(const run *r, int64_t position)
{
    int64_t low = INT64_MAX;
    for (int64_t lane = 0; lane < r->s.args.num_shards; lane++)
        low = HR_MIN(low, hr__sampler_place(&r->s, lane, position).epoch);
    for (int64_t e = 0; e < EPOCHS; e++)
        for (int64_t i = 0; i < r->count; i++)
            if (e < low ? r->seen[e][i] != 1 : r->seen[e][i] > 1)
                return false;
    return low > r->s.first_epoch;
}

static bool run_all(run *r)
{
    hr_sampler_args args = r->args;
    memset(r->seen, 0, sizeof(r->seen));
    args.num_shards = r->shards[0];
    args.shuffle_after_epoch_seed = -1;
    if (hr_sampler_init(&r->s, &args, r->count, r->chunk, r->batch[0], 99, NULL) != HR_STATUS_OK)
        return false;
    bool ok = read_all(r, r->position[0]);
    for (int i = 1; i < r->changes && ok; i++) {
        args.num_shards = r->shards[i];
        ok = hr_sampler_resplit(&r->s, r->position[i - 1], &args, r->chunk + i, r->batch[i],
                                NULL) == HR_STATUS_OK &&
             read_all(r, r->position[i]);
    }
    ok = ok && complete(r, r->position[r->changes - 1]);
    hr_sampler_fini(&r->s);
    return ok;
}

static uint64_t state = 1;

static int64_t below(int64_t n)
{
    state = hr_mix(state, 77);
    return (int64_t)(state % (uint64_t)n);
}

/* Enough for two epochs after the rest. */
static int64_t enough(const run *r, int i)
{
    int64_t share = (r->count + r->shards[i] - 1) / r->shards[i] + 1;
    return 4 * (share + r->batch[i]);
}

static bool random_run(run *r, int flags)
{
    r->count = 1 + below(ITEMS);
    r->chunk = flags & 8 ? 1 + below(5) : 1;
    r->changes = 2 + (int)below(CHANGES - 1);
    r->args = (hr_sampler_args){.pad_last_batch = flags & 1,
                                .random_shuffle = (flags >> 1 & 3) == 1,
                                .shuffle_after_epoch = (flags >> 1 & 3) == 2,
                                .initial_fill = 1 + (int32_t)below(9)};
    r->args.stick_to_shard = (flags & 16) && r->args.pad_last_batch && !r->args.shuffle_after_epoch;
    for (int i = 0; i < r->changes; i++) {
        r->shards[i] = 1 + (int32_t)below(HR_MIN(r->count, 7));
        r->batch[i] = 1 + (int32_t)below(5);
        r->position[i] = below(below(2) ? enough(r, i) / 4 : enough(r, i));
    }
    r->position[r->changes - 1] = enough(r, r->changes - 1);
    return run_all(r);
}

TEST(each_item_once_whenever_the_number_changes)
{
    static run r;
    for (int k = 0; k < 8000; k++) {
        if (random_run(&r, k % 32))
            continue;
        fprintf(stderr, "run %d: %lld items, chunk %lld, pad %d, shuffle %d %d\n", k,
                (long long)r.count, (long long)r.chunk, r.args.pad_last_batch,
                r.args.random_shuffle, r.args.shuffle_after_epoch);
        for (int i = 0; i < r.changes; i++)
            fprintf(stderr, "  %d shards, batch %d, position %lld\n", r.shards[i], r.batch[i],
                    (long long)r.position[i]);
        CHECK(false);
        break;
    }
}

/* 10 items: 3 shards have 3, 3 and 4. */
TEST(three_two_five)
{
    static const int first[2][3] = {{1, 2, 4}, {5, 7, 8}}; /* 9 has no partner among three each */
    hr_sampler_args args = {.num_shards = 3, .shuffle_after_epoch_seed = -1};
    hr_sampler s;
    CHECK(hr_sampler_init(&s, &args, 10, 1, 1, 99, NULL) == HR_STATUS_OK);
    args.num_shards = 2;
    CHECK(hr_sampler_resplit(&s, 1, &args, 1, 1, NULL) == HR_STATUS_OK);
    CHECK(hr_sampler_rest(&s) == 7 && s.first_epoch == 1);
    for (int p = 0; p < 3; p++) {
        s.args.shard_id = 0;
        CHECK(hr_sampler_at(&s, p).index == first[0][p] && hr_sampler_at(&s, p).epoch == 0);
        s.args.shard_id = 1;
        CHECK(hr_sampler_at(&s, p).index == first[1][p]);
    }
    CHECK(hr_sampler_at(&s, 3).index == 9 && hr_sampler_at(&s, 4).index == 0);
    CHECK(hr_sampler_at(&s, 4).epoch == 1 && s.rest_parts == 3);
    args.num_shards = 5; /* 2, 4 | 7, 8, 9 are left: an equal part each */
    CHECK(hr_sampler_resplit(&s, 1, &args, 1, 1, NULL) == HR_STATUS_OK);
    static const int second[5] = {2, 4, 7, 8, 9};
    for (s.args.shard_id = 0; s.args.shard_id < 5; s.args.shard_id++) {
        CHECK(hr_sampler_at(&s, 0).index == second[s.args.shard_id]);
        CHECK(hr_sampler_at(&s, 1).index == (s.args.shard_id + 1) % 5 * 2);
        CHECK(hr_sampler_replace(&s, 0, 1).index == second[s.args.shard_id]);
    }
    CHECK(hr_sampler_rest(&s) == 5);
    hr_sampler_fini(&s);
}

/* Two shards of 2 and 3 that stay: the smaller one is in its second epoch when the other is not. */
TEST(shards_that_stay_go_by_the_slowest)
{
    hr_sampler_args args = {.num_shards = 2, .stick_to_shard = 1, .shuffle_after_epoch_seed = -1};
    hr_sampler s;
    CHECK(hr_sampler_init(&s, &args, 5, 1, 1, 99, NULL) == HR_STATUS_OK);
    args.num_shards = 1;
    CHECK(hr_sampler_resplit(&s, 2, &args, 1, 1, NULL) == HR_STATUS_OK);
    CHECK(hr_sampler_rest(&s) == 1 && hr_sampler_at(&s, 0).index == 4);
    for (int p = 0; p < 10; p++)
        CHECK(hr_sampler_at(&s, 1 + p).index == p % 5 &&
              hr_sampler_at(&s, 1 + p).epoch == 1 + p / 5);
    hr_sampler_fini(&s);
}

/* Shards without a part of the rest repeat what comes before it. */
TEST(padding_of_a_short_rest)
{
    hr_sampler_args args = {.num_shards = 1, .pad_last_batch = 1, .shuffle_after_epoch_seed = -1};
    hr_sampler s;
    CHECK(hr_sampler_init(&s, &args, 8, 1, 2, 99, NULL) == HR_STATUS_OK);
    args.num_shards = 4;
    CHECK(hr_sampler_resplit(&s, 6, &args, 1, 3, NULL) == HR_STATUS_OK);
    for (s.args.shard_id = 0; s.args.shard_id < 4; s.args.shard_id++) {
        bool has = s.args.shard_id % 2;
        for (int p = 0; p < 3; p++) {
            hr_sampler_item at = hr_sampler_at(&s, p);
            CHECK(at.index == (s.args.shard_id == 3 ? 7 : 6) && at.epoch == 0);
            CHECK(at.repeat == p + !has);
        }
        CHECK(hr_sampler_replace(&s, 1, 1).index == (s.args.shard_id == 3 ? 7 : 6));
        CHECK(hr_sampler_at(&s, 3).epoch == 1);
    }
    hr_sampler_fini(&s);
}

TEST(at_the_end_of_an_epoch_nothing_is_left)
{
    hr_sampler_args args = {.num_shards = 2, .random_shuffle = 1, .shuffle_after_epoch_seed = -1};
    hr_sampler s;
    CHECK(hr_sampler_init(&s, &args, 8, 1, 2, 99, NULL) == HR_STATUS_OK);
    args.num_shards = 4;
    CHECK(hr_sampler_resplit(&s, 12, &args, 1, 3, NULL) == HR_STATUS_OK);
    CHECK(hr_sampler_rest(&s) == 0 && s.first_epoch == 3 && hr_sampler_at(&s, 0).epoch == 3);
    args.num_shards = 9;
    hr_error error = {0};
    CHECK(hr_sampler_resplit(&s, 2, &args, 1, 3, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "8 items") != NULL);
    hr_sampler_fini(&s);
}

TEST_MAIN
