/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* CPU time per position of a shuffled epoch, and what changing the number of shards costs, by the
 * number of samples and shards; and the time per position of a process of a job. */
#include <stdio.h>
#include <time.h>

#include "readers/sampler.h"

#define POSITIONS 1000000

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int measure(int64_t count, int32_t shards)
{
    hr_sampler_args args = {.num_shards = shards, .random_shuffle = 1, .pad_last_batch = 1};
    hr_sampler s;
    int64_t sum = 0, size = count / shards;
    args.shuffle_after_epoch_seed = -1;
    if (hr_sampler_init(&s, &args, count, 1, 1, 99, NULL) != HR_STATUS_OK)
        return 1;
    double begin = cpu_seconds();
    for (int64_t i = 0; i < POSITIONS; i++)
        sum += hr_sampler_at(&s, i).index;
    double walked = cpu_seconds();
    args.num_shards = shards > 1 ? shards - 1 : 2;
    if (hr_sampler_resplit(&s, size / 2, &args, 1, 1, NULL) != HR_STATUS_OK)
        return 1;
    double split = cpu_seconds();
    for (int64_t i = 0; i < POSITIONS; i++)
        sum += hr_sampler_at(&s, i).index;
    double rest = cpu_seconds();
    printf("{\"samples\": %lld, \"shards\": %d, \"ns_per_position\": %.1f, \"resplit_ms\": %.3f, "
           "\"ns_per_position_of_rest\": %.1f, \"bytes\": %zu, \"bytes_of_rest\": %zu, "
           "\"check\": %lld}\n",
           (long long)count, shards, (walked - begin) / POSITIONS * 1e9, (split - walked) * 1e3,
           (rest - split) / POSITIONS * 1e9, sizeof(s), (size_t)s.rest_parts * sizeof(*s.rest),
           (long long)(sum % 1000));
    hr_sampler_fini(&s);
    return 0;
}

/* A job of `ranks` processes with batches of 8,192 samples. */
static int measure_job(int64_t count, int32_t ranks)
{
    hr_sampler_args args = {.num_shards = ranks,
                            .shard_id = ranks / 2,
                            .random_shuffle = 1,
                            .pad_last_batch = 1,
                            .global_batch = 8192,
                            .shuffle_after_epoch_seed = -1};
    hr_sampler s;
    int64_t sum = 0;
    if (hr_sampler_init(&s, &args, count, 1, 1, 99, NULL) != HR_STATUS_OK)
        return 1;
    double begin = cpu_seconds();
    for (int64_t i = 0; i < POSITIONS; i++)
        sum += hr_sampler_at(&s, i).index;
    double walked = cpu_seconds();
    printf("{\"samples\": %lld, \"ranks\": %d, \"ns_per_position\": %.1f, \"bytes\": %zu, "
           "\"check\": %lld}\n",
           (long long)count, ranks, (walked - begin) / POSITIONS * 1e9, sizeof(s),
           (long long)(sum % 1000));
    hr_sampler_fini(&s);
    return 0;
}

int main(void)
{
    int failed = 0;
    for (int64_t count = 10000000; count <= 10000000000; count *= 10)
        failed |= measure(count, 1) | measure(count, 1024) | measure(count, 10000) |
                  measure_job(count, 3) | measure_job(count, 1024);
    return failed;
}
