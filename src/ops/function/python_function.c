/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* python_function: calls a function of the program that made the graph. */
#include "ops/function/call.h"

static const hr_arg_def python_function_arg_defs[] = {
    FUNCTION_ARG_DEFS,
    HR_ARG_ACCEPT(batch_processing, BOOL, "False",
                  "The function takes and gives lists with an array a sample; otherwise arrays of "
                  "one sample."),
    HR_ARG_END};

const hr_op_def hr_op_python_function = {
    HR_OP_ABI,
    .name = "python_function",
    .doc = "Calls a Python function with NumPy arrays. Batches go through it one after the other, "
           "in their order.",
    .devices = "cpu",
    .flags = HR_OP_ORDERED | HR_OP_FUNCTION | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    .args = python_function_arg_defs,
    .args_size = sizeof(function_args),
    .in = {{.name = "input"}},
    .in_min = 0,
    .in_max = HR_OP_MAX_INPUTS,
    .out = {{"output"}},
    .out_count = -1,
    .outputs = hr__function_outputs,
    .check = hr__function_check,
    .run_batch = hr__function_run,
};
