/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A checkpoint is a JSON document. Its section "engine" is a few integers, and the cursors of
 * streams: order and randomness are pure functions of the position, so that resuming takes constant
 * time. Other sections belong to callers, and are not read here.
 *
 * A checkpoint of a job has the positions of all processes and the batch size of the job, so that
 * all processes write the same, and any number of them can go on with it. */
#include <string.h>
#include <sys/random.h>

#include "core/hash.h"
#include "exec/checkpoint.h"
#include "exec/job.h"
#include "exec/resplit.h"
#include "exec/left_out.h"

#define CHECKPOINT_VERSION 3
#define CHECKPOINT_FLAT 2 /* this version had no sections: the document was that of the engine */

/* The hash of what the graph computes. A checkpoint fits only a pipeline that computes the same;
 * other parts of its program may have changed. */
uint64_t hr__graph_fingerprint(const hr_graph *graph)
{
    char *text = NULL;
    size_t size = 0;
    if (hr__graph_meaning(graph, &text, &size, NULL) != HR_STATUS_OK)
        return 0;
    uint64_t hash = hr_fnv1a(HR_FNV1A, text, size);
    hr_string_free(text);
    return hash >> 1; /* fits a JSON integer */
}

/* The cursors of streams, in hexadecimal. Without streams there is no such list. */
static hr_status append_cursors(const hr_pipeline *p, const hr_taken *at, hr_text *t,
                                hr_error *error)
{
    char text[512];
    bool any = false;
    for (int32_t k = 0; k < p->source_count; k++)
        any = any || hr__source_streams(&p->sources[k]);
    for (int32_t k = 0; any && k < p->source_count; k++) {
        const hr_cursor *cursor = at->cursor[k] ? at->cursor[k] : p->taken.cursor[k];
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

/* Lists with one number per source. */
static void append_numbers(const hr_pipeline *p, const hr_taken *at, hr_text *t)
{
    static const char *const keys[] = {"items", "positions", "shards"};
    for (int32_t i = 0; i < 3; i++) {
        hr_text_append(t, ", \"%s\": [", keys[i]);
        for (int32_t k = 0; k < p->source_count; k++) {
            const hr_sampler *s = &p->sources[k].sampler;
            const int64_t numbers[] = {s->count, hr__job_positions(p, at->position[k]),
                                       s->args.num_shards};
            hr_text_append(t, "%s%lld", k ? ", " : "", (long long)numbers[i]);
        }
        hr_text_append(t, "]");
    }
}

/* `past`: with the earlier splits. Lock held. */
static hr_status append_engine(const hr_pipeline *p, const hr_taken *at, bool past, hr_text *t,
                               hr_error *error)
{
    hr_text_append(t,
                   "{\"version\": \"%s\", \"graph\": %llu, \"seed\": %lld, \"batch_size\": %d, "
                   "\"iteration\": %lld, \"sample\": %lld",
                   HR_VERSION, (unsigned long long)p->fingerprint, (long long)p->seed,
                   p->job.batch > 0 ? (int32_t)p->job.batch : p->options.batch_size,
                   (long long)at->iteration, (long long)hr__job_positions(p, at->sample));
    append_numbers(p, at, t);
    hr_text_append(t, ", \"past\": [");
    for (int32_t k = 0; k < p->source_count; k++) {
        hr_text_append(t, k ? ", " : "");
        hr__past_append(&p->sources[k], past, t);
    }
    hr_text_append(t, "]");
    HR_TRY(append_cursors(p, at, t, error));
    hr__left_out_append(p, t);
    hr_text_append(t, "}");
    return HR_STATUS_OK;
}

/* Writes the document, to which callers add sections of their own. `at`: NULL for what was
 * delivered. */
static hr_status write_document(hr_pipeline *p, const hr_taken *at, char **text, size_t *size,
                                hr_error *error)
{
    hr_text t = {0};
    hr_text_append(&t, "{\"headrace_checkpoint\": %d, \"engine\": ", CHECKPOINT_VERSION);
    pthread_mutex_lock(&p->lock);
    hr_status status = append_engine(p, at ? at : hr__delivered(p), at == NULL, &t, error);
    pthread_mutex_unlock(&p->lock);
    hr_text_append(&t, "}");
    if (status == HR_STATUS_OK)
        return hr_text_take(&t, text, size, error);
    hr_text_fini(&t);
    return status;
}

hr_status hr_pipeline_checkpoint(hr_pipeline *p, char **text, size_t *size, hr_error *error)
{
    HR_TRY(hr__check_owner(p, error));
    return write_document(p, NULL, text, size, error);
}

hr_status hr_checkpoint_at_epoch(hr_pipeline *p, int64_t iterations, int64_t positions, char **text,
                                 size_t *size, hr_error *error)
{
    char named[512];
    HR_TRY(hr__check_owner(p, error));
    if (HR_MIN(iterations, positions) < 0 || HR_MAX(iterations, positions) > INT64_MAX / 2)
        return hr_fail(error, HR_STATUS_VALUE, "no epoch begins at iteration %lld, position %lld",
                       (long long)iterations, (long long)positions);
    for (int32_t k = 0; k < p->source_count; k++)
        if (!hr__source_indexed(&p->sources[k]))
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "%s: this source only goes forward, and cannot be moved to an epoch",
                           hr_node_text(p->sources[k].node, named, sizeof(named)));
    hr_taken at = {.iteration = iterations, .sample = hr__job_own(p, positions)};
    hr_status status = hr__taken_init(&at, p->source_count, error);
    for (int32_t k = 0; k < p->source_count && status == HR_STATUS_OK; k++)
        at.position[k] = hr__job_own(p, positions);
    if (status == HR_STATUS_OK)
        status = write_document(p, &at, text, size, error);
    hr__taken_fini(&at, p->source_count);
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
    HR_TRY_ALLOC(bytes);
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

/* Continues a reader of a job, at the end of a batch. */
static hr_status restore_job(hr_pipeline *p, int32_t k, int64_t batch_size, hr_error *error)
{
    int64_t position = p->taken.position[k];
    if (batch_size != p->job.batch || position % p->job.batch != 0)
        return hr_fail(error, HR_STATUS_VALUE,
                       "checkpoint: its position %lld is not the end of a batch of %lld samples",
                       (long long)position, (long long)p->job.batch);
    p->sources[k].position = p->taken.position[k] = hr__job_own(p, position);
    return HR_STATUS_OK;
}

/* Continues a reader. */
static hr_status restore_reader(hr_pipeline *p, const hr_json *json, int32_t k, hr_error *error)
{
    hr_source *s = &p->sources[k];
    const hr_json *past = hr_json_get(json, "past");
    int64_t count = 0, batch_size = 0, num_shards = 0;
    char text[512];
    HR_TRY(get_item(p, json, "items", k, &count, error));
    if (count != s->sampler.count)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s: the checkpoint was taken with %lld items, but there are %lld now, so "
                       "their order is different",
                       hr_node_text(s->node, text, sizeof(text)), (long long)count,
                       (long long)s->sampler.count);
    HR_TRY(get_integer(json, "batch_size", &batch_size, error));
    HR_TRY(get_item(p, json, "shards", k, &num_shards, error));
    if (num_shards < 1 || num_shards > INT32_MAX || batch_size < 1 || batch_size > INT32_MAX)
        return hr_fail(error, HR_STATUS_VALUE,
                       "checkpoint: 'shards' or 'batch_size' contains an invalid number");
    if (!past || past->kind != HR_JSON_KIND_LIST || past->count != p->source_count)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: 'past' does not fit the sources");
    if (p->job.batch > 0)
        return restore_job(p, k, batch_size, error);
    hr_stint last = {(int32_t)num_shards, (int32_t)batch_size, p->taken.position[k]};
    if (hr__reader_restore(s, &past->items[k], &last, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "%s", hr_node_text(s->node, text, sizeof(text)));
    p->taken.position[k] = s->position;
    return HR_STATUS_OK;
}

/* The engine's section of a checkpoint. */
static hr_status find_engine(const hr_json *json, const hr_json **out, hr_error *error)
{
    int64_t version = 0;
    HR_TRY(get_integer(json, "headrace_checkpoint", &version, error));
    if (version != CHECKPOINT_VERSION && version != CHECKPOINT_FLAT)
        return hr_fail(error, HR_STATUS_VALUE,
                       "checkpoint: it has version %lld, but this build reads versions %d and %d",
                       (long long)version, CHECKPOINT_FLAT, CHECKPOINT_VERSION);
    *out = version == CHECKPOINT_FLAT ? json : hr_json_get(json, "engine");
    if (!*out || (*out)->kind != HR_JSON_KIND_OBJECT)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: 'engine' is missing or not an object");
    return HR_STATUS_OK;
}

/* The checkpoint is one of this pipeline. */
static hr_status check_origin(const hr_pipeline *p, const hr_json *json, hr_error *error)
{
    int64_t graph = 0, seed = 0;
    HR_TRY(get_integer(json, "graph", &graph, error));
    HR_TRY(get_integer(json, "seed", &seed, error));
    if ((uint64_t)graph != p->fingerprint)
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
    hr_taken *at = &p->taken;
    HR_TRY(check_origin(p, json, error));
    HR_TRY(get_integer(json, "iteration", &at->iteration, error));
    HR_TRY(get_integer(json, "sample", &at->sample, error));
    if (HR_MAX(at->iteration, at->sample) > INT64_MAX / 2)
        return hr_fail(error, HR_STATUS_VALUE, "checkpoint: its iteration or sample is too large");
    for (int32_t k = 0; k < p->source_count; k++) {
        HR_TRY(get_item(p, json, "positions", k, &at->position[k], error));
        p->sources[k].position = at->position[k];
        if (hr__source_indexed(&p->sources[k]))
            HR_TRY(restore_reader(p, json, k, error));
        if (hr__source_streams(&p->sources[k]))
            HR_TRY(restore_cursor(p, json, k, error));
    }
    HR_TRY(hr__left_out_read(p, hr_json_get(json, "left_out"), error));
    at->sample = hr__job_own(p, at->sample);
    p->flight.next_iteration = at->iteration;
    p->flight.next_sample = at->sample;
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
        HR_TRY(find_engine(p->resume, &p->resume_engine, error));
        if (p->seed < 0)
            HR_TRY(get_integer(p->resume_engine, "seed", &p->seed, error));
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
    hr_status status = p->resume ? apply(p, p->resume_engine, error) : HR_STATUS_OK;
    hr_json_destroy(p->resume);
    p->resume = NULL;
    p->resume_engine = NULL;
    return status;
}
