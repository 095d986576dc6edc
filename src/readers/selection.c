/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The argument `sampler` of readers: "class_balanced", {"weights": [...]} or {"order": [...]}.
 * Draws are functions of the seed, the epoch and the entry, so that a checkpoint need not keep
 * them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "readers/selection.h"

enum { KEY_DRAW = 0x4472 };

/* ---- weights ---- */

static hr_status sum_up(hr_selection *s, hr_error *error)
{
    double sum = 0;
    s->last = -1;
    for (int64_t i = 0; i < s->items; i++) {
        if (s->sums[i] < 0)
            return hr_fail(error, HR_STATUS_ERROR, "weight %lld is negative: %g", (long long)i,
                           s->sums[i]);
        s->last = s->sums[i] > 0 ? i : s->last;
        s->sums[i] = sum += s->sums[i];
    }
    if (s->last < 0)
        return hr_fail(error, HR_STATUS_ERROR, "all weights are 0");
    if (!isfinite(sum))
        return hr_fail(error, HR_STATUS_ERROR, "the sum of the weights is too large");
    return HR_STATUS_OK;
}

static hr_status take_weights(hr_selection *s, const hr_json *weights, hr_error *error)
{
    if (weights->count != s->items)
        return hr_fail(error, HR_STATUS_ERROR, "there are %d weights for %lld items",
                       weights->count, (long long)s->items);
    s->sums = hr_calloc((size_t)s->items, sizeof(*s->sums), error);
    HR_TRY_ALLOC(s->sums);
    for (int32_t i = 0; i < weights->count; i++)
        s->sums[i] = weights->items[i].f;
    return sum_up(s, error);
}

/* The first item whose sum is greater than `at`. */
static int64_t find(const hr_selection *s, double at)
{
    int64_t low = 0, high = s->last;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int64_t draw(const hr_selection *s, int64_t epoch, int64_t entry)
{
    hr_rng rng = hr_rng_make(s->key, entry, (uint32_t)epoch, 0);
    double unit = (double)hr_rng_below(&rng, 0, (int64_t)1 << 53) * 0x1p-53;
    return find(s, unit * s->sums[s->last]);
}

/* ---- classes ---- */

static int compare_labels(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The weight of an item is 1 by the number of items with the same label. */
static void weigh(const hr_selection *s, const int64_t *sorted, const hr_source_def *def,
                  const void *state)
{
    for (int64_t i = 0; i < s->items; i++) {
        int64_t label = def->label(state, i), low = 0, high = s->items;
        while (low < high) { /* the first item of the class */
            int64_t middle = low + (high - low) / 2;
            if (sorted[middle] < label)
                low = middle + 1;
            else
                high = middle;
        }
        int64_t first = low;
        for (high = s->items; low < high;) { /* the first item of the next class */
            int64_t middle = low + (high - low) / 2;
            if (sorted[middle] <= label)
                low = middle + 1;
            else
                high = middle;
        }
        s->sums[i] = 1.0 / (double)(low - first);
    }
}

static hr_status balance(hr_selection *s, const hr_source_def *def, const void *state,
                         hr_error *error)
{
    if (!def->label)
        return hr_fail(error, HR_STATUS_ERROR,
                       "\"class_balanced\" needs labels that are known before an item is "
                       "read, which this reader does not have; pass {\"weights\": [...]} instead");
    s->sums = hr_calloc((size_t)s->items, sizeof(*s->sums), error);
    int64_t *sorted = s->sums ? hr_calloc((size_t)s->items, sizeof(*sorted), error) : NULL;
    HR_TRY_ALLOC(sorted);
    for (int64_t i = 0; i < s->items; i++)
        sorted[i] = def->label(state, i);
    qsort(sorted, (size_t)s->items, sizeof(*sorted), compare_labels);
    weigh(s, sorted, def, state);
    hr_free(sorted);
    return sum_up(s, error);
}

/* ---- order ---- */

static hr_status take_order(hr_selection *s, const hr_json *order, hr_error *error)
{
    s->order = hr_calloc((size_t)order->count, sizeof(*s->order), error);
    HR_TRY_ALLOC(s->order);
    for (int32_t i = 0; i < order->count; i++) {
        const hr_json *v = &order->items[i];
        if (!v->is_integer || v->i < 0 || v->i >= s->items)
            return hr_fail(error, HR_STATUS_ERROR,
                           "element %d of the order is %g; items are numbered from 0 to %lld", i,
                           v->f, (long long)s->items - 1);
        s->order[i] = v->i;
    }
    s->count = order->count;
    return HR_STATUS_OK;
}

static hr_status take_table(hr_selection *s, const hr_json *sampler, hr_error *error)
{
    const hr_json *weights = hr_json_get(sampler, "weights");
    const hr_json *order = hr_json_get(sampler, "order");
    const hr_json *size = hr_json_get(sampler, "epoch_size");
    int32_t known = (weights != NULL) + (order != NULL) + (size != NULL);
    const hr_json *list = weights ? weights : order;
    if (known != sampler->count || !list || (weights && order) || (size && order) ||
        list->kind != HR_JSON_KIND_LIST || list->count == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "it must be {\"weights\": [...]}, {\"weights\": [...], \"epoch_size\": n}, "
                       "{\"order\": [...]} or \"class_balanced\"");
    if (size && (!size->is_integer || size->i < 1 || size->i > INT32_MAX))
        return hr_fail(error, HR_STATUS_ERROR, "epoch_size must be an integer of at least 1");
    s->count = size ? size->i : s->count;
    return weights ? take_weights(s, weights, error) : take_order(s, order, error);
}

static hr_status shuffle_files(hr_selection *s, const hr_sampler_args *args,
                               const hr_source_def *def, const void *state, hr_error *error)
{
    int32_t files;
    if (!args->shuffle_after_epoch)
        return HR_STATUS_OK;
    const int64_t *first = def->files(state, &files);
    s->key = (uint64_t)args->shuffle_after_epoch_seed;
    return hr_file_order_create(&s->files, first, files, error);
}

hr_status hr_selection_init(hr_selection *s, const hr_sampler_args *args, const hr_source_def *def,
                            const void *state, uint64_t seed, hr_error *error)
{
    const hr_json *sampler = args->sampler;
    int64_t items = def->count(state);
    *s = (hr_selection){.count = items, .items = items, .key = hr_mix(seed, KEY_DRAW)};
    if (items == 0)
        return HR_STATUS_OK;
    if (!sampler && def->files)
        return shuffle_files(s, args, def, state, error);
    if (args->shuffle_after_epoch && args->random_shuffle)
        return hr_fail(error, HR_STATUS_ERROR,
                       "shuffle_after_epoch and random_shuffle exclude each other");
    if (!sampler)
        return HR_STATUS_OK;
    hr_status status = sampler->kind == HR_JSON_KIND_STRING ? balance(s, def, state, error)
                                                            : take_table(s, sampler, error);
    if (status == HR_STATUS_OK)
        return status;
    hr_selection_fini(s);
    return hr_error_prefix(error, "sampler");
}

void hr_selection_fini(hr_selection *s)
{
    hr_free(s->order);
    hr_free(s->sums);
    hr_file_order_destroy(s->files);
    s->order = NULL;
    s->sums = NULL;
    s->files = NULL;
}

int64_t hr_selection_item(const hr_selection *s, int64_t epoch, int64_t entry)
{
    if (s->files)
        return hr_file_order_item(s->files, hr_file_order_key(s->key, epoch), 0, s->items, entry);
    return s->order ? s->order[entry] : s->sums ? draw(s, epoch, entry) : entry;
}
