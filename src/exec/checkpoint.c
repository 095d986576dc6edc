/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A checkpoint is a few integers, and the cursors of streams. Order and randomness are pure
 * functions of the position, so that resuming takes constant time. */
#include <string.h>
#include <sys/random.h>

#include "core/hash.h"
#include "exec/checkpoint.h"
#include "exec/resplit.h"

/* Version 1 had no 'shards' and no 'past', and fitted only the same num_shards and shard_id. */
#define CHECKPOINT_VERSION 2

/* The hash of what the graph computes. A checkpoint fits only a pipeline that computes the same;
 * other parts of its program may have changed. */
uint64_t hr__graph_fingerprint(const hr_graph *graph, bool fixed)
{
    char *text = NULL;
    size_t size = 0;
    if (hr__graph_meaning(graph, fixed, &text, &size, NULL) != HR_STATUS_OK)
        return 0;
    uint64_t hash = hr_fnv1a(HR_FNV1A, text, size);
    hr_string_free(text);
    return hash >> 1; /* fits a JSON integer */
}

/* The cursors of streams, in hexadecimal. Without streams there is no such list. Lock held. */
static hr_status append_cursors(const hr_pipeline *p, hr_text *t, hr_error *error)
{
    char text[512];
    bool any = false;
    for (int32_t k = 0; k < p->source_count; k++)
        any = any || hr__source_streams(&p->sources[k]);
    for (int32_t k = 0; any && k < p->source_count; k++) {
        const hr_cursor *before = p->undelivered ? p->before.cursor[k] : NULL;
        const hr_cursor *cursor = before ? before : p->taken_cursor[k];
        if (!cursor && hr__source_streams(&p->sources[k]))
            return hr_fail(error, HR_STATUS_ERROR, "%s: this source has no checkpoints",
                           hr_node_text(p->sources[k].node, text, sizeof(text)));
        hr_text_append(t, k ? ", \"" : ", \"cursors\": [\"");
        for (size_t i = 0; cursor && i < cursor->size; i++)
            hr_text_append(t, "%02x", cursor->bytes[i]);
        hr_text_append(t, "\"");
    }
    hr_text_append(t, any ? "]" : "");
    return HR_STATUS_OK;
}

/* How the readers are split, and how they were. */
static void append_splits(const hr_pipeline *p, hr_text *t)
{
    hr_text_append(t, "], \"shards\": [");
    for (int32_t k = 0; k < p->source_count; k++)
        hr_text_append(t, "%s%d", k ? ", " : "", p->sources[k].sampler.args.num_shards);
    hr_text_append(t, "], \"past\": [");
    for (int32_t k = 0; k < p->source_count; k++) {
        hr_text_append(t, k ? ", " : "");
        hr__past_append(&p->sources[k], t);
    }
    hr_text_append(t, "]");
}

hr_status hr_pipeline_checkpoint(hr_pipeline *p, char **text, size_t *size, hr_error *error)
{
    hr_text t = {0};
    HR_TRY(hr__check_owner(p, error));
    pthread_mutex_lock(&p->lock);
    const int64_t *positions = p->undelivered ? p->before.position : p->taken_position;
    hr_text_append(
        &t, "{\"headrace_checkpoint\": %d, \"version\": \"%s\", \"graph\": %llu, \"seed\": %lld, ",
        CHECKPOINT_VERSION, HR_VERSION, (unsigned long long)p->fingerprint, (long long)p->seed);
    hr_text_append(&t, "\"batch_size\": %d, \"items\": [", p->options.batch_size);
    for (int32_t k = 0; k < p->source_count; k++)
        hr_text_append(&t, "%s%lld", k ? ", " : "", (long long)p->sources[k].sampler.count);
    hr_text_append(&t, "], \"iteration\": %lld, \"sample\": %lld, \"positions\": [",
                   (long long)(p->undelivered ? p->before.iteration : p->taken_iteration),
                   (long long)(p->undelivered ? p->before.sample : p->taken_sample));
    for (int32_t k = 0; k < p->source_count; k++)
        hr_text_append(&t, "%s%lld", k ? ", " : "", (long long)positions[k]);
    append_splits(p, &t);
    hr_status status = append_cursors(p, &t, error);
    pthread_mutex_unlock(&p->lock);
    hr_text_append(&t, "}");
    if (status == HR_STATUS_OK)
        return hr_text_take(&t, text, size, error);
    hr_text_fini(&t);
    return status;
}

