/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A checkpoint has the number of shards, and their position, of each split so far. The rests of the
 * epochs are computed from these numbers. */
#include "exec/resplit.h"

#include <string.h>

#define STINTS_MAX 1024
#define SHARDS_MAX (1 << 20) /* of all earlier splits: a rest has a part for each */

void hr__past_append(const hr_source *s, bool wanted, hr_text *t)
{
    hr_text_append(t, "[");
    for (int32_t i = 0; wanted && i < s->past_count; i++)
        hr_text_append(t, "%s[%d, %d, %lld]", i ? ", " : "", s->past[i].num_shards,
                       s->past[i].batch_size, (long long)s->past[i].position);
    hr_text_append(t, "]");
}

static bool number_in(const hr_json *v, int64_t low, int64_t high)
{
    return v->kind == HR_JSON_KIND_NUMBER && v->is_integer && v->i >= low && v->i <= high;
}

static hr_status read_stint(const hr_json *v, hr_stint *out, hr_error *error)
{
    if (v->kind != HR_JSON_KIND_LIST || v->count != 3 || !number_in(&v->items[0], 1, INT32_MAX) ||
        !number_in(&v->items[1], 1, INT32_MAX) || !number_in(&v->items[2], 0, INT64_MAX / 2))
        return hr_fail(
            error, HR_STATUS_VALUE,
            "checkpoint: 'past' must contain lists of the number of shards, the batch size "
            "and the position");
    *out = (hr_stint){(int32_t)v->items[0].i, (int32_t)v->items[1].i, v->items[2].i};
    return HR_STATUS_OK;
}

/* Reads the earlier splits, with `last` behind them. */
static hr_status read_past(hr_source *s, const hr_json *past, const hr_stint *last, hr_error *error)
{
    int32_t count = past->count;
    int64_t shards = 0;
    if (past->kind != HR_JSON_KIND_LIST)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: 'past' of a reader must be a list");
    if (count > STINTS_MAX)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "checkpoint: num_shards has changed %d times; the limit is %d", count,
                       STINTS_MAX);
    s->past = hr_calloc((size_t)count + 1, sizeof(*s->past), error);
    HR_TRY_ALLOC(s->past);
    for (int32_t i = 0; i < count; i++) {
        HR_TRY(read_stint(&past->items[i], &s->past[i], error));
        shards += s->past[i].num_shards;
    }
    s->past[count] = *last;
    s->past_count = count + 1;
    if (shards > SHARDS_MAX || last->num_shards > s->sampler.count)
        return hr_fail(error, HR_STATUS_LIMIT, "checkpoint: its readers have too many shards");
    return HR_STATUS_OK;
}

static hr_status resplit(hr_source *s, const hr_stint *from, hr_sampler_args args,
                         int32_t batch_size, hr_error *error)
{
    int64_t count = s->sampler.count;
    return hr_sampler_resplit(&s->sampler, from->position, &args,
                              hr_sampler_chunk(args.num_shards, count, s->mean_bytes), batch_size,
                              error);
}

/* The sampler as it was in the first stint, from its beginning. */
static void begin(hr_sampler *s, const hr_stint *first, int64_t mean_bytes)
{
    s->args.num_shards = first->num_shards;
    s->args.shard_id = 0;
    s->batch_size = first->batch_size;
    s->split = (hr_sampler_split){first->num_shards,
                                  hr_sampler_chunk(first->num_shards, s->count, mean_bytes)};
}

hr_status hr__reader_restore(hr_source *s, const hr_json *past, const hr_stint *last,
                             hr_error *error)
{
    const hr_sampler_args now = s->sampler.args;
    const int32_t batch_size = s->sampler.batch_size;
    bool same = last->num_shards == now.num_shards &&
                (last->batch_size == batch_size || !now.pad_last_batch);
    HR_TRY(read_past(s, past, last, error));
    begin(&s->sampler, &s->past[0], s->mean_bytes);
    for (int32_t i = 1; i < s->past_count; i++) {
        hr_sampler_args then = now;
        then.num_shards = s->past[i].num_shards;
        then.shard_id = 0;
        HR_TRY(resplit(s, &s->past[i - 1], then, s->past[i].batch_size, error));
    }
    s->position = last->position;
    if (same) {
        s->past_count--;
        s->sampler.args.shard_id = now.shard_id;
        s->sampler.batch_size = batch_size;
        return HR_STATUS_OK;
    }
    HR_TRY(resplit(s, last, now, batch_size, error));
    s->position = 0;
    s->resplit = true;
    return HR_STATUS_OK;
}
