/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Calls a function of the caller with a batch. On the CPU its results are stored at once; on a
 * device they are noted, and copied in the order of the call's stream when it has returned. */
#include "ops/function/call.h"

#include <string.h>

#include "core/function.h"
#include "ops/generic/region.h"

struct hr_function_call {
    hr_op_call *calls; /* a sample */
    int32_t samples;
    bool *given;                     /* samples x outputs */
    bool *failed;                    /* samples */
    hr_function_device_call *device; /* NULL on the CPU */
};

int32_t hr__function_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return ((const function_args *)args)->num_outputs;
}

hr_status hr__function_check(const void *args, const hr_given *given, hr_error *error)
{
    const function_args *a = args;
    hr_layout layout;

    (void)given;
    if (a->output_layouts.n > HR_MAX(a->num_outputs, 1))
        return hr_fail(error, HR_STATUS_ERROR,
                       "The length of `output_layouts`, %d, is greater than the number of "
                       "outputs, %d",
                       (int)a->output_layouts.n, (int)a->num_outputs);
    for (int32_t i = 0; i < a->output_layouts.n; i++)
        HR_TRY(hr_layout_set(&layout, a->output_layouts.v[i], error));
    return HR_STATUS_OK;
}

int32_t hr_function_samples(const hr_function_call *call)
{
    return call->samples;
}

int32_t hr_function_inputs(const hr_function_call *call)
{
    return call->calls[0].n_in;
}

int32_t hr_function_outputs(const hr_function_call *call)
{
    return call->calls[0].n_out;
}

const hr_tensor *hr_function_input(const hr_function_call *call, int32_t input, int32_t sample)
{
    bool there = sample >= 0 && sample < call->samples && input >= 0 && input < call->calls[0].n_in;
    return there ? &call->calls[sample].in[input] : NULL;
}

static hr_status set_layout(const hr_op_call *c, int32_t output, hr_tensor *t, hr_error *error)
{
    const hr_strings *layouts = &((const function_args *)c->args)->output_layouts;

    memset(&t->layout, 0, sizeof(t->layout));
    if (output >= layouts->n)
        return HR_STATUS_OK;
    const char *layout = layouts->v[output];
    if (layout[0] && strlen(layout) != (size_t)t->shape.ndim)
        return hr_fail(error, HR_STATUS_VALUE,
                       "output %d: the layout \"%s\" is not valid for %d dimensions", (int)output,
                       layout, (int)t->shape.ndim);
    return hr_layout_set(&t->layout, layout, error);
}

/* The samples of an output must have the same type: each is compared with the first one present. */
static hr_status check_kind(const hr_function_call *call, int32_t output, const hr_tensor *value,
                            hr_error *error)
{
    int32_t i = 0, n_out = call->calls[0].n_out;

    while (i < call->samples && !call->given[i * n_out + output])
        i++;
    if (i == call->samples)
        return HR_STATUS_OK;
    const hr_tensor *first = &call->calls[i].out[output];
    if (value->dtype != first->dtype)
        return hr_fail(error, HR_STATUS_ERROR,
                       "output %d: the samples have different types: %s and %s", (int)output,
                       hr_dtype_name(first->dtype), hr_dtype_name(value->dtype));
    if (value->shape.ndim != first->shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR,
                       "output %d: the samples have different numbers of dimensions: %d and %d",
                       (int)output, (int)first->shape.ndim, (int)value->shape.ndim);
    return HR_STATUS_OK;
}

static void copy_here(const hr_tensor *to, const hr_tensor *value, const int64_t *strides)
{
    size_t bytes;
    hr_region region;

    if (!hr_tensor_bytes(to, &bytes) || bytes == 0)
        return;
    if (!strides) {
        memcpy(to->data, value->data, bytes);
        return;
    }
    hr__region_init(&region, &to->shape, hr_dtype_size(to->dtype));
    memcpy(region.from, strides, (size_t)region.ndim * sizeof(*strides));
    hr__region_simplify(&region);
    hr__region_copy(to->data, value->data, &region);
}

