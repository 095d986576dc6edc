/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _conditional.validate_logical: converts a condition of `if`, or an operand of `and` or `or`, to a
 * truth value for guards. */
#include "ops/conditional/condition.h"

#include <string.h>

typedef struct validate_args {
    const char *expression_name, *expression_side;
} validate_args;

static const hr_arg_def validate_arg_defs[] = {
    HR_ARG(validate_args, expression_name, STRING, HR_ARG_REQUIRED, NULL,
           "The expression: `if` accepts all numbers, the others only BOOL.",
           .choices = "if|and|or"),
    HR_ARG(validate_args, expression_side, STRING, 0, "\"\"", "The operand, for messages."),
    HR_ARG_END};

static hr_status validate_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        const validate_args *args = calls[i].args;
        HR_TRY(hr_condition_get(&calls[i].in[0], args->expression_name, args->expression_side,
                                strcmp(args->expression_name, "if") != 0, calls[i].out[0].data,
                                error));
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_validate_logical = {
    HR_OP_ABI,
    .name = "_conditional.validate_logical",
    .doc =
        "The truth value of a condition or of an operand of `and` and `or`: a scalar on the CPU.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    .args = validate_arg_defs,
    .args_size = sizeof(validate_args),
    .in = HR_INPUTS({.name = "condition"}),
    .out = HR_OUTPUTS({"truth"}),
    .infer = hr_condition_infer,
    .run_cpu = validate_run,
};
