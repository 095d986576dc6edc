/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Operators write outputs directly into the batch. The contiguous buffer is made for the shape of
 * the first sample that arrives. Samples of that shape get their slot in it, others a buffer of
 * their own. */
#include <string.h>

#include "exec/values.h"

static bool same_kind(const hr_tensor *a, const hr_tensor *b)
{
    return a->dtype == b->dtype && hr_shape_equal(&a->shape, &b->shape);
}

/* Allocates the contiguous buffer on the first call; g->lock held. */
static hr_status decide(hr_pipeline *p, const hr_iteration *it, hr_gather *g, const hr_tensor *t,
                        size_t bytes, hr_error *error)
{
    size_t total;
    if (!hr_size_mul(bytes, (size_t)it->size, &total))
        return hr_fail(error, HR_STATUS_LIMIT, "the batch's size overflows");
    HR_TRY(hr_pool_alloc(p->pool, total, &g->buffer, error));
    g->like = *t;
    g->sample_bytes = bytes;
    atomic_store_explicit(&g->decided, true, memory_order_release);
    return HR_STATUS_OK;
}

hr_status hr__gather_memory(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                            int32_t n, hr_tensor *t, hr_error *error)
{
    hr_gather *g = &it->gathers[output];
    size_t bytes, total;
    if (!hr_tensor_bytes(t, &bytes) || !hr_size_mul(bytes, (size_t)n, &total))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    if (!atomic_load_explicit(&g->decided, memory_order_acquire)) {
        pthread_mutex_lock(&g->lock);
        hr_status status = g->decided ? HR_STATUS_OK : decide(p, it, g, t, bytes, error);
        pthread_mutex_unlock(&g->lock);
        HR_TRY(status);
    }
    bool fits = same_kind(&g->like, t);
    if (fits)
        t->buffer = hr_buffer_ref(g->buffer);
    else
        HR_TRY(hr_pool_alloc(p->pool, total, &t->buffer, error));
    t->data = (char *)hr_buffer_data(t->buffer) + (fits ? (size_t)sample * bytes : 0);
    for (int32_t k = 0; k < n; k++) {
        hr_tensor *slot = &g->tensors[sample + k];
        hr_buffer_unref(slot->buffer);
        *slot = *t;
        slot->data = (char *)t->data + (size_t)k * bytes;
        if (k > 0)
            hr_buffer_ref(t->buffer);
    }
    return HR_STATUS_OK;
}

void hr__gather_none(hr_iteration *it, int32_t output, int32_t sample)
{
    hr_tensor *slot = &it->gathers[output].tensors[sample];
    hr_buffer_unref(slot->buffer);
    *slot = (hr_tensor){0};
}

/* Whether the operator wrote the sample into its output slot. */
static bool in_place(const hr_iteration *it, int32_t output, int32_t sample, const hr_tensor *t)
{
    const hr_tensor *slot = &it->gathers[output].tensors[sample];
    return slot->buffer && slot->data == t->data;
}

static void put_one(hr_iteration *it, int32_t output, int32_t sample, const hr_tensor *t)
{
    hr_tensor *slot = &it->gathers[output].tensors[sample];
    if (in_place(it, output, sample, t)) {
        slot->layout = t->layout;
        slot->source_info = t->source_info;
        return;
    }
    /* a view or borrowed memory: no copy */
    hr_buffer *buffer = hr_buffer_ref(t->buffer);
    hr_buffer_unref(slot->buffer);
    *slot = *t;
    slot->buffer = buffer;
}

/* Memory of a task's arena must be copied, and so must host memory that other values may share,
 * because users write into outputs. On a device such values have their own memory
 * (HR_PIECE_KIND_COPY). */
static bool must_copy(const hr_pipeline *p, int32_t output, const hr_tensor *t)
{
    const hr_plan_value *value = &p->plan->values[p->plan->outputs[output]];
    return !t->buffer || (value->borrows && hr_buffer_device(t->buffer) == HR_DEVICE_HOST);
}

static hr_status put_copies(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                            int32_t n, const hr_tensor *t, hr_error *error)
{
    hr_tensor copy = *t;
    size_t bytes = 0;
    hr_tensor_bytes(t, &bytes);
    HR_TRY(hr__gather_memory(p, it, output, sample, n, &copy, error));
    if (bytes > 0)
        memcpy(copy.data, t->data, bytes * (size_t)n);
    return HR_STATUS_OK;
}

hr_status hr__gather_put(hr_pipeline *p, hr_iteration *it, int32_t output, int32_t sample,
                         int32_t n, const hr_tensor *t, hr_error *error)
{
    hr_tensor one = *t;
    size_t bytes = 0;
    if (!in_place(it, output, sample, t) && must_copy(p, output, t))
        return put_copies(p, it, output, sample, n, t, error);
    if (n > 1)
        hr_tensor_bytes(t, &bytes);
    for (int32_t k = 0; k < n; k++) {
        put_one(it, output, sample + k, &one);
        one.data = (void *)((uintptr_t)one.data + bytes);
    }
    return HR_STATUS_OK;
}
