/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batches: reference-counted lists of tensors. */
#include "core/batch.h"
#include "core/alloc.h"

#include <stdatomic.h>
#include <string.h>

struct hr_batch {
    atomic_size_t refs;
    int32_t count;
    bool sealed; /* `is_dense` and `dense` are known */
    bool is_dense;
    bool one_buffer; /* only the first tensor holds a reference to the buffer of all */
    hr_tensor dense;
    hr_layout empty_layout; /* of a batch without samples */
    char *texts;            /* memory of the tensors' source_info, or NULL */
    hr_tensor tensors[];
};

hr_status hr_batch_alloc(hr_batch **out, int32_t count, hr_error *error)
{
    *out = NULL;
    if (count < 0)
        return hr_fail(error, HR_STATUS_VALUE, "a batch cannot have %d samples", (int)count);
    size_t bytes;
    if (!hr_size_mul((size_t)count, sizeof(hr_tensor), &bytes) ||
        !hr_size_add(bytes, sizeof(hr_batch), &bytes))
        return hr_fail_memory(error, SIZE_MAX);
    hr_batch *batch = hr_calloc(1, bytes, error);
    HR_TRY_ALLOC(batch);
    atomic_init(&batch->refs, 1);
    batch->count = count;
    *out = batch;
    return HR_STATUS_OK;
}

hr_tensor *hr_batch_tensors(hr_batch *batch)
{
    return batch->tensors;
}

void hr_batch_truncate(hr_batch *batch, int32_t count)
{
    count = HR_MAX(count, 0);
    while (batch->count > count) {
        batch->count--;
        hr_buffer_unref(batch->tensors[batch->count].buffer);
        batch->tensors[batch->count].buffer = NULL;
    }
}

hr_status hr_batch_own_texts(hr_batch *batch, hr_error *error)
{
    size_t total = 0;
    for (int32_t i = 0; i < batch->count; i++) {
        const char *text = batch->tensors[i].source_info;
        if (text && !hr_size_add(total, strlen(text) + 1, &total))
            return hr_fail_memory(error, SIZE_MAX);
    }
    if (total == 0)
        return HR_STATUS_OK;
    char *at = batch->texts = hr_calloc(total, 1, error);
    HR_TRY_ALLOC(at);
    for (int32_t i = 0; i < batch->count; i++) {
        hr_tensor *t = &batch->tensors[i];
        if (!t->source_info)
            continue;
        size_t size = strlen(t->source_info) + 1;
        t->source_info = memcpy(at, t->source_info, size);
        at += size;
    }
    return HR_STATUS_OK;
}

hr_batch *hr_batch_ref(hr_batch *batch)
{
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    return batch;
}

