/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Maps positions to items. Of N items, shard s of n contains floor(s N / n) .. floor((s + 1) N / n)
 * - 1 in the order of the epoch. */
#include "readers/sampler.h"

/* Keys of unrelated permutations must differ, so the purpose is mixed into each. */
enum {
    KEY_SHUFFLE = 0x5368,
    KEY_WHOLE = 0x5768,
    KEY_REPLACE = 0x5265,
    KEY_REST = 0x5274,
    KEY_WINDOW = 0x5769
};

#define CHUNK_BYTES (4 << 20)
#define CHUNKS 64 /* per shard, at least */

int64_t hr_sampler_chunk(const hr_sampler_args *args, int64_t count, int64_t mean_bytes)
{
    int64_t by_size = CHUNK_BYTES / HR_MAX(mean_bytes, 1);
    int64_t by_count = count / HR_MAX(args->num_shards, 1) / CHUNKS;
    return HR_MAX(HR_MIN(by_size, by_count), 1);
}

int64_t hr_sampler_shard_start(const hr_sampler *s, int64_t shard)
{
    return s->count * shard / s->args.num_shards;
}

static int64_t shard_size(const hr_sampler *s, int64_t shard)
{
    return hr_sampler_shard_start(s, shard + 1) - hr_sampler_shard_start(s, shard);
}

hr_status hr_sampler_init(hr_sampler *s, const hr_sampler_args *args, int64_t count, int64_t chunk,
                          int32_t batch_size, uint64_t seed, hr_error *error)
{
    *s = (hr_sampler){
        .args = *args, .count = count, .chunk = HR_MAX(chunk, 1), .batch_size = batch_size};
    if (args->shard_id >= args->num_shards)
        return hr_fail(error, HR_STATUS_ERROR,
                       "shard_id is %d; with num_shards=%d allowed are 0 .. %d", args->shard_id,
                       args->num_shards, args->num_shards - 1);
    if (count < args->num_shards)
        return hr_fail(error, HR_STATUS_ERROR,
                       "there are %lld items, too few for num_shards=%d: a shard would be empty",
                       (long long)count, args->num_shards);
    if (count > (INT64_MAX >> 1) / args->num_shards)
        return hr_fail(error, HR_STATUS_ERROR, "%lld items in %d shards are too many",
                       (long long)count, args->num_shards);
    if (args->shuffle_after_epoch && args->random_shuffle)
        return hr_fail(error, HR_STATUS_ERROR,
                       "shuffle_after_epoch and random_shuffle exclude each other");
    if (args->shuffle_after_epoch && args->stick_to_shard)
        return hr_fail(error, HR_STATUS_ERROR,
                       "shuffle_after_epoch and stick_to_shard exclude each other");
    s->key = hr_mix(seed, KEY_SHUFFLE);
    /* The order of shuffle_after_epoch must not depend on the pipeline's seed, which may differ
     * between ranks. */
    if (args->shuffle_after_epoch)
        s->key = hr_mix((uint64_t)args->shuffle_after_epoch_seed, KEY_WHOLE);
    return HR_STATUS_OK;
}

static int64_t padded_epoch(const hr_sampler *s)
{
    int64_t n = s->args.num_shards, largest = (s->count + n - 1) / n;
    return (largest + s->batch_size - 1) / s->batch_size * s->batch_size;
}

/* The shard that this reader reads in an epoch. */
static int64_t shard_of_epoch(const hr_sampler *s, int64_t epoch)
{
    return s->args.stick_to_shard ? s->args.shard_id
                                  : (s->args.shard_id + epoch) % s->args.num_shards;
}

/* Epoch and offset of a position if epochs are not padded: they follow one another without gaps. */
static void unpadded(const hr_sampler *s, int64_t position, int64_t *epoch, int64_t *offset)
{
    int64_t n = s->args.num_shards;
    if (s->args.stick_to_shard) {
        int64_t size = shard_size(s, s->args.shard_id);
        *epoch = position / size;
        *offset = position % size;
        return;
    }
    /* n epochs read every item once, beginning at this reader's first shard. */
    int64_t begin = hr_sampler_shard_start(s, s->args.shard_id);
    int64_t round = position / s->count, item = begin + position % s->count;
    int64_t wrapped = item >= s->count;
    item -= wrapped ? s->count : 0;
    int64_t shard = ((item + 1) * n - 1) / s->count;
    *epoch = round * n + shard + wrapped * n - s->args.shard_id;
    *offset = item - hr_sampler_shard_start(s, shard);
}

