/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The rest of an epoch: what shards have left of it when their number changes. It is a list of
 * parts, one per shard, so that its size does not depend on the number of items. The number may
 * change again before the rest is over; the parts are then cut. */
#include "readers/sampler.h"

typedef struct rest_list {
    hr_rest_part *parts;
    int64_t count, capacity;
} rest_list;

static hr_status append(rest_list *list, const hr_rest_part *part, int64_t size, hr_error *error)
{
    if (size <= 0)
        return HR_STATUS_OK;
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        hr_rest_part *parts =
            hr_realloc(list->parts, (size_t)capacity, sizeof(*list->parts), error);
        HR_TRY_ALLOC(parts);
        list->parts = parts;
        list->capacity = capacity;
    }
    int64_t before = list->count > 0 ? list->parts[list->count - 1].end : 0;
    if (size > INT64_MAX / 2 - before)
        return hr_fail(error, HR_STATUS_LIMIT, "the rest of the epoch is too long");
    list->parts[list->count] = *part;
    list->parts[list->count++].end = before + size;
    return HR_STATUS_OK;
}

/* Entries `first` .. `end - 1` of the rest that `s` reads. */
static hr_status append_rest(rest_list *list, const hr_sampler *s, int64_t first, int64_t end,
                             hr_error *error)
{
    int64_t low = 0, high = s->rest_parts;
    while (low < high) { /* the part that has the entry `first` */
        int64_t middle = low + (high - low) / 2;
        if (s->rest[middle].end > first)
            high = middle;
        else
            low = middle + 1;
    }
    for (; low < s->rest_parts && first < end; low++) {
        hr_rest_part part = s->rest[low];
        int64_t begin = low > 0 ? s->rest[low - 1].end : 0;
        part.offset += first - begin;
        HR_TRY(append(list, &part, HR_MIN(part.end, end) - first, error));
        first = part.end;
    }
    return HR_STATUS_OK;
}

/* How many entries of an epoch a lane has read, and how many the epoch has for it. */
static int64_t taken(const hr_sampler *s, const hr_sampler_place *at, int64_t lane, int64_t epoch,
                     int64_t *size)
{
    bool rest = epoch < s->first_epoch;
    int64_t count = rest ? hr_sampler_rest(s) : s->count;
    int64_t shard = rest ? lane : hr__sampler_shard(s, lane, epoch);
    int32_t n = s->args.num_shards;
    *size = hr__sampler_shard_start(count, shard + 1, n) - hr__sampler_shard_start(count, shard, n);
    return at->epoch > epoch ? *size : at->epoch < epoch ? 0 : HR_MIN(at->offset, *size);
}

/* What all lanes have left of an epoch. `*begun`: one of them has read something of it; otherwise
 * it is still whole, and nothing is added. */
static hr_status append_epoch(rest_list *list, const hr_sampler *s, int64_t position, int64_t epoch,
                              bool *begun, hr_error *error)
{
    int32_t n = s->args.num_shards;
    int64_t size;
    *begun = epoch < s->first_epoch; /* a rest always goes on as one */
    for (int64_t lane = 0; lane < n && !*begun; lane++) {
        hr_sampler_place at = hr__sampler_place(s, lane, position);
        *begun = taken(s, &at, lane, epoch, &size) > 0;
    }
    for (int64_t shard = 0; shard < n && *begun; shard++) {
        bool rest = epoch < s->first_epoch;
        int64_t turn = s->args.stick_to_shard || rest ? 0 : epoch % n;
        int64_t lane = (shard - turn + n) % n;
        hr_sampler_place at = hr__sampler_place(s, lane, position);
        int64_t done = taken(s, &at, lane, epoch, &size);
        if (rest) {
            int64_t start = hr__sampler_shard_start(hr_sampler_rest(s), shard, n);
            HR_TRY(append_rest(list, s, start + done, start + size, error));
            continue;
        }
        hr_rest_part part = {.epoch = epoch, .shard = shard, .offset = done, .split = s->split};
        HR_TRY(append(list, &part, size - done, error));
    }
    return HR_STATUS_OK;
}

/* All that was left of epochs that have begun. Lanes whose shards differ in size are in different
 * epochs near the end of one. With stick_to_shard they drift apart, and the rearmost one counts. */
static hr_status collect(rest_list *list, const hr_sampler *s, int64_t position, int64_t *next,
                         hr_error *error)
{
    int64_t low = INT64_MAX, high = 0;
    for (int64_t lane = 0; lane < s->args.num_shards; lane++) {
        int64_t epoch = hr__sampler_place(s, lane, position).epoch;
        low = HR_MIN(low, epoch);
        high = HR_MAX(high, epoch);
    }
    high = s->args.stick_to_shard ? low : high;
    for (*next = low; *next <= high; ++*next) {
        bool begun;
        HR_TRY(append_epoch(list, s, position, *next, &begun, error));
        if (!begun)
            break;
    }
    return HR_STATUS_OK;
}

hr_status hr_sampler_resplit(hr_sampler *s, int64_t position, const hr_sampler_args *args,
                             int64_t chunk, int32_t batch_size, hr_error *error)
{
    rest_list list = {0};
    int64_t next = 0;
    hr_status status = collect(&list, s, position, &next, error);
    int64_t size = list.count > 0 ? list.parts[list.count - 1].end : 0;
    if (status == HR_STATUS_OK && args->num_shards > s->count)
        status = hr_fail(error, HR_STATUS_ERROR,
                         "there are %lld items, too few for num_shards=%d: a shard would be empty",
                         (long long)s->count, args->num_shards);
    if (status == HR_STATUS_OK && HR_MAX(size, s->count) > (INT64_MAX >> 1) / args->num_shards)
        status = hr_fail(error, HR_STATUS_ERROR, "%lld items in %d shards are too many",
                         (long long)HR_MAX(size, s->count), args->num_shards);
    if (status == HR_STATUS_OK && next > INT64_MAX / 4)
        status =
            hr_fail(error, HR_STATUS_LIMIT, "the epoch number %lld is too large", (long long)next);
    if (status != HR_STATUS_OK) {
        hr_free(list.parts);
        return status;
    }
    hr_free(s->rest);
    s->rest = list.parts;
    s->rest_parts = list.count;
    s->first_epoch = next;
    s->args.num_shards = args->num_shards;
    s->args.shard_id = args->shard_id;
    s->split = (hr_sampler_split){args->num_shards, HR_MAX(chunk, 1)};
    s->batch_size = batch_size;
    return HR_STATUS_OK;
}
