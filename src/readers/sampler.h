/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which item is at which position of a shard's endless stream: a pure function, O(1) per position.
 * After its shard a reader continues with the next one, unless stick_to_shard is set. Padded epochs
 * have the same number of full batches on all shards and repeat the last item. */
#ifndef HR_READERS_SAMPLER_H
#define HR_READERS_SAMPLER_H

#include "core/core.h"

typedef struct hr_sampler {
    hr_sampler_args args;
    int64_t count; /* items of the whole source */
    int64_t chunk; /* items that are read one after the other; 1: none */
    int32_t batch_size;
    uint64_t key; /* of the shuffle */
} hr_sampler;

typedef struct hr_sampler_item { /* what a position maps to */
    int64_t index;               /* number of the item */
    int64_t epoch;               /* of the position */
    int32_t repeat;              /* 0, or the number of the padded copy */
} hr_sampler_item;

/* How many neighbouring items of this mean size are worth reading one after the other: some
 * megabytes, but not so many that a shard has few chunks to shuffle. */
int64_t hr_sampler_chunk(const hr_sampler_args *args, int64_t count, int64_t mean_bytes);
/* `seed` as in hr_rng_node_seed. HR_STATUS_ERROR: no items, shard out of range, options that
 * exclude each other. */
hr_status hr_sampler_init(hr_sampler *s, const hr_sampler_args *args, int64_t count, int64_t chunk,
                          int32_t batch_size, uint64_t seed, hr_error *error);
hr_sampler_item hr_sampler_at(const hr_sampler *s, int64_t position);
/* Another item in place of a bad one, from the same epoch and shard, independent of batches.
 * `attempt`: 1, 2, ... */
hr_sampler_item hr_sampler_replace(const hr_sampler *s, int64_t position, int32_t attempt);
int64_t hr_sampler_shard_start(const hr_sampler *s, int64_t shard);
void hr_sampler_meta(const hr_sampler *s, hr_reader_meta *out);

/* The arguments of every reader; S is its args struct, whose first member is `hr_sampler_args
 * sampler`. */
#define HR_SAMPLER_ARG(S, arg, kind, flag, deflt, ...)                                             \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = (flag),                                 \
        .offset = offsetof(S, sampler.arg), .size = sizeof(((S *)0)->sampler.arg), .def = (deflt), \
        .doc = __VA_ARGS__                                                                         \
    }
#define HR_SAMPLER_ARG_DEFS(S)                                                                     \
    HR_SAMPLER_ARG(S, random_shuffle, BOOL, 0, "False",                                            \
                   "Read the items of a shard in a random order that changes every epoch."),       \
        HR_SAMPLER_ARG(S, initial_fill, INT, 0, "1024",                                            \
                       "Size of the shuffle window of sequential sources; lists of files are "     \
                       "shuffled as a whole.",                                                     \
                       .min = 1, .max = INT32_MAX),                                                \
        HR_SAMPLER_ARG(S, num_shards, INT, 0, "1",                                                 \
                       "Number of parts that the items are split into.", .min = 1,                 \
                       .max = INT32_MAX),                                                          \
        HR_SAMPLER_ARG(S, shard_id, INT, 0, "0", "Part that this reader begins with.", .min = 0,   \
                       .max = INT32_MAX),                                                          \
        HR_SAMPLER_ARG(                                                                            \
            S, stick_to_shard, BOOL, 0, "False",                                                   \
            "Read the same part in every epoch instead of continuing with the next one."),         \
        HR_SAMPLER_ARG(S, pad_last_batch, BOOL, 0, "False",                                        \
                       "Repeat the last item of the shard until the batch is full and all shards " \
                       "have the same number of batches."),                                        \
        HR_SAMPLER_ARG(S, shuffle_after_epoch, BOOL, 0, "False",                                   \
                       "Shuffle the whole list before every epoch, in the same order on all "      \
                       "shards, whatever their seed."),                                            \
        HR_SAMPLER_ARG(                                                                            \
            S, shuffle_after_epoch_seed, INT64, HR_ARG_OPTIONAL, NULL,                             \
            "Seed of the order of shuffle_after_epoch; must be the same on all shards."),          \
        HR_ARG_ACCEPT(read_ahead, BOOL, "False",                                                   \
                      "Accepted: files are always read ahead, up to a limit of bytes."),           \
        HR_ARG_ACCEPT(prefetch_queue_depth, INT, "1",                                              \
                      "Accepted: reading ahead is limited in bytes instead."),                     \
        HR_ARG_ACCEPT(lazy_init, BOOL, "False",                                                    \
                      "Accepted: the list is made when the pipeline is built."),                   \
        HR_ARG_ACCEPT(skip_cached_images, BOOL, "False",                                           \
                      "Accepted: there is no cache of decoded images."),                           \
        HR_ARG_ACCEPT(dont_use_mmap, BOOL, "False", "Accepted: files are read, never mapped."),    \
        HR_ARG_ACCEPT(tensor_init_bytes, INT, "1048576",                                           \
                      "Accepted: buffers have the size of the file.")

#endif
