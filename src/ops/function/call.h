/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Operators that call a function of the caller's: what they share. */
#ifndef HR_OPS_FUNCTION_CALL_H
#define HR_OPS_FUNCTION_CALL_H

#include "core/core.h"
#include "headrace/operator.h"

typedef struct function_args {
    int32_t num_outputs;
    hr_strings output_layouts;
} function_args;

#define FUNCTION_ARG_DEFS                                                                          \
    HR_ARG(function_args, num_outputs, INT, 0, "1", "Number of outputs that the function gives.",  \
           .min = 0, .max = HR_OP_MAX_OUTPUTS),                                                    \
        HR_ARG(function_args, output_layouts, STRINGS, HR_ARG_OPTIONAL, NULL,                      \
               "Layouts of the outputs, one letter a dimension: a list, which may be shorter "     \
               "than there are outputs, or in Python a string for all of them.")

int32_t hr__function_outputs(const void *args, int32_t n_in);
hr_status hr__function_check(const void *args, uint64_t given, hr_error *error);
hr_status hr__function_run(hr_op_call *calls, int32_t n, hr_error *error);

#endif
