/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The values that the nodes of a stage exchange: columns of similar samples, their memory, and what
 * is kept for later stages. */
#include <string.h>

#include "exec/values.h"

/* Up to this many bytes per sample, the first sample allocates memory for the whole group. */
#define COLUMN_SAMPLE ((size_t)4096)

/* The k-th sample of a column whose first one is described; k may be negative. */
static hr_tensor column_at(const hr_tensor *first, size_t bytes, int32_t k)
{
    hr_tensor t = *first;
    t.data = (void *)((uintptr_t)first->data + (uintptr_t)(intptr_t)k * bytes);
    return t;
}

static bool identical(const hr_tensor *a, const hr_tensor *b)
{
    return a->data == b->data && a->dtype == b->dtype && a->buffer == b->buffer &&
           a->source_info == b->source_info && hr_shape_equal(&a->shape, &b->shape) &&
           strcmp(a->layout.name, b->layout.name) == 0;
}

hr_tensor *hr__crossing(const hr_group *g, int32_t value, int32_t i)
{
    return hr__crossing_of(g->pipeline, g->iteration, value, g->first + i);
}

const hr_tensor *hr__value_at(const hr_group *g, int32_t value, int32_t i, hr_tensor *room)
{
    const hr_column *column = &g->values[value];
    if (column->each)
        return &column->each[i];
    if (column->like.shape.ndim < 0 && g->pipeline->crossing_of[value] >= 0)
        return hr__crossing(g, value, i);
    if (i == 0)
        return &column->like;
    *room = column_at(&column->like, column->bytes, i);
    return room;
}

hr_tensor hr__value_get(const hr_group *g, int32_t value, int32_t i)
{
    hr_tensor room;
    return *hr__value_at(g, value, i, &room);
}

bool hr__value_is_column(const hr_group *g, int32_t value)
{
    return g->values[value].like.shape.ndim >= 0 && !g->values[value].each;
}

typedef struct hr_held {
    struct hr_held *next;
    hr_buffer *buffer;
} hr_held;

hr_status hr__group_hold(hr_group *g, hr_buffer *buffer, hr_error *error)
{
    hr_held *held = hr_arena_alloc(g->arena, sizeof(*held), error);
    if (!held) {
        hr_buffer_unref(buffer);
        return HR_STATUS_NO_MEMORY;
    }
    *held = (hr_held){g->held, buffer};
    g->held = held;
    return HR_STATUS_OK;
}

void hr__group_release(hr_group *g)
{
    for (hr_held *held = g->held; held; held = held->next)
        hr_buffer_unref(held->buffer);
    g->held = NULL;
}

typedef struct hr_kept_name {
    struct hr_kept_name *next;
    char text[];
} hr_kept_name;

hr_status hr__name_keep(hr_sample *sample, const hr_op_call *c, const char **out, hr_error *error)
{
    *out = c->source_info;
    if (!*out || *out == c->task->info)
        return HR_STATUS_OK;
    size_t size = strlen(*out) + 1;
    hr_kept_name *name = hr_calloc(1, sizeof(*name) + size, error);
    HR_TRY_ALLOC(name);
    name->next = sample->names;
    sample->names = name;
    *out = memcpy(name->text, *out, size);
    return HR_STATUS_OK;
}

void hr__names_free(hr_sample *sample)
{
    while (sample->names) {
        hr_kept_name *name = sample->names;
        sample->names = name->next;
        hr_free(name);
    }
}

static void keep_at(hr_group *g, int32_t value, int32_t i, const hr_tensor *t)
{
    hr_tensor *slot = hr__crossing(g, value, i);
    hr_buffer_unref(slot->buffer);
    *slot = *t;
}

/* Copies small samples into memory of the iteration: a block of the pool for each would cost its
 * lock twice. */
static void keep_small(hr_group *g, int32_t value, int32_t i, int32_t n, const hr_tensor *t,
                       size_t bytes)
{
    for (int32_t k = 0; k < n; k++) {
        hr_tensor kept = *t;
        size_t number = (size_t)(hr__crossing(g, value, i + k) - g->iteration->crossing);
        kept.data = g->iteration->small + number * HR_SMALL;
        memcpy(kept.data, column_at(t, bytes, k).data, bytes);
        keep_at(g, value, i + k, &kept);
    }
}

