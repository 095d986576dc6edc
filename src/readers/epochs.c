/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where the epochs of an iterator end, and what their last batches are: arithmetic on positions.
 * How a reader passes from one epoch to the next is known to the sampler alone.
 *
 * With pad_last_batch, an iterator's epoch is one of the reader. Without it, FILL follows the
 * reader: an epoch ends with the batch in which the last shard ends, and the next one has already
 * begun there. DROP and PARTIAL count batches of one number per epoch, as DALI does.
 *
 * The epochs of a job are those of one shard with the batches of the job, whose parts the processes
 * have. */
#include "readers/sampler.h"

#define FAR (INT64_MAX / 4) /* of positions */

typedef struct epochs { /* of a reader */
    hr_sampler s;       /* without what it takes to find items */
    hr_rest_part rest;
    hr_epoch_rule rule;
    bool
        carries; /* FILL without padding: the last batch contains the beginning of the next epoch */
} epochs;

static int64_t quotient_up(int64_t a, int64_t b)
{
    return a > 0 ? (a - 1) / b + 1 : 0;
}

static bool rule_fits(const hr_epoch_rule *rule)
{
    return rule->batch_size >= 1 && rule->last_batch >= HR_LAST_BATCH_FILL &&
           rule->last_batch <= HR_LAST_BATCH_PARTIAL && rule->size <= FAR &&
           (rule->size == 0 || rule->pipelines >= 1);
}

static bool meta_fits(const hr_reader_meta *m)
{
    if (m->global_batch != 0)
        return m->global_batch >= m->number_of_shards && m->global_batch <= INT32_MAX &&
               m->number_of_shards >= 1 && m->shard_id >= 0 && m->shard_id < m->number_of_shards &&
               m->epoch_size >= 1 && m->epoch_size <= FAR / 2 && m->rest_size == 0 &&
               m->first_epoch == 0;
    int64_t most = FAR / 2 / HR_MAX(m->number_of_shards, 1);
    return m->number_of_shards >= 1 && m->shard_id >= 0 && m->shard_id < m->number_of_shards &&
           m->epoch_size >= m->number_of_shards && m->epoch_size <= most && m->rest_size >= 0 &&
           m->rest_size <= most && m->first_epoch >= 0 && m->first_epoch <= FAR;
}

static hr_status open_reader(epochs *e, const hr_reader_meta *m, const hr_epoch_rule *rule,
                             hr_error *error)
{
    if (!rule_fits(rule) || rule->size != 0 || !meta_fits(m))
        return hr_fail(error, HR_STATUS_VALUE, "these are not the epochs of a reader");
    bool job = m->global_batch > 0;
    *e = (epochs){.s = {.args = {.num_shards = job ? 1 : m->number_of_shards,
                                 .shard_id = job ? 0 : m->shard_id,
                                 .stick_to_shard = m->stick_to_shard,
                                 .pad_last_batch = m->pad_last_batch},
                        .count = m->epoch_size,
                        .cut = {m->global_batch, m->number_of_shards, m->shard_id},
                        .batch_size = job ? (int32_t)m->global_batch : rule->batch_size,
                        .first_epoch = m->first_epoch,
                        .rest_parts = m->rest_size > 0},
                  .rest = {.end = m->rest_size},
                  .rule = *rule,
                  .carries = rule->last_batch == HR_LAST_BATCH_FILL && !m->pad_last_batch};
    e->rule.batch_size = e->s.batch_size;
    return HR_STATUS_OK;
}

/* The sampler that `e` describes. It points to `e`, which may have been copied before. */
static const hr_sampler *sampler(epochs *e)
{
    e->s.rest = &e->rest;
    return &e->s;
}

/* Whether products of epochs and their lengths fit. */
static hr_status check_place(const epochs *e, const hr_epoch_place *at, hr_error *error)
{
    int64_t longest = HR_MAX(e->s.count, hr__sampler_padded(&e->s, e->s.count));
    if (at->number < e->s.first_epoch - 2 || at->begin < 0 || at->begin > FAR || at->taken < 0 ||
        at->taken > FAR || at->number - e->s.first_epoch > FAR / longest - 2)
        return hr_fail(error, HR_STATUS_VALUE, "there is no such place in the epochs of a reader");
    return HR_STATUS_OK;
}

static bool is_rest(const epochs *e, int64_t number)
{
    return e->s.rest_parts > 0 && number == e->s.first_epoch - 1;
}

/* The samples of an epoch on all shards. */
static int64_t count_of(const epochs *e, int64_t number)
{
    if (is_rest(e, number))
        return e->rest.end;
    return number < e->s.first_epoch ? 0 : e->s.count;
}

