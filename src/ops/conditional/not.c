/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _conditional.not_: the logical `not` of a scalar. */
#include "ops/conditional/condition.h"

static hr_status not_run(hr_op_call *c, hr_error *error)
{
    bool truth;
    HR_TRY(hr_condition_get(&c->in[0], "not", "", false, &truth, error));
    *(bool *)c->out[0].data = !truth;
    return HR_STATUS_OK;
}

const hr_op_def hr_op_not = {
    HR_OP("_conditional.not_"),
    .doc = "Returns whether a scalar is 0.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    .in = HR_INPUTS({.name = "condition"}),
    .out = HR_OUTPUTS({"truth"}),
    .infer = hr_condition_infer,
    .run = not_run,
};
