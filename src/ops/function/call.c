/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Calls a function of the caller with a batch and stores its results. */
#include "ops/function/call.h"

#include <string.h>

#include "core/function.h"

struct hr_function_call {
    hr_op_call *calls; /* a sample */
    int32_t samples;
    bool *given; /* samples x outputs */
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
                       "`output_layouts` has %d entries, but there are only %d outputs",
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

hr_status hr_function_output(hr_function_call *call, int32_t output, int32_t sample,
                             const hr_tensor *value, hr_error *error)
{
    int32_t n_out = call->calls[0].n_out;
    size_t bytes;

    if (output < 0 || output >= n_out || sample < 0 || sample >= call->samples)
        return hr_fail(error, HR_STATUS_INDEX,
                       "output %d of sample %d does not exist: there are %d outputs and %d samples",
                       (int)output, (int)sample, (int)n_out, (int)call->samples);
    bool *given = &call->given[sample * n_out + output];
    if (*given)
        return hr_fail(error, HR_STATUS_STATE, "output %d of sample %d was set twice", (int)output,
                       (int)sample);
    HR_TRY(check_kind(call, output, value, error));
    hr_op_call *c = &call->calls[sample];
    hr_tensor *t = &c->out[output];
    hr_tensor_describe(t, value->dtype, value->shape, NULL);
    HR_TRY(set_layout(c, output, t, error));
    HR_TRY(hr_task_memory(c->task, output, t, error));
    if (hr_tensor_bytes(t, &bytes) && bytes > 0)
        memcpy(t->data, value->data, bytes);
    *given = true;
    return HR_STATUS_OK;
}

hr_status hr__function_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    size_t cells = (size_t)n * (size_t)calls[0].n_out;
    hr_function_call call = {.calls = calls, .samples = n};

    if (!calls[0].task || !calls[0].function)
        return hr_fail(error, HR_STATUS_STATE, "there is no function to call");
    call.given = hr_arena_alloc(calls[0].arena, cells + 1, error);
    if (!call.given)
        return HR_STATUS_NO_MEMORY;
    memset(call.given, 0, cells);
    HR_TRY(hr_function_call_run(calls[0].function, &call, error));
    for (size_t i = 0; i < cells; i++)
        if (!call.given[i])
            return hr_fail(error, HR_STATUS_ERROR,
                           "the function returned no output %d of sample %d",
                           (int)(i % (size_t)calls[0].n_out), (int)(i / (size_t)calls[0].n_out));
    return HR_STATUS_OK;
}