/* Keeps samples for later stages: by reference, or as a copy if they are in the arena. */
static hr_status keep(hr_group *g, int32_t value, int32_t i, int32_t n, const hr_tensor *t,
                      size_t bytes, hr_error *error)
{
    hr_tensor kept = *t;
    if (t->buffer) {
        hr_buffer_ref(t->buffer);
    } else if (bytes > 0 && bytes <= HR_SMALL) {
        keep_small(g, value, i, n, t, bytes);
        return HR_STATUS_OK;
    } else {
        size_t total;
        if (!hr_size_mul(bytes, (size_t)n, &total))
            return hr_fail(error, HR_STATUS_LIMIT, "the size overflows");
        HR_TRY(hr_pool_alloc(g->pipeline->pool, total, &kept.buffer, error));
        kept.data = hr_buffer_data(kept.buffer);
        if (total > 0)
            memcpy(kept.data, t->data, total);
    }
    for (int32_t k = 0; k < n; k++) {
        hr_tensor one = column_at(&kept, bytes, k);
        keep_at(g, value, i + k, &one);
        if (k > 0)
            hr_buffer_ref(kept.buffer);
    }
    return HR_STATUS_OK;
}

/* Gives every sample its own description. */
static hr_status expand(hr_group *g, hr_column *column, hr_error *error)
{
    if (column->each)
        return HR_STATUS_OK;
    column->each = hr_arena_alloc(g->arena, (size_t)g->count * sizeof(*column->each), error);
    for (int32_t k = 0; column->each && k < g->count; k++)
        column->each[k] = column_at(&column->like, column->bytes, k);
    return column->each ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

hr_status hr__value_none(hr_group *g, int32_t value, int32_t i, hr_error *error)
{
    const hr_tensor none = {.shape.ndim = -1};
    const hr_plan *plan = g->pipeline->plan;
    if (plan->stages[plan->values[value].stage].kind != HR_STAGE_KIND_DEVICE) {
        HR_TRY(expand(g, &g->values[value], error));
        g->values[value].each[i] = none;
    } /* values of a device are only in `crossing` */
    if (g->pipeline->crossing_of[value] >= 0) {
        hr_buffer_unref(hr__crossing(g, value, i)->buffer);
        *hr__crossing(g, value, i) = none;
    }
    if (plan->values[value].output >= 0)
        hr__gather_none(g->iteration, plan->values[value].output, g->first + i);
    return HR_STATUS_OK;
}

hr_status hr__value_put(hr_group *g, int32_t value, int32_t i, int32_t n, const hr_tensor *t,
                        hr_error *error)
{
    const hr_plan_value *v = &g->pipeline->plan->values[value];
    hr_column *column = &g->values[value];
    size_t bytes;
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the size overflows");
    if (column->like.shape.ndim < 0) {
        column->like = column_at(t, bytes, -i);
        column->bytes = bytes;
    }
    hr_tensor expected = column_at(&column->like, column->bytes, i);
    if (!identical(&expected, t))
        HR_TRY(expand(g, column, error));
    for (int32_t k = 0; column->each && k < n; k++)
        column->each[i + k] = column_at(t, bytes, k);
    if (v->output >= 0)
        HR_TRY(hr__gather_put(g->pipeline, g->iteration, v->output, g->first + i, n, t, error));
    return v->crosses ? keep(g, value, i, n, t, bytes, error) : HR_STATUS_OK;
}

hr_status hr__value_memory(hr_group *g, int32_t value, int32_t i, int32_t n, hr_tensor *t,
                           hr_error *error)
{
    int32_t output = g->pipeline->plan->values[value].made_in;
    hr_column *column = &g->values[value];
    size_t bytes, total;
    if (output >= 0)
        return hr__gather_memory(g->pipeline, g->iteration, output, g->first + i, n, t, error);
    if (!hr_tensor_bytes(t, &bytes) || !hr_size_mul(bytes, (size_t)n, &total))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    if (!column->room && bytes <= COLUMN_SAMPLE) {
        column->room = hr_arena_alloc(g->arena, bytes * (size_t)g->count, error);
        column->room_bytes = bytes;
    }
    if (column->room && column->room_bytes == bytes)
        t->data = column->room + (size_t)i * bytes;
    else
        t->data = hr_arena_alloc(g->arena, total, error);
    t->buffer = NULL;
    return t->data ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

hr_status hr__value_args(hr_group *g, const hr_node *node, int32_t i, const void **out,
                         hr_error *error)
{
    *out = node->args;
    if (node->arg_input_count == 0)
        return HR_STATUS_OK;
    void *args = hr_arena_alloc(g->arena, node->def->args_size, error);
    HR_TRY_ALLOC(args);
    memcpy(args, node->args, node->def->args_size);
    for (int32_t k = 0; k < node->arg_input_count; k++) {
        hr_tensor t =
            hr__value_get(g, hr_plan_value_find(g->pipeline->plan, node->arg_inputs[k].edge), i);
        HR_TRY(hr_args_set_sample(node, args, node->arg_inputs[k].arg, &t, g->arena, error));
    }
    *out = args;
    return HR_STATUS_OK;
}