/* The position at which the last of the shards that count has read an epoch. */
static int64_t furthest(epochs *e, int64_t number)
{
    int32_t n = e->s.args.num_shards, own = e->s.args.shard_id;
    int64_t found = 0;
    for (int32_t lane = e->rule.alone ? own : 0; lane < (e->rule.alone ? own + 1 : n); lane++)
        found = HR_MAX(found, hr__sampler_begin(sampler(e), lane, number + 1));
    return found;
}

/* The epoch of the shard that is behind the others. */
static int64_t rearmost(epochs *e, int64_t position)
{
    int32_t n = e->s.args.num_shards, own = e->s.args.shard_id;
    int64_t found = INT64_MAX;
    for (int32_t lane = e->rule.alone ? own : 0; lane < (e->rule.alone ? own + 1 : n); lane++)
        found = HR_MIN(found, hr__sampler_place(sampler(e), lane, position).epoch);
    return found;
}

/* Length of an epoch, and how many positions are run until it is over. */
static int64_t length_of(epochs *e, const hr_epoch_place *at, int64_t *end)
{
    int64_t n = e->s.args.num_shards, size = e->rule.batch_size, count = count_of(e, at->number);
    int64_t largest = quotient_up(count, n), length = largest;
    if (e->rule.last_batch == HR_LAST_BATCH_DROP) {
        /* A rest is read to its end, even if no batch of it is full. */
        *end = is_rest(e, at->number) ? largest : count / n;
        return count / n;
    }
    if (e->carries && count > 0)
        length =
            at->taken + quotient_up(furthest(e, at->number) - at->begin - at->taken, size) * size;
    else if (!e->s.args.pad_last_batch)
        length = quotient_up(largest, size) * size;
    *end = length;
    return length;
}

/* How many positions are run in an epoch that does not carry. */
static int64_t run_of(epochs *e, int64_t number)
{
    hr_epoch_place at = {.number = number};
    int64_t end;
    length_of(e, &at, &end);
    return quotient_up(end, e->rule.batch_size) * e->rule.batch_size;
}

/* The batches of an epoch of `length` positions that is over after `end`; `step`: of all that run
 * together. */
static void cut(hr_epoch *out, const hr_epoch_rule *rule, int64_t length, int64_t end,
                int64_t taken, int64_t step)
{
    bool drops = rule->last_batch == HR_LAST_BATCH_DROP;
    int64_t left = HR_MAX(length - taken, 0);
    out->length = length;
    out->full = length / step;
    out->batches = drops ? out->full : quotient_up(length, step);
    out->left = drops ? left / step : quotient_up(left, step);
    out->drop = drops && out->left == 0 && taken < end;
}

/* Of what a job keeps, the part of one of its processes. */
static void keep_part(hr_epoch *out, const hr_cut *cut)
{
    int64_t full = hr_cut_count(cut, cut->batch);
    out->size = hr_cut_count(cut, out->size);
    out->keep = hr_cut_count(cut, out->keep);
    out->real = hr_cut_count(cut, out->real);
    out->last = hr_cut_count(cut, out->last);
    out->own -= out->last == 0; /* of the last batch, it keeps nothing */
    out->last = out->last == 0 ? full : out->last;
}

/* What one of the shards or pipelines keeps, of which `size` positions belong to the epoch. */
static void keep(hr_epoch *out, const hr_epoch_rule *rule, int64_t size, int64_t taken,
                 int64_t step)
{
    int64_t left = HR_MAX(size - taken, 0), most = rule->batch_size;
    out->size = size;
    out->own = out->left;
    out->real = HR_MAX(HR_MIN(size - out->carried - taken, most), 0);
    out->keep = out->last = most;
    if (rule->last_batch != HR_LAST_BATCH_PARTIAL)
        return;
    out->keep = HR_MIN(left, most);
    out->own = HR_MIN(quotient_up(left, step), out->left);
    int64_t last = left - (out->own - 1) * step;
    out->last = out->own > 0 && last < most ? last : most;
}

static hr_status sized_at(const hr_reader_meta *meta, const hr_epoch_rule *rule,
                          const hr_epoch_place *at, int32_t lane, hr_epoch *out, hr_error *error)
{
    (void)meta;
    if (!rule_fits(rule) || lane < 0 || lane >= rule->pipelines || at->taken < 0 ||
        at->taken > FAR || rule->pipelines > FAR / rule->batch_size)
        return hr_fail(error, HR_STATUS_VALUE, "there is no such place in epochs of this size");
    int64_t step = (int64_t)rule->batch_size * rule->pipelines;
    *out = (hr_epoch){.length = -1, .left = INT64_MAX, .shard = lane, .size = INT64_MAX};
    out->own = INT64_MAX;
    out->keep = out->last = out->real = rule->batch_size;
    if (rule->size < 0)
        return HR_STATUS_OK;
    cut(out, rule, rule->size, rule->size, at->taken, step);
    keep(out, rule, rule->size - (int64_t)lane * rule->batch_size, at->taken, step);
    return HR_STATUS_OK;
}

