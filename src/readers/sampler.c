/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Maps positions to items. Of N items, shard s of n contains floor(s N / n) .. floor((s + 1) N / n)
 * - 1 in the order of the epoch. A rest is split in the same way. */
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

int64_t hr_sampler_chunk(int32_t num_shards, int64_t count, int64_t mean_bytes)
{
    int64_t by_size = CHUNK_BYTES / HR_MAX(mean_bytes, 1);
    int64_t by_count = count / HR_MAX(num_shards, 1) / CHUNKS;
    return HR_MAX(HR_MIN(by_size, by_count), 1);
}

int64_t hr__sampler_shard_start(int64_t count, int64_t shard, int32_t shards)
{
    return count * shard / shards;
}

static int64_t shard_size(int64_t count, int64_t shard, int32_t shards)
{
    return hr__sampler_shard_start(count, shard + 1, shards) -
           hr__sampler_shard_start(count, shard, shards);
}

/* The order of a job is that of one shard, whose batches are those of the job. */
static hr_status init_cut(hr_sampler *s, hr_error *error)
{
    hr_sampler_args *args = &s->args;
    if (args->global_batch < args->num_shards)
        return hr_fail(error, HR_STATUS_ERROR,
                       "global_batch is %d; it must be at least num_shards, which is %d",
                       args->global_batch, args->num_shards);
    if (args->even && args->global_batch % args->num_shards != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "even: num_shards=%d does not divide global_batch=%d", args->num_shards,
                       args->global_batch);
    if (args->stick_to_shard)
        return hr_fail(error, HR_STATUS_ERROR,
                       "global_batch and stick_to_shard exclude each other");
    s->cut = (hr_cut){args->global_batch, args->num_shards, args->shard_id};
    s->split.shards = args->num_shards = 1;
    args->shard_id = 0;
    s->batch_size = args->global_batch;
    return HR_STATUS_OK;
}