static hr_status get_integer(const hr_json *json, const char *key, int64_t *out, hr_error *error)
{
    const hr_json *v = hr_json_get(json, key);
    if (!v || v->kind != HR_JSON_KIND_NUMBER || !v->is_integer || v->i < 0)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: '%s' is missing or not a number", key);
    *out = v->i;
    return HR_STATUS_OK;
}

/* Element `k` of a list with one number per source. */
static hr_status get_item(const hr_pipeline *p, const hr_json *json, const char *key, int32_t k,
                          int64_t *out, hr_error *error)
{
    const hr_json *list = hr_json_get(json, key);
    if (!list || list->kind != HR_JSON_KIND_LIST || list->count != p->source_count)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: '%s' does not fit the sources", key);
    const hr_json *v = &list->items[k];
    if (v->kind != HR_JSON_KIND_NUMBER || !v->is_integer || v->i < 0 || v->i > INT64_MAX / 2)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: '%s' contains an invalid number", key);
    *out = v->i;
    return HR_STATUS_OK;
}

static int32_t hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int32_t)(at - digits) : -1;
}

/* Gives a stream its cursor back. */
static hr_status restore_cursor(const hr_pipeline *p, const hr_json *json, int32_t k,
                                hr_error *error)
{
    char named[512];
    const hr_source *s = &p->sources[k];
    const hr_json *list = hr_json_get(json, "cursors");
    bool fits = list && list->kind == HR_JSON_KIND_LIST && list->count == p->source_count;
    const char *text = fits && list->items[k].kind == HR_JSON_KIND_STRING ? list->items[k].s : NULL;
    size_t digits = text ? strlen(text) : 0;
    if (!text || digits % 2 != 0 || !s->def->stream->restore)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: 'cursors' does not fit the sources");
    uint8_t *bytes = hr_calloc(digits / 2 + 1, 1, error);
    if (!bytes)
        return HR_STATUS_NO_MEMORY;
    hr_status status = HR_STATUS_OK;
    for (size_t i = 0; i < digits && status == HR_STATUS_OK; i += 2) {
        int32_t high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            status = hr_fail(error, HR_STATUS_VALUE, "the cursor is not hexadecimal");
        bytes[i / 2] = (uint8_t)(16 * high + low);
    }
    if (status == HR_STATUS_OK)
        status = s->def->stream->restore(s->state, bytes, digits / 2, error);
    hr_free(bytes);
    if (status != HR_STATUS_OK)
        hr_error_prefix(error, "checkpoint: %s", hr_node_text(s->node, named, sizeof(named)));
    return status;
}

/* Continues a reader. Checkpoints of version 1 fit only the same split. */
static hr_status restore_reader(hr_pipeline *p, const hr_json *json, int64_t version, int32_t k,
                                hr_error *error)
{
    hr_source *s = &p->sources[k];
    const hr_json *past = hr_json_get(json, "past");
    int64_t items = 0, batch_size = 0, shards = s->sampler.args.num_shards;
    char text[512];
    HR_TRY(get_item(p, json, "items", k, &items, error));
    if (items != s->sampler.count)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s: the checkpoint was taken with %lld items, but there are %lld now, so "
                       "their order is different",
                       hr_node_text(s->node, text, sizeof(text)), (long long)items,
                       (long long)s->sampler.count);
    HR_TRY(get_integer(json, "batch_size", &batch_size, error));
    if (version > 1)
        HR_TRY(get_item(p, json, "shards", k, &shards, error));
    if (shards < 1 || shards > INT32_MAX || batch_size < 1 || batch_size > INT32_MAX)
        return hr_fail(error, HR_STATUS_VALUE,
                       "checkpoint: 'shards' or 'batch_size' contains an invalid number");
    if (version > 1 && (!past || past->kind != HR_JSON_KIND_LIST || past->count != p->source_count))
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: 'past' does not fit the sources");
    hr_stint last = {(int32_t)shards, (int32_t)batch_size, p->taken_position[k]};
    if (hr__reader_restore(s, version > 1 ? &past->items[k] : NULL, &last, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "%s", hr_node_text(s->node, text, sizeof(text)));
    p->taken_position[k] = s->position;
    return HR_STATUS_OK;
}