/* Describes an output of a sample; it must not have been set before. */
static hr_status describe(hr_function_call *call, int32_t output, int32_t sample,
                          const hr_tensor *like, hr_error *error)
{
    int32_t n_out = call->calls[0].n_out;

    if (output < 0 || output >= n_out || sample < 0 || sample >= call->samples)
        return hr_fail(error, HR_STATUS_INDEX,
                       "output %d of sample %d does not exist: there are %d outputs and %d samples",
                       (int)output, (int)sample, (int)n_out, (int)call->samples);
    bool *given = &call->given[sample * n_out + output];
    if (*given)
        return hr_fail(error, HR_STATUS_STATE, "output %d of sample %d was set twice", (int)output,
                       (int)sample);
    HR_TRY(check_kind(call, output, like, error));
    hr_tensor *t = &call->calls[sample].out[output];
    hr_tensor_describe(t, like->dtype, like->shape, NULL);
    HR_TRY(set_layout(&call->calls[sample], output, t, error));
    *given = true;
    return HR_STATUS_OK;
}

hr_status hr_function_output_strided(hr_function_call *call, int32_t output, int32_t sample,
                                     const hr_tensor *value, const int64_t *strides,
                                     hr_error *error)
{
    HR_TRY(describe(call, output, sample, value, error));
    hr_op_call *c = &call->calls[sample];
    hr_tensor *t = &c->out[output];
    if (!call->device) {
        HR_TRY(hr_task_memory(c->task, output, t, error));
        copy_here(t, value, strides);
        return HR_STATUS_OK;
    }
    if (value->buffer)
        HR_TRY(hr_launch_keep(call->device->launch, value->buffer, error));
    hr_function_result *result = &call->device->results[sample * c->n_out + output];
    result->tensor = *value;
    hr__strides(&value->shape, hr_dtype_size(value->dtype), result->strides);
    if (strides)
        memcpy(result->strides, strides, (size_t)value->shape.ndim * sizeof(*strides));
    return HR_STATUS_OK;
}

hr_status hr_function_output(hr_function_call *call, int32_t output, int32_t sample,
                             const hr_tensor *value, hr_error *error)
{
    return hr_function_output_strided(call, output, sample, value, NULL, error);
}

hr_status hr_function_fail(hr_function_call *call, int32_t sample, hr_status status,
                           const char *message, hr_error *error)
{
    if (sample < 0 || sample >= call->samples)
        return hr_fail(error, HR_STATUS_INDEX, "sample %d does not exist: there are %d",
                       (int)sample, (int)call->samples);
    if (call->device)
        return hr_fail(error, HR_STATUS_STATE, "on a device, a function fails as a whole");
    HR_TRY(hr_task_fail(call->calls[sample].task, status, message, error));
    call->failed[sample] = true;
    return HR_STATUS_OK;
}

hr_status hr_function_make(hr_function_call *call, int32_t output, const hr_tensor *like,
                           hr_tensor *out, hr_error *error)
{
    for (int32_t i = 0; i < call->samples; i++)
        HR_TRY(describe(call, output, i, &like[i], error));
    if (call->device)
        HR_TRY(call->device->memory(call->device->context, output, error));
    for (int32_t i = 0; i < call->samples; i++) {
        hr_op_call *c = &call->calls[i];
        if (!call->device)
            HR_TRY(hr_task_memory(c->task, output, &c->out[output], error));
        out[i] = c->out[output];
    }
    return HR_STATUS_OK;
}

/* ---- the stream of a call on a device ---- */

int32_t hr_function_device(const hr_function_call *call)
{
    return call->device ? hr_device_id(call->device->launch->device) : HR_DEVICE_HOST;
}

void *hr_function_stream(const hr_function_call *call)
{
    return call->device ? call->device->launch->cuda.stream : NULL;
}