hr_status hr_sampler_init(hr_sampler *s, const hr_sampler_args *args, int64_t count, int64_t chunk,
                          int32_t batch_size, uint64_t seed, hr_error *error)
{
    *s = (hr_sampler){.args = *args,
                      .count = count,
                      .split = {args->num_shards, HR_MAX(chunk, 1)},
                      .batch_size = batch_size};
    if (args->shard_id >= args->num_shards)
        return hr_fail(error, HR_STATUS_ERROR,
                       "shard_id is %d; with num_shards=%d allowed are 0 .. %d", args->shard_id,
                       args->num_shards, args->num_shards - 1);
    if (args->global_batch > 0)
        HR_TRY(init_cut(s, error));
    else if (args->even)
        return hr_fail(error, HR_STATUS_ERROR, "even: this argument needs global_batch");
    args = &s->args;
    if (count < args->num_shards)
        return hr_fail(error, HR_STATUS_ERROR,
                       "The number of input samples: %lld, needs to be at least equal to the "
                       "requested number of shards: %d.",
                       (long long)count, args->num_shards);
    if (count > (INT64_MAX >> 1) / args->num_shards)
        return hr_fail(error, HR_STATUS_ERROR, "%lld items in %d shards are too many",
                       (long long)count, args->num_shards);
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

int64_t hr__sampler_padded(const hr_sampler *s, int64_t count)
{
    int64_t n = s->args.num_shards, largest = (count + n - 1) / n;
    return (largest + s->batch_size - 1) / s->batch_size * s->batch_size;
}

int64_t hr_sampler_rest(const hr_sampler *s)
{
    return s->rest_parts > 0 ? s->rest[s->rest_parts - 1].end : 0;
}

int64_t hr__sampler_shard(const hr_sampler *s, int64_t lane, int64_t epoch)
{
    return s->args.stick_to_shard ? lane : (lane + epoch) % s->args.num_shards;
}

/* The place of a position behind the rest if epochs are not padded: they follow one another without
 * gaps. */
static hr_sampler_place unpadded(const hr_sampler *s, int64_t lane, int64_t position)
{
    int64_t first = hr__sampler_shard(s, lane, s->first_epoch);
    int32_t n = s->args.num_shards;
    if (s->args.stick_to_shard) {
        int64_t size = shard_size(s->count, first, n);
        return (hr_sampler_place){
            .epoch = position / size, .shard = first, .offset = position % size, .size = size};
    }
    /* n epochs read every item once, beginning at this reader's first shard. */
    int64_t begin = hr__sampler_shard_start(s->count, first, n);
    int64_t round = position / s->count, item = begin + position % s->count;
    int64_t wrapped = item >= s->count;
    item -= wrapped ? s->count : 0;
    int64_t shard = ((item + 1) * n - 1) / s->count;
    return (hr_sampler_place){.epoch = round * n + shard + wrapped * n - first,
                              .shard = shard,
                              .offset = item - hr__sampler_shard_start(s->count, shard, n),
                              .size = shard_size(s->count, shard, n)};
}

hr_sampler_place hr__sampler_place(const hr_sampler *s, int64_t lane, int64_t position)
{
    bool pads = s->args.pad_last_batch != 0;
    int64_t rest = hr_sampler_rest(s), mine = shard_size(rest, lane, s->args.num_shards);
    int64_t length = pads ? hr__sampler_padded(s, rest) : mine;
    if (position < length)
        return (hr_sampler_place){.epoch = s->first_epoch - 1,
                                  .rest = true,
                                  .shard = lane,
                                  .offset = position,
                                  .size = mine};
    position -= length;
    hr_sampler_place place;
    if (pads) {
        int64_t size = hr__sampler_padded(s, s->count);
        place = (hr_sampler_place){.epoch = position / size, .offset = position % size};
        place.shard = hr__sampler_shard(s, lane, s->first_epoch + place.epoch);
        place.size = shard_size(s->count, place.shard, s->args.num_shards);
    } else {
        place = unpadded(s, lane, position);
    }
    place.epoch += s->first_epoch;
    return place;
}

int64_t hr__sampler_begin(const hr_sampler *s, int64_t lane, int64_t epoch)
{
    int64_t rest = hr_sampler_rest(s), before = epoch - s->first_epoch;
    int32_t n = s->args.num_shards;
    if (before < 0)
        return 0;
    if (s->args.pad_last_batch)
        return hr__sampler_padded(s, rest) + before * hr__sampler_padded(s, s->count);
    int64_t first = hr__sampler_shard(s, lane, s->first_epoch), mine = shard_size(rest, lane, n);
    if (s->args.stick_to_shard)
        return mine + before * shard_size(s->count, first, n);
    int64_t shard = first + before % n; /* the one that is next, counted over two rounds */
    return mine + before / n * s->count + shard / n * s->count +
           hr__sampler_shard_start(s->count, shard % n, n) -
           hr__sampler_shard_start(s->count, first, n);
}

/* Where item `i` of the shuffled chunks comes from, of 0 .. n - 1. Whole chunks change places; the
 * rest, shorter than a chunk, is put between any two of them. */
static int64_t shuffle_chunks(int64_t chunk, uint64_t key, int64_t n, int64_t i)
{
    int64_t chunks = n / chunk, rest = n % chunk;
    int64_t before = (int64_t)(hr_mix(key, KEY_REST) % (uint64_t)(chunks + 1)) * chunk;
    if (i >= before && i < before + rest)
        return chunks * chunk + i - before;
    i -= i >= before ? rest : 0;
    return hr_permute(key, chunks, i / chunk) * chunk + i % chunk;
}

/* Mixes 0 .. n - 1 within windows of `initial_fill`. */
static int64_t mix_windows(const hr_sampler *s, uint64_t key, int64_t n, int64_t i)
{
    int64_t size = HR_MAX(s->args.initial_fill, 1), window = i / size, start = window * size;
    uint64_t inside = hr_mix(hr_mix(key, KEY_WINDOW), (uint64_t)window);
    return start + hr_permute(inside, HR_MIN(size, n - start), i - start);
}

/* A permutation of 0 .. n - 1. With chunks, their items follow one another and are mixed only
 * within windows, so that reading stays almost sequential. */
static int64_t shuffle(const hr_sampler *s, int64_t chunk, uint64_t key, int64_t n, int64_t i)
{
    if (chunk == 1)
        return hr_permute(key, n, i);
    return shuffle_chunks(chunk, key, n, mix_windows(s, key, n, i));
}

/* The same for the entries `start` .. `start` + n - 1 of an epoch, whose groups take the place of
 * chunks. shuffle_after_epoch has moved them already. */
static int64_t shuffle_groups(const hr_sampler *s, uint64_t key, int64_t start, int64_t n,
                              int64_t i)
{
    i = mix_windows(s, key, n, i);
    return s->selection && s->selection->files ? start + i
                                               : hr_file_order_item(s->groups, key, start, n, i);
}

/* Entry number `offset` of a shard of an epoch. */
static int64_t entry_at(const hr_sampler *s, hr_sampler_split split, int64_t epoch, int64_t shard,
                        int64_t offset)
{
    int64_t start = hr__sampler_shard_start(s->count, shard, split.shards);
    uint64_t key = hr_mix(s->key, (uint64_t)epoch);
    if (s->args.shuffle_after_epoch && !(s->selection && s->selection->files))
        return shuffle(s, split.chunk, key, s->count, start + offset);
    if (!s->args.random_shuffle)
        return start + offset;
    int64_t size = shard_size(s->count, shard, split.shards);
    if (s->groups)
        return shuffle_groups(s, key, start, size, offset);
    return start + shuffle(s, split.chunk, key, size, offset);
}

/* The item that is entry number `entry` of the epoch. */
static hr_sampler_item select(const hr_sampler *s, int64_t entry, int64_t epoch, int32_t repeat)
{
    int64_t item = s->selection ? hr_selection_item(s->selection, epoch, entry) : entry;
    /* The entry makes the difference between two occurrences of an item. */
    if (s->selection && hr_selection_repeats(s->selection))
        repeat = (int32_t)((entry + 1 + repeat) & INT32_MAX);
    return (hr_sampler_item){item, epoch, repeat};
}

/* The part of the rest that has its entry `i`. */
static const hr_rest_part *find_part(const hr_sampler *s, int64_t i)
{
    int64_t low = 0, high = s->rest_parts - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->rest[middle].end > i)
            high = middle;
        else
            low = middle + 1;
    }
    return &s->rest[low];
}

