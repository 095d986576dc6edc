/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The parts of a job, against a count of positions one by one, and against the order and the epochs
 * of one process that is not part of a job. */
#include "readers/sampler.h"

#include "test.h"

#define BATCHES 9
#define RANKS 12

/* Goes through the positions of some batches; counts in `seen` those of the process. */
static bool deals(const hr_cut *cut, int *seen)
{
    int64_t size = hr_cut_count(cut, cut->batch), at = 0;
    if (size != cut->batch / cut->ranks && size != cut->batch / cut->ranks + 1)
        return false;
    for (int64_t p = 0; p < BATCHES * cut->batch; p++) {
        if (hr_cut_count(cut, p) != at)
            return false;
        if (p % cut->batch % cut->ranks != cut->rank)
            continue;
        if (hr_cut_position(cut, at++) != p)
            return false;
        seen[p]++;
    }
    return at == BATCHES * size;
}

TEST(every_position_is_dealt_once)
{
    for (int32_t batch = 1; batch <= 40; batch++)
        for (int32_t ranks = 1; ranks <= batch; ranks++) {
            int seen[BATCHES * 40] = {0};
            for (int32_t rank = 0; rank < ranks; rank++)
                CHECK(deals(&(hr_cut){batch, ranks, rank}, seen));
            for (int p = 0; p < BATCHES * batch; p++)
                CHECK(seen[p] == 1);
        }
}

TEST(large_jobs)
{
    hr_cut cut = {1 << 30, 1 << 20, 12345};
    int64_t far = (int64_t)1 << 50;
    CHECK(hr_cut_count(&cut, far) == far >> 20);
    CHECK(hr_cut_position(&cut, far >> 20) == far + 12345);
    CHECK(hr_cut_count(&cut, far + 12345) == far >> 20);
    CHECK(hr_cut_count(&cut, far + 12346) == (far >> 20) + 1);
}

static hr_status open_part(hr_sampler *s, hr_sampler_args args, int64_t count, int32_t batch,
                           int32_t ranks, int32_t rank, hr_error *error)
{
    args.global_batch = ranks > 0 ? batch : -1;
    args.num_shards = HR_MAX(ranks, 1);
    args.shard_id = rank;
    args.shuffle_after_epoch_seed = -1;
    return hr_sampler_init(s, &args, count, 3, batch, 77, error);
}

TEST(the_order_is_that_of_one_process)
{
    for (int k = 0; k < 8; k++) {
        hr_sampler_args args = {
            .random_shuffle = k & 1, .initial_fill = 5, .pad_last_batch = (k & 2) != 0};
        int32_t batch = k & 4 ? 10 : 64;
        hr_error error = {0};
        hr_sampler whole, part;
        CHECK_OK(open_part(&whole, args, 53, batch, 0, 0, &error), error);
        for (int32_t ranks = 1; ranks <= 7; ranks += 3)
            for (int32_t rank = 0; rank < ranks; rank++) {
                CHECK_OK(open_part(&part, args, 53, batch, ranks, rank, &error), error);
                for (int64_t i = 0; i < 150; i++) {
                    int64_t p = hr_cut_position(&part.cut, i);
                    hr_sampler_item a = hr_sampler_at(&whole, p), b = hr_sampler_at(&part, i);
                    CHECK(a.index == b.index && a.epoch == b.epoch && a.repeat == b.repeat);
                    a = hr_sampler_replace(&whole, p, 2);
                    b = hr_sampler_replace(&part, i, 2);
                    CHECK(a.index == b.index && a.epoch == b.epoch && a.repeat == b.repeat);
                }
            }
    }
}

TEST(fewer_items_than_processes)
{
    hr_error error = {0};
    hr_sampler s;
    CHECK_OK(open_part(&s, (hr_sampler_args){0}, 2, 8, 8, 5, &error), error);
    CHECK(hr_sampler_at(&s, 0).index == 1 && hr_sampler_at(&s, 0).epoch == 2);
    CHECK(open_part(&s, (hr_sampler_args){0}, 2, 8, 9, 5, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "at least num_shards"));
}

