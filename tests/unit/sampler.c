/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The sampler against walks that count items one by one, as the reference implementation does. */
#include "readers/sampler.h"

#include <stdlib.h>

#include "test.h"

static hr_sampler make(int64_t count, int32_t batch, hr_sampler_args args)
{
    hr_sampler s = {0};
    args.num_shards = args.num_shards ? args.num_shards : 1;
    args.shuffle_after_epoch_seed = -1;
    if (hr_sampler_init(&s, &args, count, 1, batch, 99, NULL) != HR_STATUS_OK)
        s.count = -1;
    return s;
}

static bool gives(const hr_sampler *s, const int *expect, int n)
{
    for (int i = 0; i < n; i++)
        if (hr_sampler_at(s, i).index != expect[i])
            return false;
    return true;
}

TEST(ten_files_three_shards)
{
    hr_sampler next = make(10, 4, (hr_sampler_args){.num_shards = 3});
    hr_sampler padded = make(10, 4, (hr_sampler_args){.num_shards = 3, .pad_last_batch = 1});
    hr_sampler sticky =
        make(10, 4, (hr_sampler_args){.num_shards = 3, .shard_id = 1, .stick_to_shard = 1});
    CHECK(gives(&next, (int[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1}, 12));
    CHECK(gives(&padded, (int[]){0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 9, 0, 1, 2, 2}, 16));
    CHECK(gives(&sticky, (int[]){3, 4, 5, 3, 4, 5, 3}, 7));
    CHECK(hr_sampler_at(&padded, 3).repeat == 1 && hr_sampler_at(&padded, 2).repeat == 0);
    CHECK(hr_sampler_at(&padded, 4).epoch == 1 && hr_sampler_at(&next, 5).epoch == 1);
    hr_reader_meta meta;
    hr_sampler_meta(&next, &meta);
    CHECK(meta.epoch_size == 10 && meta.epoch_size_padded == 10);
    hr_sampler_meta(&padded, &meta);
    CHECK(meta.epoch_size == 10 && meta.epoch_size_padded == 12);
}

/* Counts shard by shard, as the reference reader does. */
static bool same_as_walk(int64_t count, int32_t batch, hr_sampler_args args)
{
    hr_sampler s = make(count, batch, args);
    int64_t n = s.args.num_shards, largest = (count + n - 1) / n, position = 0;
    for (int64_t epoch = 0; epoch < 7; epoch++) {
        int64_t shard = args.stick_to_shard ? args.shard_id : (args.shard_id + epoch) % n;
        int64_t start = count * shard / n, size = count * (shard + 1) / n - start, length = size;
        if (args.pad_last_batch)
            length = (largest + batch - 1) / batch * batch;
        for (int64_t i = 0; i < length; i++, position++) {
            hr_sampler_item at = hr_sampler_at(&s, position);
            int64_t repeat = HR_MAX(i - size + 1, 0);
            if (at.epoch != epoch || at.repeat != repeat || at.index != start + i - repeat)
                return false;
        }
    }
    return true;
}

TEST(every_small_case_is_the_walk)
{
    for (int32_t n = 1; n <= 5; n++)
        for (int64_t count = n; count < 14; count++)
            for (int32_t flags = 0; flags < 4; flags++)
                for (int32_t shard = 0; shard < n; shard++)
                    CHECK(same_as_walk(count, 3,
                                       (hr_sampler_args){.num_shards = n,
                                                         .shard_id = shard,
                                                         .stick_to_shard = flags & 1,
                                                         .pad_last_batch = flags >> 1}));
}

TEST(shuffles_are_complete_and_differ_by_epoch)
{
    for (int whole = 0; whole < 2; whole++) {
        int seen[4][101] = {{0}};
        int64_t order[4][101];
        for (int32_t shard = 0; shard < 4; shard++) {
            hr_sampler s = make(101, 8,
                                (hr_sampler_args){.num_shards = 4,
                                                  .shard_id = shard,
                                                  .random_shuffle = !whole,
                                                  .shuffle_after_epoch = whole});
            int moved = 0;
            for (int64_t p = 0, k = 0; hr_sampler_at(&s, p).epoch < 4; p++, k++) {
                hr_sampler_item at = hr_sampler_at(&s, p);
                seen[at.epoch][at.index]++;
                k = p > 0 && at.epoch != hr_sampler_at(&s, p - 1).epoch ? 0 : k;
                order[at.epoch][k] = at.index;
                moved += k > 0 && order[at.epoch][k] != order[at.epoch][k - 1] + 1;
            }
            CHECK(moved > 50);
        }
        for (int e = 0; e < 4; e++) /* the shards of an epoch are disjoint and complete */
            for (int i = 0; i < 101; i++)
                CHECK(seen[e][i] == 1);
    }
}

TEST(shuffle_after_epoch_ignores_the_seed)
{
    hr_sampler_args args = {
        .num_shards = 1, .shuffle_after_epoch = 1, .shuffle_after_epoch_seed = 5};
    hr_sampler a, b, c;
    CHECK(hr_sampler_init(&a, &args, 50, 1, 4, 1, NULL) == HR_STATUS_OK);
    CHECK(hr_sampler_init(&b, &args, 50, 1, 4, 2, NULL) == HR_STATUS_OK);
    args.shuffle_after_epoch_seed = 6;
    CHECK(hr_sampler_init(&c, &args, 50, 1, 4, 1, NULL) == HR_STATUS_OK);
    int differ = 0;
    for (int64_t p = 0; p < 100; p++) {
        CHECK(hr_sampler_at(&a, p).index == hr_sampler_at(&b, p).index);
        differ += hr_sampler_at(&a, p).index != hr_sampler_at(&c, p).index;
    }
    CHECK(differ > 50);
}

TEST(replacements_stay_in_epoch_and_shard)
{
    hr_sampler s =
        make(100, 8, (hr_sampler_args){.num_shards = 4, .shard_id = 2, .random_shuffle = 1});
    int differ = 0;
    for (int64_t p = 0; p < 25; p++)
        for (int32_t attempt = 1; attempt <= 16; attempt++) {
            hr_sampler_item at = hr_sampler_replace(&s, p, attempt);
            CHECK(at.epoch == 0 && at.index >= 50 && at.index < 75 && at.repeat != 0);
            differ += at.index != hr_sampler_at(&s, p).index;
        }
    CHECK(differ > 300);
}

TEST(wrong_settings_are_refused)
{
    hr_error error = {0};
    hr_sampler s;
    hr_sampler_args args = {.num_shards = 2, .shard_id = 2};
    CHECK(hr_sampler_init(&s, &args, 10, 1, 4, 0, &error) == HR_STATUS_ERROR &&
          strstr(error.message, "shard_id"));
    args = (hr_sampler_args){.num_shards = 11};
    CHECK(hr_sampler_init(&s, &args, 10, 1, 4, 0, &error) == HR_STATUS_ERROR &&
          strstr(error.message, "input samples: 10"));
    args = (hr_sampler_args){.num_shards = 1, .shuffle_after_epoch = 1, .stick_to_shard = 1};
    CHECK(hr_sampler_init(&s, &args, 10, 1, 4, 0, &error) == HR_STATUS_ERROR);
}

TEST(positions_far_away_cost_nothing)
{
    hr_sampler s =
        make(1281167, 256, (hr_sampler_args){.num_shards = 8, .shard_id = 3, .random_shuffle = 1});
    for (int64_t p = 0; p < 1000; p++) {
        hr_sampler_item at = hr_sampler_at(&s, p * 1000000007);
        CHECK(at.index >= 0 && at.index < 1281167 && at.epoch > 0 - (p == 0));
    }
}

/* Each epoch has every item of the shard once, and a window of positions touches few chunks. */
static bool chunks_hold(int64_t count, int64_t chunk, int32_t fill, int32_t shards)
{
    hr_sampler_args args = {.random_shuffle = 1, .initial_fill = fill, .num_shards = shards};
    hr_sampler s;
    unsigned char *seen = calloc((size_t)count, 1);
    bool ok = seen && hr_sampler_init(&s, &args, count, chunk, 8, 7, NULL) == HR_STATUS_OK;
    int64_t last_chunk = -1, changes = 0, moved = 0;
    for (int64_t position = 0; ok && position < 2 * count; position++) {
        hr_sampler_item at = hr_sampler_at(&s, position);
        ok = at.index >= 0 && at.index < count && seen[at.index]++ == (position >= count);
        moved += at.index != position % count;
        changes += fill == 1 && at.index / chunk != last_chunk;
        last_chunk = at.index / chunk;
    }
    free(seen);
    /* Not mixed within a window, a chunk is read in one go: once per epoch, and shards may cut it.
     */
    int64_t chunks = 2 * (count / chunk + 1) + 4 * (int64_t)shards;
    return ok && (fill > 1 || changes <= chunks + 2 * count / chunk) &&
           (moved > count || count < 4 * chunk);
}

TEST(shuffled_chunks)
{
    CHECK(hr_sampler_chunk(2, 1000000, 100000) == 41);
    CHECK(hr_sampler_chunk(2, 1280, 100) == 10 && hr_sampler_chunk(2, 5, 100) == 1);
    CHECK(hr_sampler_chunk(2, 1000000, INT64_MAX) == 1);
    CHECK(chunks_hold(1000, 16, 64, 1));
    CHECK(chunks_hold(1000, 16, 1, 1));
    CHECK(chunks_hold(1000, 7, 1, 3));
    CHECK(chunks_hold(1003, 10, 1024, 4));
    CHECK(chunks_hold(5, 16, 3, 1));
    CHECK(chunks_hold(64, 64, 5, 2));
    CHECK(chunks_hold(100000, 100, 1000, 8));
}

/* The items of one window come from as many neighbouring chunks as fit into it. */
TEST(windows_stay_local)
{
    hr_sampler_args args = {.random_shuffle = 1, .initial_fill = 256, .num_shards = 1};
    hr_sampler s;
    bool different = false;
    CHECK(hr_sampler_init(&s, &args, 64 * 100, 64, 8, 7, NULL) == HR_STATUS_OK);
    for (int64_t window = 0; window < 25; window++) {
        int chunks = 0;
        bool touched[100] = {false};
        for (int64_t i = 0; i < 256; i++) {
            int64_t at = hr_sampler_at(&s, window * 256 + i).index;
            chunks += !touched[at / 64];
            touched[at / 64] = true;
            different = different || at != hr_sampler_at(&s, 6400 + window * 256 + i).index;
        }
        CHECK(chunks == 4);
    }
    CHECK(different);
}

TEST_MAIN