/* The checkpoint is one of this pipeline, and this build can read it. */
static hr_status check_origin(const hr_pipeline *p, const hr_json *json, int64_t *version,
                              hr_error *error)
{
    int64_t graph = 0, seed = 0;
    HR_TRY(get_integer(json, "headrace_checkpoint", version, error));
    if (*version < 1 || *version > CHECKPOINT_VERSION)
        return hr_fail(error, HR_STATUS_VALUE,
                       "checkpoint: it has version %lld, but this build reads versions 1 to %d",
                       (long long)*version, CHECKPOINT_VERSION);
    HR_TRY(get_integer(json, "graph", &graph, error));
    HR_TRY(get_integer(json, "seed", &seed, error));
    uint64_t ours = *version == 1 ? hr__graph_fingerprint(p->graph, true) : p->fingerprint;
    if ((uint64_t)graph != ours)
        return hr_fail(error, HR_STATUS_ERROR,
                       "checkpoint: it was taken from a different pipeline");
    if (seed != p->seed)
        return hr_fail(error, HR_STATUS_ERROR,
                       "checkpoint: its seed is %lld, but the pipeline's is %lld", (long long)seed,
                       (long long)p->seed);
    return HR_STATUS_OK;
}

static hr_status apply(hr_pipeline *p, const hr_json *json, hr_error *error)
{
    int64_t version = 0;
    HR_TRY(check_origin(p, json, &version, error));
    HR_TRY(get_integer(json, "iteration", &p->next_iteration, error));
    HR_TRY(get_integer(json, "sample", &p->next_sample, error));
    if (HR_MAX(p->next_iteration, p->next_sample) > INT64_MAX / 2)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: its iteration or sample is too large");
    for (int32_t k = 0; k < p->source_count; k++) {
        HR_TRY(get_item(p, json, "positions", k, &p->taken_position[k], error));
        p->sources[k].position = p->taken_position[k];
        if (hr__source_indexed(&p->sources[k]))
            HR_TRY(restore_reader(p, json, version, k, error));
        if (hr__source_streams(&p->sources[k]))
            HR_TRY(restore_cursor(p, json, k, error));
    }
    p->taken_iteration = p->next_iteration;
    p->taken_sample = p->next_sample;
    return HR_STATUS_OK;
}

hr_status hr__checkpoint_open(hr_pipeline *p, hr_error *error)
{
    p->seed = p->options.seed;
    if (p->options.checkpoint) {
        hr_status status =
            hr_json_parse(&p->resume, p->options.checkpoint, p->options.checkpoint_size, error);
        if (status != HR_STATUS_OK)
            return error ? hr_error_prefix(error, "checkpoint") : status;
        if (p->seed < 0)
            HR_TRY(get_integer(p->resume, "seed", &p->seed, error));
    }
    if (p->seed >= 0)
        return HR_STATUS_OK;
    uint64_t drawn;
    if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
        drawn = (uint64_t)hr_clock_ns();
    p->seed = (int64_t)(drawn >> 2);
    return HR_STATUS_OK;
}

hr_status hr__checkpoint_restore(hr_pipeline *p, hr_error *error)
{
    hr_status status = p->resume ? apply(p, p->resume, error) : HR_STATUS_OK;
    hr_json_destroy(p->resume);
    p->resume = NULL;
    return status;
}
