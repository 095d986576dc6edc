/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Makes the batches of an iteration whose tasks are done, and answers questions about them. */
#include <string.h>

#include "exec/branch.h"
#include "exec/publish.h"

hr_status hr__iteration_failure(const hr_iteration *it, hr_error *error)
{
    if (it->status != HR_STATUS_OK)
        return hr_fail(error, it->status, "%s", it->error.message);
    for (int32_t i = 0; i < it->size; i++) {
        const hr_sample *s = &it->samples[i];
        if (s->status == HR_STATUS_OK)
            continue;
        if (s->error)
            return hr_fail(error, s->status, "%s", s->error->message);
        return hr_fail(error, s->status, "out of memory");
    }
    return HR_STATUS_OK;
}

/* Whether an output has a value for the sample. Nodes in a branch have none for samples that do not
 * take it. */
static bool is_there(const hr_iteration *it, const hr_gather *g, int32_t i)
{
    return !it->samples[i].skipped && g->tensors[i].buffer;
}

static hr_status check_merged(const hr_pipeline *p, const hr_iteration *it, int32_t output,
                              hr_error *error)
{
    const hr_gather *g = &it->gathers[output];
    const hr_node *node = p->graph->nodes[p->plan->values[p->plan->outputs[output]].edge.node];
    const hr_tensor *first = NULL;
    for (int32_t i = 0; i < it->size && (node->def->flags & HR_OP_MERGE); i++) {
        if (!is_there(it, g, i))
            continue;
        first = first ? first : &g->tensors[i];
        HR_TRY(hr__merged_check(node, first, &g->tensors[i], error));
    }
    return HR_STATUS_OK;
}

/* Whether only this output refers to its contiguous buffer. Otherwise another output may be a view
 * of it, and samples must not be moved. */
static bool owns_buffer(const hr_iteration *it, const hr_gather *g)
{
    size_t refs = 1;
    for (int32_t i = 0; i < it->size; i++)
        refs += g->tensors[i].buffer == g->buffer;
    return g->buffer && hr_buffer_refs(g->buffer) == refs;
}

/* Moves sample `from` to slot `to` in the contiguous buffer, to close the gap that skipped samples
 * left. */
static void close_hole(const hr_gather *g, hr_tensor *t, int32_t from, int32_t to)
{
    char *base = hr_buffer_data(g->buffer);
    if (from == to || t->data != base + (size_t)from * g->sample_bytes)
        return;
    memmove(base + (size_t)to * g->sample_bytes, t->data, g->sample_bytes);
    t->data = base + (size_t)to * g->sample_bytes;
}

/* Whether host samples of one shape are not contiguous, because a branch passed on borrowed memory
 * and the other one did not. `*bytes`: size of a sample. */
static bool scattered(const hr_tensor *tensors, int32_t count, size_t *bytes)
{
    bool scatter = false;
    for (int32_t i = 0; i < count; i++) {
        const hr_tensor *t = &tensors[i];
        if (!t->buffer || hr_buffer_device(t->buffer) != HR_DEVICE_HOST ||
            !hr_shape_equal(&t->shape, &tensors[0].shape) || !hr_tensor_bytes(t, bytes))
            return false;
        scatter = scatter || t->buffer != tensors[0].buffer ||
                  (const char *)t->data != (const char *)tensors[0].data + (size_t)i * *bytes;
    }
    return scatter;
}

/* Makes a merged output contiguous, like any other output. */
static hr_status bring_together(hr_pipeline *p, hr_tensor *tensors, int32_t count, hr_error *error)
{
    hr_buffer *buffer;
    size_t bytes = 0, total;
    if (!scattered(tensors, count, &bytes))
        return HR_STATUS_OK;
    if (!hr_size_mul(bytes, (size_t)count, &total))
        return hr_fail(error, HR_STATUS_LIMIT, "the batch's size overflows");
    HR_TRY(hr_pool_alloc(p->pool, total, &buffer, error));
    for (int32_t i = 0; i < count; i++) {
        char *to = (char *)hr_buffer_data(buffer) + (size_t)i * bytes;
        if (bytes > 0)
            memcpy(to, tensors[i].data, bytes);
        hr_buffer_unref(tensors[i].buffer);
        tensors[i].buffer = hr_buffer_ref(buffer);
        tensors[i].data = to;
    }
    hr_buffer_unref(buffer);
    return HR_STATUS_OK;
}