/* Makes the call's stream wait for `stream`, or the host for the call's stream. */
static hr_status wait_behind(const hr_function_call *call, void *stream, bool here, hr_error *error)
{
    void *event;
    int32_t id = hr_function_device(call);
    if (!call->device || (!here && stream == hr_function_stream(call)))
        return HR_STATUS_OK;
    const hr_cuda_module_def *module = hr_device_module(call->device->launch->device);
    HR_TRY(module->event_create(id, false, &event, error));
    hr_status status = module->event_record(id, event, stream, error);
    if (status == HR_STATUS_OK)
        status = here ? module->event_wait(id, event, error)
                      : module->event_await(id, event, hr_function_stream(call), error);
    module->event_destroy(id, event);
    return status;
}

hr_status hr_function_await(hr_function_call *call, void *stream, hr_error *error)
{
    return wait_behind(call, stream, false, error);
}

hr_status hr_function_synchronize(hr_function_call *call, hr_error *error)
{
    return wait_behind(call, hr_function_stream(call), true, error);
}

/* ---- running ---- */

static hr_status run(hr_function_call *call, hr_error *error)
{
    const hr_op_call *first = &call->calls[0];
    size_t cells = (size_t)call->samples * (size_t)first->n_out;

    size_t samples = (size_t)call->samples;
    call->given = hr_arena_alloc(first->arena, cells + samples, error);
    HR_TRY_ALLOC(call->given);
    memset(call->given, 0, cells + samples);
    call->failed = call->given + cells;
    HR_TRY(hr_function_call_run(first->function, call, error));
    for (size_t i = 0; i < cells; i++)
        if (!call->given[i] && !call->failed[i / (size_t)first->n_out])
            return hr_fail(error, HR_STATUS_ERROR,
                           "the function returned no output %d of sample %d",
                           (int)(i % (size_t)first->n_out), (int)(i / (size_t)first->n_out));
    return HR_STATUS_OK;
}

hr_status hr__function_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    hr_function_call call = {.calls = calls, .samples = n};

    if (!calls[0].task || !calls[0].function)
        return hr_fail(error, HR_STATUS_STATE, "the node has no function to call");
    return run(&call, error);
}

hr_status hr__function_run_device(hr_op_call *calls, int32_t n, hr_function_device_call *device,
                                  hr_error *error)
{
    size_t cells = (size_t)n * (size_t)calls[0].n_out;
    hr_function_call call = {.calls = calls, .samples = n, .device = device};

    device->results = hr_arena_alloc(calls[0].arena, (cells + 1) * sizeof(*device->results), error);
    HR_TRY_ALLOC(device->results);
    memset(device->results, 0, cells * sizeof(*device->results));
    return run(&call, error);
}

/* The box that is the whole array, as the kernels that compose outputs of boxes take it. */
static hr_status copy_make(hr_op_call *c, const hr_tensor *out, const hr_function_result *result,
                           hr_error *error)
{
    hr_region_parts *parts;
    HR_TRY(hr__parts_make(c->arena, 1, &parts, error));
    hr_region *region = &parts->part->region;
    hr__region_init(region, &out->shape, hr_dtype_size(out->dtype));
    memcpy(region->from, result->strides, (size_t)region->ndim * sizeof(*region->from));
    hr__region_simplify(region);
    c->in = &result->tensor;
    c->n_in = 1;
    c->memo = parts;
    return HR_STATUS_OK;
}

hr_status hr__function_copy(hr_op_call *calls, int32_t n, int32_t output,
                            const hr_function_device_call *device, hr_error *error)
{
    hr_launch *l = device->launch;
    hr_op_call *copies = hr_arena_alloc(calls[0].arena, (size_t)n * sizeof(*copies), error);
    HR_TRY_ALLOC(copies);
    for (int32_t i = 0; i < n; i++) {
        copies[i] = calls[i];
        copies[i].out = &calls[i].out[output];
        copies[i].n_out = 1;
        HR_TRY(copy_make(&copies[i], copies[i].out, &device->results[i * calls[0].n_out + output],
                         error));
    }
    return hr_device_op(l->device, calls[0].def)(&l->cuda, copies, n, &l->staging, error);
}