hr_status hr_epoch_at(const hr_reader_meta *meta, const hr_epoch_rule *rule,
                      const hr_epoch_place *place, int32_t lane, hr_epoch *out, hr_error *error)
{
    epochs e;
    int64_t end;
    if (rule->size != 0)
        return sized_at(meta, rule, place, lane, out, error);
    HR_TRY(open_reader(&e, meta, rule, error));
    HR_TRY(check_place(&e, place, error));
    if (lane < 0 || lane >= meta->number_of_shards)
        return hr_fail(error, HR_STATUS_VALUE, "the reader has no shard %d", lane);
    *out = (hr_epoch){0};
    hr_cut part = {e.s.cut.batch, e.s.cut.ranks, rule->even ? 0 : lane};
    lane = part.batch > 0 ? 0 : lane;
    rule = &e.rule;
    int64_t n = e.s.args.num_shards, count = count_of(&e, place->number);
    int64_t length = length_of(&e, place, &end);
    int64_t number = HR_MAX(place->number, 0);
    out->shard = is_rest(&e, place->number) ? lane : hr__sampler_shard(sampler(&e), lane, number);
    int64_t size = hr__sampler_shard_start(count, out->shard + 1, (int32_t)n) -
                   hr__sampler_shard_start(count, out->shard, (int32_t)n);
    if (e.carries && count > 0)
        out->carried = place->begin - hr__sampler_begin(sampler(&e), lane, place->number);
    cut(out, rule, length, end, place->taken, rule->batch_size);
    keep(out, rule, rule->even ? quotient_up(count, n) : size, place->taken, rule->batch_size);
    if (part.batch > 0)
        keep_part(out, &part);
    return HR_STATUS_OK;
}

hr_status hr_epoch_next(const hr_reader_meta *meta, const hr_epoch_rule *rule,
                        hr_epoch_place *place, hr_error *error)
{
    epochs e;
    if (rule->size != 0) {
        hr_epoch now;
        HR_TRY(sized_at(meta, rule, place, 0, &now, error));
        bool carries = rule->last_batch == HR_LAST_BATCH_FILL && !meta->pad_last_batch;
        place->taken = carries && rule->size > 0 ? place->taken % rule->size : 0;
        place->number++;
        return HR_STATUS_OK;
    }
    HR_TRY(open_reader(&e, meta, rule, error));
    HR_TRY(check_place(&e, place, error));
    /* of batches that were skipped or left out, some may be of the next epoch */
    int64_t over = e.carries ? 0 : HR_MAX(place->taken - run_of(&e, place->number), 0);
    place->number++;
    place->begin += place->taken - over;
    place->taken = over;
    if (e.carries) /* an epoch may have been read already as a whole */
        place->number = HR_MAX(place->number, rearmost(&e, place->begin));
    return HR_STATUS_OK;
}

hr_status hr_epoch_start(const hr_reader_meta *meta, const hr_epoch_rule *rule, int64_t number,
                         hr_epoch_place *out, hr_error *error)
{
    epochs e;
    HR_TRY(open_reader(&e, meta, rule, error));
    *out = (hr_epoch_place){.number = number};
    HR_TRY(check_place(&e, out, error));
    int64_t first = e.s.first_epoch, size = e.rule.batch_size;
    if (number < first)
        return HR_STATUS_OK;
    if (e.carries)
        out->begin = quotient_up(furthest(&e, number - 1), size) * size;
    else
        out->begin = run_of(&e, first - 1) + (number - first) * run_of(&e, first);
    return HR_STATUS_OK;
}

hr_status hr_epoch_find(const hr_reader_meta *meta, const hr_epoch_rule *rule, int64_t position,
                        hr_epoch_place *out, hr_error *error)
{
    epochs e;
    HR_TRY(open_reader(&e, meta, rule, error));
    *out = (hr_epoch_place){.number = e.s.first_epoch, .begin = position};
    HR_TRY(check_place(&e, out, error));
    if (e.carries) {
        out->number = rearmost(&e, position);
        return HR_STATUS_OK;
    }
    int64_t rest = run_of(&e, e.s.first_epoch - 1), run = run_of(&e, e.s.first_epoch);
    if (position < rest)
        *out = (hr_epoch_place){.number = e.s.first_epoch - 1, .taken = position};
    else
        *out = (hr_epoch_place){.number = e.s.first_epoch + (position - rest) / run,
                                .taken = (position - rest) % run};
    out->begin = position - out->taken;
    return HR_STATUS_OK;
}