static bool is_merged(const hr_pipeline *p, int32_t output)
{
    int32_t node = p->plan->values[p->plan->outputs[output]].edge.node;
    return p->graph->nodes[node]->def->flags & HR_OP_MERGE;
}

static hr_status publish_one(hr_pipeline *p, hr_iteration *it, int32_t output, hr_batch **out,
                             hr_error *error)
{
    hr_gather *g = &it->gathers[output];
    int32_t count = 0;
    for (int32_t i = 0; i < it->size; i++)
        count += is_there(it, g, i);
    HR_TRY(check_merged(p, it, output, error));
    HR_TRY(hr_batch_alloc(out, count, error));
    bool movable = count < it->size && owns_buffer(it, g);
    hr_tensor *tensors = hr_batch_tensors(*out);
    for (int32_t i = 0, to = 0; i < it->size; i++) {
        if (!is_there(it, g, i))
            continue;
        tensors[to] = g->tensors[i];
        g->tensors[i].buffer = NULL; /* the reference moves */
        if (movable)
            close_hole(g, &tensors[to], i, to);
        to++;
    }
    if (is_merged(p, output))
        HR_TRY(bring_together(p, tensors, count, error));
    HR_TRY(hr_batch_own_texts(*out, error));
    hr_batch_seal(*out);
    return HR_STATUS_OK;
}

static hr_status publish_all(hr_pipeline *p, hr_iteration *it, hr_outputs *o, hr_error *error)
{
    for (int32_t k = 0; k < o->count; k++) {
        int32_t first = p->plan->values[p->plan->outputs[k]].output;
        if (first < k)
            o->batch[k] = hr_batch_ref(o->batch[first]);
        else
            HR_TRY(publish_one(p, it, k, &o->batch[k], error));
    }
    return HR_STATUS_OK;
}

static hr_status note_slots(const hr_iteration *it, hr_outputs *o, hr_error *error)
{
    o->slots = hr_calloc((size_t)it->size + 1, sizeof(*o->slots), error);
    HR_TRY_ALLOC(o->slots);
    for (int32_t i = 0; i < it->size; i++) {
        if (!it->samples[i].skipped)
            o->slots[o->samples++] = i;
    }
    return HR_STATUS_OK;
}

hr_status hr__publish(hr_pipeline *p, hr_iteration *it, hr_error *error)
{
    HR_TRY(hr__iteration_failure(it, error));
    int32_t count = p->plan->output_count;
    hr_outputs *o = hr_calloc(1, sizeof(*o) + (size_t)count * sizeof(o->batch[0]), error);
    HR_TRY_ALLOC(o);
    atomic_init(&o->refs, 1);
    o->iteration = it->number;
    o->positions = it->positions;
    o->count = count;
    hr_status status = note_slots(it, o, error);
    if (status == HR_STATUS_OK)
        status = publish_all(p, it, o, error);
    if (status != HR_STATUS_OK) {
        hr_outputs_unref(o);
        return status;
    }
    it->outputs = o;
    return HR_STATUS_OK;
}

void hr_outputs_unref(hr_outputs *outputs)
{
    if (!outputs || atomic_fetch_sub(&outputs->refs, 1) != 1)
        return;
    for (int32_t k = 0; k < outputs->count; k++)
        hr_batch_unref(outputs->batch[k]);
    hr_free(outputs->slots);
    hr_free(outputs);
}

int32_t hr_outputs_count(const hr_outputs *outputs)
{
    return outputs->count;
}

hr_batch *hr_outputs_batch(const hr_outputs *outputs, int32_t i)
{
    return i >= 0 && i < outputs->count ? outputs->batch[i] : NULL;
}

int64_t hr_outputs_iteration(const hr_outputs *outputs)
{
    return outputs->iteration;
}

int32_t hr_outputs_positions(const hr_outputs *outputs)
{
    return outputs->positions;
}

int32_t hr_outputs_slot(const hr_outputs *outputs, int32_t i)
{
    return i >= 0 && i < outputs->samples ? outputs->slots[i] : -1;
}
