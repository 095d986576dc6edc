/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of operators that call a function of the caller. */
#pragma once

#include "core/core.h"
#include "device/launch.h"
#include "headrace/operator.h"

typedef struct function_args {
    int32_t num_outputs;
    hr_strings output_layouts;
} function_args;

#define FUNCTION_ARG_DEFS                                                                          \
    HR_ARG(function_args, num_outputs, INT, 0, "1",                                                \
           "Number of outputs that the function returns.", .min = 0, .max = HR_OP_MAX_OUTPUTS),    \
        HR_ARG(function_args, output_layouts, STRINGS, HR_ARG_OPTIONAL, NULL,                      \
               "Layouts of the outputs, one letter per dimension. A list with at most one layout " \
               "per output, or in Python a string for all outputs.")

/* The table of an operator. `id` names its arguments. */
#define FUNCTION_TABLE(id, text)                                                                   \
    HR_OP_ABI, .name = #id, .doc = text, .devices = "cpu|gpu",                                     \
               .flags = HR_OP_ORDERED | HR_OP_FUNCTION | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,        \
               .args = id##_arg_defs, .args_size = sizeof(function_args),                          \
               .in = HR_INPUTS({.name = "input"}), .in_max = HR_OP_MAX_INPUTS,                     \
               .outputs = hr__function_outputs, .check = hr__function_check,                       \
               .run_batch = hr__function_run

int32_t hr__function_outputs(const void *args, int32_t n_in);
hr_status hr__function_check(const void *args, const hr_given *given, hr_error *error);
hr_status hr__function_run(hr_op_call *calls, int32_t n, hr_error *error);

/* ---- on a device ---- */

/* A result that is to be copied: an array in the memory of the device. */
typedef struct hr_function_result {
    hr_tensor tensor; /* the launch keeps its buffer */
    int64_t strides[HR_MAX_NDIM];
} hr_function_result;

/* What the executor provides for a call on a device. */
typedef struct hr_function_device_call {
    hr_launch *launch;
    /* Allocates output `output`, which calls[].out describe, and sets `data` and `buffer` there. */
    hr_status (*memory)(void *context, int32_t output, hr_error *error);
    void *context;
    hr_function_result *results; /* samples x outputs; NULL data: made in place */
} hr_function_device_call;

/* Calls the function. Afterwards, calls[].out describe the outputs; `results` are still to be
 * copied (hr__function_copy) into those that were not made in place. */
hr_status hr__function_run_device(hr_op_call *calls, int32_t n, hr_function_device_call *device,
                                  hr_error *error);
/* Queues the copies of output `output` into calls[].out. */
hr_status hr__function_copy(hr_op_call *calls, int32_t n, int32_t output,
                            const hr_function_device_call *device, hr_error *error);