void hr_batch_unref(hr_batch *batch)
{
    if (!batch || atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (batch->one_buffer)
        hr_buffer_unref(batch->tensors[0].buffer);
    else
        hr_batch_truncate(batch, 0);
    hr_free(batch->texts);
    hr_free(batch);
}

int32_t hr_batch_size(const hr_batch *batch)
{
    return batch->count;
}

const hr_tensor *hr_batch_tensor(const hr_batch *batch, int32_t i)
{
    return i >= 0 && i < batch->count ? &batch->tensors[i] : NULL;
}

/* `*one_buffer`: all tensors are in one buffer, and each has a reference to it. */
static bool find_dense(const hr_batch *batch, hr_tensor *out, bool *one_buffer)
{
    *one_buffer = false;
    if (batch->count == 0)
        return false;
    const hr_tensor *first = &batch->tensors[0];
    size_t bytes;
    if (first->shape.ndim >= HR_MAX_NDIM || !hr_tensor_bytes(first, &bytes))
        return false;
    bool same = first->buffer != NULL;
    for (int32_t i = 1; i < batch->count; i++) {
        const hr_tensor *t = &batch->tensors[i];
        if (t->dtype != first->dtype || !hr_shape_equal(&t->shape, &first->shape))
            return false;
        if (bytes > 0 && (uintptr_t)t->data != (uintptr_t)first->data + (size_t)i * bytes)
            return false;
        same = same && t->buffer == first->buffer;
    }
    hr_tensor dense = {.data = first->data, .dtype = first->dtype};
    dense.shape.ndim = first->shape.ndim + 1;
    dense.shape.extent[0] = batch->count;
    for (int32_t i = 0; i < first->shape.ndim; i++)
        dense.shape.extent[i + 1] = first->shape.extent[i];
    if (first->layout.name[0] && hr_layout_find(&first->layout, 'N') < 0) {
        dense.layout.name[0] = 'N';
        memcpy(dense.layout.name + 1, first->layout.name, HR_MAX_NDIM - 1);
    }
    dense.buffer = same ? first->buffer : NULL;
    *out = dense;
    *one_buffer = same;
    return true;
}

bool hr_batch_dense(const hr_batch *batch, hr_tensor *out)
{
    bool one_buffer;
    if (!batch->sealed)
        return find_dense(batch, out, &one_buffer);
    if (batch->is_dense)
        *out = batch->dense;
    return batch->is_dense;
}

void hr_batch_seal(hr_batch *batch)
{
    batch->is_dense = find_dense(batch, &batch->dense, &batch->one_buffer);
    for (int32_t i = 1; batch->one_buffer && i < batch->count; i++)
        hr_buffer_unref(batch->tensors[i].buffer);
    batch->sealed = true;
}

hr_status hr_batch_set_layout(hr_batch *batch, const char *layout, hr_error *error)
{
    hr_layout parsed;
    HR_TRY(hr_layout_set(&parsed, layout, error));
    size_t size = strlen(parsed.name);
    int32_t ndim = batch->count ? batch->tensors[0].shape.ndim : (int32_t)size;
    if (size && size != (size_t)ndim)
        return hr_fail(error, HR_STATUS_VALUE,
                       "the layout \"%s\" has %zu letters but the samples have %d dimensions",
                       parsed.name, size, (int)ndim);
    for (int32_t i = 0; i < batch->count; i++)
        batch->tensors[i].layout = parsed;
    if (batch->count == 0)
        batch->empty_layout = parsed;
    batch->sealed = false; /* the dense view has this layout as well */
    return HR_STATUS_OK;
}

const char *hr_batch_layout(const hr_batch *batch)
{
    return batch->count ? batch->tensors[0].layout.name : batch->empty_layout.name;
}

/* ---- hr_batch_create ---- */

static int32_t device_of(const hr_tensor *t)
{
    return t->buffer ? hr_buffer_device(t->buffer) : HR_DEVICE_HOST;
}

/* Checks the caller's tensors and sums up the bytes that copies of them need. */
static hr_status batch_measure(const hr_tensor *tensors, int32_t count, bool no_copy, bool *dense,
                               size_t *data, hr_error *error)
{
    *dense = true;
    *data = 0;
    for (int32_t i = 0; i < count; i++) {
        const hr_tensor *t = &tensors[i], *first = &tensors[0];
        size_t bytes;
        if (hr_dtype_size(t->dtype) == 0)
            return hr_fail(error, HR_STATUS_TYPE, "sample %d has no element type", (int)i);
        if (t->dtype != first->dtype)
            return hr_fail(
                error, HR_STATUS_TYPE,
                "Tensors cannot have different data types. Tensor at position %d has type "
                "'%s' expected to have type '%s'.",
                (int)i, hr_dtype_name(t->dtype), hr_dtype_name(first->dtype));
        if (t->shape.ndim != first->shape.ndim)
            return hr_fail(error, HR_STATUS_ERROR,
                           "sample %d has %d dimensions but sample 0 has %d", (int)i,
                           (int)t->shape.ndim, (int)first->shape.ndim);
        if (!hr_tensor_bytes(t, &bytes) || bytes > PTRDIFF_MAX)
            return hr_fail(error, HR_STATUS_VALUE, "sample %d has an impossible shape", (int)i);
        if (no_copy && !t->buffer)
            return hr_fail(error, HR_STATUS_VALUE, "sample %d has no buffer to refer to", (int)i);
        if (device_of(t) != (no_copy ? device_of(first) : HR_DEVICE_HOST))
            return hr_fail(error, HR_STATUS_ERROR, "sample %d is on another device", (int)i);
        if (bytes > 0 && !t->data)
            return hr_fail(error, HR_STATUS_VALUE, "sample %d has no data", (int)i);
        *dense = *dense && hr_shape_equal(&t->shape, &first->shape);
        /* Samples of different shapes are aligned to HR_ALIGN; equal shapes are stored without
         * gaps. */
        if (!hr_size_add(*data, bytes, data) || !hr_size_add(*data, HR_ALIGN, data))
            return hr_fail_memory(error, SIZE_MAX);
    }
    return HR_STATUS_OK;
}

static hr_status batch_copy_data(hr_batch *batch, hr_pool *pool, const hr_tensor *tensors,
                                 size_t size, bool dense, hr_error *error)
{
    hr_buffer *block;
    HR_TRY(pool ? hr_pool_alloc(pool, size, &block, error) : hr_buffer_create(&block, size, error));
    size_t at = 0;
    for (int32_t i = 0; i < batch->count; i++) {
        size_t bytes = 0;
        hr_tensor_bytes(&tensors[i], &bytes);
        char *to = (char *)hr_buffer_data(block) + at;
        if (bytes)
            memcpy(to, tensors[i].data, bytes);
        batch->tensors[i].data = to;
        batch->tensors[i].buffer = hr_buffer_ref(block);
        at += dense ? bytes : (bytes + HR_ALIGN - 1) / HR_ALIGN * HR_ALIGN;
    }
    hr_buffer_unref(block);
    return HR_STATUS_OK;
}

/* `pool`: memory for copies; NULL: the batch allocates its own. */
static hr_status batch_make(hr_batch **out, const hr_tensor *tensors, int32_t count, bool no_copy,
                            hr_pool *pool, hr_error *error)
{
    *out = NULL;
    bool dense;
    size_t data;
    HR_TRY(batch_measure(tensors, count, no_copy, &dense, &data, error));
    hr_batch *batch;
    HR_TRY(hr_batch_alloc(&batch, count, error));
    for (int32_t i = 0; i < count; i++) {
        batch->tensors[i] = tensors[i];
        batch->tensors[i].buffer = no_copy ? hr_buffer_ref(tensors[i].buffer) : NULL;
    }
    hr_status status = HR_STATUS_OK;
    if (!no_copy && count > 0)
        status = batch_copy_data(batch, pool, tensors, data, dense, error);
    if (status == HR_STATUS_OK)
        status = hr_batch_own_texts(batch, error);
    if (status != HR_STATUS_OK) {
        hr_batch_unref(batch);
        return status;
    }
    *out = batch;
    return HR_STATUS_OK;
}

hr_status hr_batch_create(hr_batch **out, const hr_tensor *tensors, int32_t count, bool no_copy,
                          hr_error *error)
{
    return batch_make(out, tensors, count, no_copy, NULL, error);
}

hr_status hr_batch_copy(hr_batch **out, hr_pool *pool, const hr_tensor *tensors, int32_t count,
                        hr_error *error)
{
    return batch_make(out, tensors, count, false, pool, error);
}
