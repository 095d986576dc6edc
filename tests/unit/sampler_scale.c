/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The sampler with 10^10 items in 10,000 shards: whole shards are walked, and all are compared by
 * their ranges. */
#include "readers/sampler.h"

#include "test.h"

#define COUNT INT64_C(10000000000)
#define SHARDS 10000
#define SIZE (COUNT / SHARDS)
#define TAKEN 400000 /* positions of each shard before their number changes */

static hr_sampler make(int64_t chunk, hr_sampler_args args)
{
    hr_sampler s = {0};
    args.shuffle_after_epoch_seed = -1;
    if (hr_sampler_init(&s, &args, COUNT, chunk, 100, 99, NULL) != HR_STATUS_OK)
        s.count = -1;
    return s;
}

/* Notes an item of the range that begins at `first`; false: it is outside, or was noted before. */
static bool note(uint8_t *seen, int64_t first, int64_t index)
{
    if (index < first || index >= first + SIZE || seen[index - first])
        return false;
    seen[index - first] = 1;
    return true;
}

TEST(ranges_of_shards_are_a_partition)
{
    const int32_t shards[] = {1, 7, 9999, SHARDS, 10007};
    for (int k = 0; k < 5; k++) {
        int32_t n = shards[k];
        CHECK(hr__sampler_shard_start(COUNT, 0, n) == 0);
        CHECK(hr__sampler_shard_start(COUNT, n, n) == COUNT);
        for (int64_t i = 0; i < n; i++) {
            int64_t size =
                hr__sampler_shard_start(COUNT, i + 1, n) - hr__sampler_shard_start(COUNT, i, n);
            CHECK(size == COUNT / n || size == COUNT / n + 1);
        }
    }
}

/* Every item of a shard comes exactly once in an epoch. */
static bool walks(hr_sampler s, int64_t epoch, uint8_t *seen)
{
    int64_t shard = (s.args.shard_id + epoch) % SHARDS;
    memset(seen, 0, SIZE);
    for (int64_t i = 0; i < SIZE; i++) {
        hr_sampler_item at = hr_sampler_at(&s, epoch * SIZE + i);
        if (at.epoch != epoch || !note(seen, shard * SIZE, at.index))
            return false;
    }
    return true;
}

TEST(shards_are_walked_whole)
{
    uint8_t *seen = hr_calloc(SIZE, 1, NULL);
    const int32_t shards[] = {0, 4711, SHARDS - 1};
    CHECK(seen);
    for (int k = 0; k < 3; k++) {
        hr_sampler_args args = {.num_shards = SHARDS, .shard_id = shards[k], .random_shuffle = 1};
        args.pad_last_batch = 1;
        args.initial_fill = 1024;
        CHECK(walks(make(1, args), k * 1000003, seen));
        CHECK(walks(make(40, args), k * 1000003, seen));
    }
    hr_free(seen);
}

/* Position 0 .. of the new shards that have entries `first` .. `end` - 1 of the rest. */
static bool walk_rest(hr_sampler *s, int64_t first, int64_t end, uint8_t *seen, int64_t range)
{
    int64_t rest = hr_sampler_rest(s);
    int32_t n = s->args.num_shards;
    for (int64_t i = first; i < end; i++) {
        int64_t lane = ((i + 1) * n - 1) / rest;
        s->args.shard_id = (int32_t)lane;
        hr_sampler_item at = hr_sampler_at(s, i - hr__sampler_shard_start(rest, lane, n));
        if (at.epoch != 0 || at.repeat != 0 || !note(seen, range, at.index))
            return false;
    }
    return true;
}

/* A node is lost: what 10,000 shards have left is split among 9,999. */
TEST(a_lost_shard_loses_and_repeats_nothing)
{
    uint8_t *seen = hr_calloc(SIZE, 1, NULL);
    CHECK(seen);
    hr_sampler_args args = {.num_shards = SHARDS, .random_shuffle = 1, .pad_last_batch = 1};
    const int32_t shards[] = {0, 4711, SHARDS - 1};
    for (int k = 0; k < 3; k++) {
        memset(seen, 0, SIZE);
        args.shard_id = shards[k];
        hr_sampler s = make(1, args);
        for (int64_t i = 0; i < TAKEN; i++)
            CHECK(note(seen, shards[k] * SIZE, hr_sampler_at(&s, i).index));
        hr_sampler_args fewer = s.args;
        fewer.num_shards = SHARDS - 1;
        fewer.shard_id = 0;
        CHECK(hr_sampler_resplit(&s, TAKEN, &fewer, 1, 100, NULL) == HR_STATUS_OK);
        CHECK(s.rest_parts == SHARDS && hr_sampler_rest(&s) == COUNT - (int64_t)TAKEN * SHARDS);
        int64_t left = SIZE - TAKEN, first = shards[k] * left;
        CHECK(walk_rest(&s, first, first + left, seen, shards[k] * SIZE));
        CHECK(memchr(seen, 0, SIZE) == NULL);
        hr_sampler_fini(&s);
    }
    hr_free(seen);
}

TEST_MAIN
