/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which item is at which position of a shard's endless stream: a pure function, O(1) per position.
 * After its shard a reader continues with the next one, unless stick_to_shard is set. Padded epochs
 * have the same number of full batches on all shards and repeat the last item. */
#ifndef HR_READERS_SAMPLER_H
#define HR_READERS_SAMPLER_H

#include "readers/selection.h"

typedef struct hr_sampler {
    hr_sampler_args args;
    int64_t count;                 /* items of an epoch on all shards */
    int64_t chunk;                 /* items that are read one after the other; 1: none */
    const hr_selection *selection; /* which items these are; NULL: 0 .. count - 1 */
    int32_t batch_size;
    uint64_t key; /* of the shuffle */
} hr_sampler;

/* A replacement counts as a repeat, so that its augmentation differs from the item's regular one in
 * this epoch: `repeat` is this plus the number of the attempt. */
#define HR_SAMPLER_REPLACED 0x10000

typedef struct hr_sampler_item { /* what a position maps to */
    int64_t index;               /* number of the item */
    int64_t epoch;               /* of the position */
    int32_t repeat; /* tells apart the same item at several positions of an epoch; 0: the first */
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

#endif
