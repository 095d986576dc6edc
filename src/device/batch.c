/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batches in device memory that users hold. */
#include <string.h>

#include "core/batch.h"
#include "device/memory.h"

int32_t hr_batch_device(const hr_batch *batch)
{
    const hr_tensor *first = hr_batch_tensor(batch, 0);
    return first && first->buffer ? hr_buffer_device(first->buffer) : HR_DEVICE_HOST;
}

void hr_batch_used(const hr_batch *batch, void *stream)
{
    const hr_buffer *last = NULL;
    for (int32_t i = 0; i < hr_batch_size(batch); i++) {
        hr_buffer *buffer = hr_batch_tensor(batch, i)->buffer;
        if (buffer && buffer != last)
            hr_device_buffer_used(buffer, stream);
        last = buffer;
    }
}

/* Queues a copy. The host memory need not be pinned. */
static hr_status copy_queue(const hr_cuda_module_def *module, const hr_tensor *t, void *dst,
                            void *stream, hr_error *error)
{
    size_t bytes;
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the size overflows");
    hr_device_buffer_await(t->buffer, stream);
    return bytes == 0
               ? HR_STATUS_OK
               : module->copy(hr_buffer_device(t->buffer), stream, dst, t->data, bytes, error);
}

static hr_status stream_wait(const hr_cuda_module_def *module, int32_t device, void *stream,
                             hr_error *error)
{
    void *event;
    HR_TRY(module->event_create(device, false, &event, error));
    hr_status status = module->event_record(device, event, stream, error);
    if (status == HR_STATUS_OK)
        status = module->event_wait(device, event, error);
    module->event_destroy(device, event);
    return status;
}

hr_status hr_tensor_copy(const hr_tensor *tensor, void *dst, void *stream, bool wait,
                         hr_error *error)
{
    size_t bytes;
    const hr_cuda_module_def *module;
    int32_t device = tensor->buffer ? hr_buffer_device(tensor->buffer) : HR_DEVICE_HOST;
    if (device == HR_DEVICE_HOST) {
        if (!hr_tensor_bytes(tensor, &bytes))
            return hr_fail(error, HR_STATUS_LIMIT, "the size overflows");
        if (bytes > 0)
            memcpy(dst, tensor->data, bytes);
        return HR_STATUS_OK;
    }
    HR_TRY(hr_device_buffer_check(tensor->buffer, error));
    HR_TRY(hr_module_open(&module, error));
    HR_TRY(copy_queue(module, tensor, dst, stream, error));
    if (wait)
        return stream_wait(module, device, stream, error);
    hr_device_buffer_used(tensor->buffer, stream);
    return HR_STATUS_OK;
}

/* Allocates host memory for all samples, one after the other. */
static hr_status make_room(hr_batch *to, const hr_batch *from, hr_error *error)
{
    size_t total = 0, bytes;
    int32_t count = hr_batch_size(from);
    hr_tensor *tensors = hr_batch_tensors(to);
    for (int32_t i = 0; i < count; i++)
        if (!hr_tensor_bytes(hr_batch_tensor(from, i), &bytes) ||
            !hr_size_add(total, bytes, &total))
            return hr_fail(error, HR_STATUS_LIMIT, "the batch's size overflows");
    hr_buffer *buffer;
    HR_TRY(hr_buffer_create(&buffer, total, error));
    char *at = hr_buffer_data(buffer);
    for (int32_t i = 0; i < count; i++) {
        tensors[i] = *hr_batch_tensor(from, i);
        tensors[i].data = at;
        tensors[i].buffer = hr_buffer_ref(buffer);
        (void)hr_tensor_bytes(&tensors[i], &bytes);
        at += bytes;
    }
    hr_buffer_unref(buffer);
    return HR_STATUS_OK;
}

hr_status hr_batch_to_host(hr_batch **out, const hr_batch *batch, hr_error *error)
{
    const hr_cuda_module_def *module;
    hr_batch *to;
    int32_t count = hr_batch_size(batch), device = hr_batch_device(batch);
    void *stream = NULL;
    if (device == HR_DEVICE_HOST) {
        HR_TRY(hr_batch_create(out, hr_batch_tensor(batch, 0), count, false, error));
        return count ? HR_STATUS_OK : hr_batch_set_layout(*out, hr_batch_layout(batch), error);
    }
    for (int32_t i = 0; i < count; i++)
        HR_TRY(hr_device_buffer_check(hr_batch_tensor(batch, i)->buffer, error));
    HR_TRY(hr_module_open(&module, error));
    HR_TRY(hr_batch_alloc(&to, count, error));
    hr_status status = make_room(to, batch, error);
    if (status == HR_STATUS_OK)
        status = module->stream_create(device, &stream, error);
    hr_tensor dense;
    if (status == HR_STATUS_OK && hr_batch_dense(batch, &dense) && dense.buffer) {
        status = copy_queue(module, &dense, hr_batch_tensors(to)[0].data, stream, error);
    } else {
        for (int32_t i = 0; i < count && status == HR_STATUS_OK; i++)
            status = copy_queue(module, hr_batch_tensor(batch, i), hr_batch_tensors(to)[i].data,
                                stream, error);
    }
    if (status == HR_STATUS_OK)
        status = stream_wait(module, device, stream, error);
    if (stream)
        module->stream_destroy(device, stream);
    if (status != HR_STATUS_OK) {
        hr_batch_unref(to);
        return status;
    }
    /* The source_info texts belong to the first batch. */
    for (int32_t i = 0; i < count; i++)
        hr_batch_tensors(to)[i].source_info = NULL;
    *out = to;
    return HR_STATUS_OK;
}