/* The epochs of a job and those of one process with its batches: the parts add up to the whole. */
static bool epochs_agree(const hr_reader_meta *one, hr_epoch_rule rule, int32_t ranks)
{
    hr_reader_meta job = *one;
    hr_epoch_place place = {0}, other = {0};
    hr_epoch_rule own = rule;
    job.global_batch = rule.batch_size;
    job.number_of_shards = ranks;
    own.batch_size = (rule.batch_size + ranks - 1) / ranks;
    for (int step = 0; step < 60; step++) {
        hr_epoch whole, part;
        int64_t keep = 0, real = 0, last = 0, size = 0;
        if (hr_epoch_at(one, &rule, &other, 0, &whole, NULL) != HR_STATUS_OK)
            return false;
        for (int32_t rank = 0; rank < ranks; rank++) {
            job.shard_id = rank;
            hr_cut cut = {rule.batch_size, ranks, rank};
            if (hr_epoch_at(&job, &own, &place, rank, &part, NULL) != HR_STATUS_OK ||
                part.length != whole.length || part.left != whole.left || part.drop != whole.drop ||
                part.carried != whole.carried || part.keep != hr_cut_count(&cut, whole.keep) ||
                part.own != whole.own - (whole.own > 0 && hr_cut_count(&cut, whole.last) == 0))
                return false;
            keep += part.keep;
            real += part.real;
            size += part.size;
            last += part.last;
        }
        if (keep != whole.keep || real != whole.real || size != whole.size)
            return false;
        if (whole.last == rule.batch_size && last != whole.last)
            return false;
        if (whole.left > 0 || whole.drop) {
            place.taken += rule.batch_size;
            other.taken += rule.batch_size;
        } else if (hr_epoch_next(&job, &own, &place, NULL) != HR_STATUS_OK ||
                   hr_epoch_next(one, &rule, &other, NULL) != HR_STATUS_OK) {
            return false;
        }
        if (place.number != other.number || place.begin != other.begin)
            return false;
    }
    return true;
}

TEST(epochs_of_a_job)
{
    for (int64_t count = 1; count < 40; count += 3)
        for (int32_t batch = 1; batch < 24; batch += 2)
            for (int32_t ranks = 1; ranks <= HR_MIN(batch, RANKS); ranks++)
                for (int k = 0; k < 6; k++) {
                    hr_epoch_rule rule = {.batch_size = batch, .last_batch = k % 3};
                    hr_reader_meta meta = {
                        .epoch_size = count, .number_of_shards = 1, .pad_last_batch = k >= 3};
                    CHECK(epochs_agree(&meta, rule, ranks));
                }
}

TEST(batches_left_out_across_the_end_of_an_epoch)
{
    hr_reader_meta meta = {
        .epoch_size = 25, .number_of_shards = 2, .pad_last_batch = true, .global_batch = 10};
    hr_epoch_rule rule = {.batch_size = 5, .last_batch = HR_LAST_BATCH_PARTIAL};
    hr_epoch_place place = {.taken = 50}; /* an epoch is 30 positions */
    CHECK(hr_epoch_next(&meta, &rule, &place, NULL) == HR_STATUS_OK);
    CHECK(place.number == 1 && place.begin == 30 && place.taken == 20);
}

TEST(jobs_that_make_no_sense)
{
    hr_epoch_rule rule = {.batch_size = 5};
    hr_epoch_place place = {0};
    hr_epoch e;
    hr_reader_meta good = {.epoch_size = 25, .number_of_shards = 2, .global_batch = 10};
    CHECK(hr_epoch_at(&good, &rule, &place, 1, &e, NULL) == HR_STATUS_OK);
    CHECK(hr_epoch_at(&good, &rule, &place, 2, &e, NULL) == HR_STATUS_VALUE);
    for (int k = 0; k < 5; k++) {
        hr_reader_meta bad = good;
        bad.global_batch = k == 0 ? -1 : k == 1 ? 1 : k == 2 ? (int64_t)1 << 40 : 10;
        bad.rest_size = k == 3;
        bad.epoch_size = k == 4 ? 0 : 25;
        CHECK(hr_epoch_at(&bad, &rule, &place, 0, &e, NULL) == HR_STATUS_VALUE);
    }
}

TEST_MAIN
