/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which item is at which position of a shard's endless stream: a pure function that needs no
 * earlier position. After its shard a reader continues with the next one, unless stick_to_shard is
 * set. Padded epochs have the same number of full batches on all shards and repeat the last item.
 *
 * A process of a job reads the order of a single shard, and takes its part of each batch (cut.h).
 *
 * When the number of shards changes, positions start again at 0 with the *rest*: what the shards
 * have left of their epoch, as one list that is split among the new shards. Whole epochs follow.
 *
 * Of this folder, the executor includes this header only; readers are found by their tables. What
 * several readers use is in the files of the folder itself, and a subject with several files of its
 * own has a folder. */
#pragma once

#include "readers/cut.h"
#include "readers/selection.h"

typedef struct hr_sampler_split { /* how an epoch is split and shuffled */
    int32_t shards;
    int64_t chunk; /* items that are read one after the other; 1: none */
} hr_sampler_split;

/* A part of a rest: entries that follow one another in one shard of an epoch. */
typedef struct hr_rest_part {
    int64_t end; /* of the part in the rest */
    int64_t epoch, shard, offset;
    hr_sampler_split split; /* of this epoch */
} hr_rest_part;

typedef struct hr_sampler {
    hr_sampler_args args; /* of a job: with a single shard */
    hr_cut cut;           /* of the positions of a job */
    int64_t count;        /* items of an epoch on all shards */
    hr_sampler_split split;
    const hr_selection *selection; /* which items these are; NULL: 0 .. count - 1 */
    hr_file_order *groups;         /* those that random_shuffle moves instead of chunks; or NULL */
    int32_t batch_size;
    uint64_t key;        /* of the shuffle */
    int64_t first_epoch; /* the first whole one: the rest is of epochs before it */
    hr_rest_part *rest;
    int64_t rest_parts;
} hr_sampler;

/* A replacement counts as a repeat, so that its augmentation differs from the item's regular one in
 * this epoch: `repeat` is this plus the number of the attempt. */
#define HR_SAMPLER_REPLACED 0x10000

typedef struct hr_sampler_item { /* what a position maps to */
    int64_t index;               /* number of the item */
    int64_t epoch;               /* of the item; that of the position, except in a rest */
    int32_t repeat; /* tells apart the same item at several positions of an epoch; 0: the first */
} hr_sampler_item;

/* Where one shard of all is at a position. */
typedef struct hr_sampler_place {
    int64_t epoch; /* a rest counts as the epoch before `first_epoch` */
    bool rest;
    int64_t shard;        /* of the epoch or the rest */
    int64_t offset, size; /* in this shard, and of it; padding is beyond `size` */
} hr_sampler_place;

/* How many neighbouring items of this mean size are worth reading one after the other: some
 * megabytes, but not so many that a shard has few chunks to shuffle. */
int64_t hr_sampler_chunk(int32_t num_shards, int64_t count, int64_t mean_bytes);
/* `seed` as in hr_rng_node_seed. HR_STATUS_ERROR: no items, shard out of range, options that
 * exclude each other. */
hr_status hr_sampler_init(hr_sampler *s, const hr_sampler_args *args, int64_t count, int64_t chunk,
                          int32_t batch_size, uint64_t seed, hr_error *error);
void hr_sampler_fini(hr_sampler *s);
/* All shards have taken `position` samples; the rest of the epoch is split among `args->num_shards`
 * of them. HR_STATUS_ERROR: too few items. After a failure only hr_sampler_fini is allowed. */
hr_status hr_sampler_resplit(hr_sampler *s, int64_t position, const hr_sampler_args *args,
                             int64_t chunk, int32_t batch_size, hr_error *error);
int64_t hr_sampler_rest(const hr_sampler *s); /* the number of its entries */
hr_sampler_item hr_sampler_at(const hr_sampler *s, int64_t position);
/* Another item in place of a bad one, from the same epoch and shard, independent of batches.
 * `attempt`: 1, 2, ... */
hr_sampler_item hr_sampler_replace(const hr_sampler *s, int64_t position, int32_t attempt);
/* Where the shard is that began as number `lane`. */
hr_sampler_place hr__sampler_place(const hr_sampler *s, int64_t lane, int64_t position);
/* The position at which that shard begins an epoch; 0 for a rest. Not for epochs before it. */
int64_t hr__sampler_begin(const hr_sampler *s, int64_t lane, int64_t epoch);
/* How many positions of a shard an epoch of `count` entries takes if it is padded. */
int64_t hr__sampler_padded(const hr_sampler *s, int64_t count);
/* The number of the shard that begins as `lane` in a whole epoch, and where it is in the epoch. */
int64_t hr__sampler_shard(const hr_sampler *s, int64_t lane, int64_t epoch);
int64_t hr__sampler_shard_start(int64_t count, int64_t shard, int32_t shards);
void hr_sampler_meta(const hr_sampler *s, hr_reader_meta *out);
