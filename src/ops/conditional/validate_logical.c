/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _conditional.validate_logical: converts a condition of `if`, or an operand of `and` or `or`, to a
 * truth value for guards. */
#include "ops/conditional/condition.h"

#include <string.h>

typedef struct validate_args {
    const char *expression_name, *expression_side;
} validate_args;

static hr_status validate_run(hr_op_call *c, hr_error *error)
{
    const validate_args *args = c->args;
    return hr_condition_get(&c->in[0], args->expression_name, args->expression_side,
                            strcmp(args->expression_name, "if") != 0, c->out[0].data, error);
}

const hr_op_def hr_op_validate_logical = {
    HR_OP("_conditional.validate_logical"),
    .doc =
        "The truth value of a condition or of an operand of `and` and `or`: a scalar on the CPU.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    HR_ARGS(
        validate_args,
        HR_ARG(validate_args, expression_name, STRING, HR_ARG_REQUIRED, NULL,
               "The expression: `if` accepts all numbers, the others only BOOL.",
               .choices = "if|and|or"),
        HR_ARG(validate_args, expression_side, STRING, 0, "\"\"", "The operand, for messages.")),
    .in = HR_INPUTS({.name = "condition"}),
    .out = HR_OUTPUTS({"truth"}),
    .infer = hr_condition_infer,
    .run = validate_run,
};