/* Where item `i` of the shuffled chunks comes from, of 0 .. n - 1. Whole chunks change places; the
 * rest, shorter than a chunk, is put between any two of them. */
static int64_t shuffle_chunks(const hr_sampler *s, uint64_t key, int64_t n, int64_t i)
{
    int64_t chunks = n / s->chunk, rest = n % s->chunk;
    int64_t before = (int64_t)(hr_mix(key, KEY_REST) % (uint64_t)(chunks + 1)) * s->chunk;
    if (i >= before && i < before + rest)
        return chunks * s->chunk + i - before;
    i -= i >= before ? rest : 0;
    return hr_permute(key, chunks, i / s->chunk) * s->chunk + i % s->chunk;
}

/* A permutation of 0 .. n - 1. With chunks, their items follow one another and are mixed only
 * within windows of `initial_fill`, so that reading stays almost sequential. */
static int64_t shuffle(const hr_sampler *s, uint64_t key, int64_t n, int64_t i)
{
    if (s->chunk == 1)
        return hr_permute(key, n, i);
    int64_t size = HR_MAX(s->args.initial_fill, 1), window = i / size, start = window * size;
    uint64_t inside = hr_mix(hr_mix(key, KEY_WINDOW), (uint64_t)window);
    i = start + hr_permute(inside, HR_MIN(size, n - start), i - start);
    return shuffle_chunks(s, key, n, i);
}

/* Item number `offset` of the epoch's shard. */
static int64_t item_at(const hr_sampler *s, int64_t epoch, int64_t offset)
{
    int64_t shard = shard_of_epoch(s, epoch), start = hr_sampler_shard_start(s, shard);
    if (s->args.shuffle_after_epoch)
        return shuffle(s, hr_mix(s->key, (uint64_t)epoch), s->count, start + offset);
    if (s->args.random_shuffle)
        return start + shuffle(s, hr_mix(s->key, (uint64_t)epoch), shard_size(s, shard), offset);
    return start + offset;
}

static void locate(const hr_sampler *s, int64_t position, int64_t *epoch, int64_t *offset)
{
    if (!s->args.pad_last_batch) {
        unpadded(s, position, epoch, offset);
        return;
    }
    int64_t size = padded_epoch(s);
    *epoch = position / size;
    *offset = position % size;
}

/* The item that is entry number `entry` of the epoch. */
static hr_sampler_item select(const hr_sampler *s, int64_t entry, int64_t epoch, int32_t repeat)
{
    if (!s->selection || !hr_selection_repeats(s->selection))
        return (hr_sampler_item){entry, epoch, repeat};
    /* The entry makes the difference between two occurrences of an item. */
    int32_t occurrence = (int32_t)((entry + 1 + repeat) & INT32_MAX);
    return (hr_sampler_item){hr_selection_item(s->selection, epoch, entry), epoch, occurrence};
}

hr_sampler_item hr_sampler_at(const hr_sampler *s, int64_t position)
{
    int64_t epoch, offset;
    locate(s, position, &epoch, &offset);
    int64_t size = shard_size(s, shard_of_epoch(s, epoch));
    int32_t repeat = offset < size ? 0 : (int32_t)(offset - size + 1);
    return select(s, item_at(s, epoch, offset - repeat), epoch, repeat);
}

hr_sampler_item hr_sampler_replace(const hr_sampler *s, int64_t position, int32_t attempt)
{
    int64_t epoch, offset;
    locate(s, position, &epoch, &offset);
    int64_t size = shard_size(s, shard_of_epoch(s, epoch));
    /* Independent of the seed: readers of lists that belong together (images and masks) must agree.
     */
    hr_rng rng = hr_rng_make(KEY_REPLACE, offset, (uint32_t)epoch, (uint32_t)attempt);
    int64_t other = hr_rng_below(&rng, 0, size);
    return select(s, item_at(s, epoch, other), epoch, HR_SAMPLER_REPLACED + attempt);
}

void hr_sampler_meta(const hr_sampler *s, hr_reader_meta *out)
{
    int64_t n = s->args.pad_last_batch ? s->args.num_shards : 1;
    *out = (hr_reader_meta){
        .epoch_size = s->count,
        .epoch_size_padded = (s->count + n - 1) / n * n,
        .number_of_shards = s->args.num_shards,
        .shard_id = s->args.shard_id,
        .pad_last_batch = s->args.pad_last_batch != 0,
        .stick_to_shard = s->args.stick_to_shard != 0,
    };
}