/* Item `offset` of the shard that a place is in. */
static hr_sampler_item item_at(const hr_sampler *s, const hr_sampler_place *place, int64_t offset,
                               int32_t repeat)
{
    if (!place->rest)
        return select(s, entry_at(s, s->split, place->epoch, place->shard, offset), place->epoch,
                      repeat);
    int64_t start = hr__sampler_shard_start(hr_sampler_rest(s), place->shard, s->args.num_shards);
    int64_t i = HR_MAX(start + offset, 0); /* of an empty shard: what comes before it */
    const hr_rest_part *part = find_part(s, i);
    int64_t begin = part > s->rest ? part[-1].end : 0;
    return select(s, entry_at(s, part->split, part->epoch, part->shard, part->offset + i - begin),
                  part->epoch, repeat);
}

/* Where the process itself is. */
static hr_sampler_place own_place(const hr_sampler *s, int64_t position)
{
    if (s->cut.batch > 0)
        position = hr_cut_position(&s->cut, position);
    return hr__sampler_place(s, s->args.shard_id, position);
}

hr_sampler_item hr_sampler_at(const hr_sampler *s, int64_t position)
{
    hr_sampler_place place = own_place(s, position);
    int64_t repeat = HR_MAX(place.offset - place.size + 1, 0);
    return item_at(s, &place, place.offset - repeat, (int32_t)repeat);
}

hr_sampler_item hr_sampler_replace(const hr_sampler *s, int64_t position, int32_t attempt)
{
    hr_sampler_place place = own_place(s, position);
    /* Independent of the seed: readers of lists that belong together (images and masks) must agree.
     */
    hr_rng rng = hr_rng_make(KEY_REPLACE, place.offset, (uint32_t)place.epoch, (uint32_t)attempt);
    int64_t other = hr_rng_below(&rng, 0, HR_MAX(place.size, 1));
    return item_at(s, &place, HR_MIN(other, place.size - 1), HR_SAMPLER_REPLACED + attempt);
}

void hr_sampler_fini(hr_sampler *s)
{
    hr_free(s->rest);
    hr_file_order_destroy(s->groups);
    s->rest = NULL;
    s->groups = NULL;
    s->rest_parts = 0;
}

void hr_sampler_meta(const hr_sampler *s, hr_reader_meta *out)
{
    bool job = s->cut.batch > 0;
    int32_t shards = job ? s->cut.ranks : s->args.num_shards;
    int64_t n = s->args.pad_last_batch ? shards : 1;
    *out = (hr_reader_meta){
        .epoch_size = s->count,
        .epoch_size_padded = (s->count + n - 1) / n * n,
        .number_of_shards = shards,
        .shard_id = job ? s->cut.rank : s->args.shard_id,
        .pad_last_batch = s->args.pad_last_batch != 0,
        .stick_to_shard = s->args.stick_to_shard != 0,
        .rest_size = hr_sampler_rest(s),
        .first_epoch = s->first_epoch,
        .global_batch = s->cut.batch,
    };
}
