/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of operators that call a function of the caller. */
#ifndef HR_OPS_FUNCTION_CALL_H
#define HR_OPS_FUNCTION_CALL_H

#include "core/core.h"
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
    HR_OP_ABI, .name = #id, .doc = text, .devices = "cpu",                                         \
               .flags = HR_OP_ORDERED | HR_OP_FUNCTION | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,        \
               .args = id##_arg_defs, .args_size = sizeof(function_args),                          \
               .in = HR_INPUTS({.name = "input"}), .in_min = 0, .in_max = HR_OP_MAX_INPUTS,        \
               .out = HR_OUTPUTS({"output"}), .out_count = -1, .outputs = hr__function_outputs,    \
               .check = hr__function_check, .run_batch = hr__function_run

int32_t hr__function_outputs(const void *args, int32_t n_in);
hr_status hr__function_check(const void *args, const hr_given *given, hr_error *error);
hr_status hr__function_run(hr_op_call *calls, int32_t n, hr_error *error);

#endif
