/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _conditional.merge: the result of the branch that ran for the sample, passed on without a copy.
 */
#include "core/core.h"
#include "headrace/operator.h"

typedef struct merge_args {
    int32_t predicate;
} merge_args;

static const hr_tensor *taken(const hr_op_call *c)
{
    const merge_args *args = c->args;
    return &c->in[args->predicate ? 0 : 1];
}

static hr_status merge_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = taken(c);
    (void)error;
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, in->layout.name);
    return HR_STATUS_OK;
}

static hr_status merge_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    c->out[0].data = taken(c)->data;
    c->out[0].buffer = taken(c)->buffer;
    return HR_STATUS_OK;
}

const hr_op_def hr_op_merge = {
    HR_OP("_conditional.merge"),
    .doc = "Returns the first input for samples whose predicate is true, and the second one for "
           "others.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_HIDDEN | HR_OP_CHEAP | HR_OP_VIEW | HR_OP_BORROWS | HR_OP_MERGE,
    HR_ARGS(merge_args,
            HR_ARG(merge_args, predicate, BOOL, HR_ARG_PER_SAMPLE | HR_ARG_REQUIRED, NULL,
                   "Whether the sample has the first input; otherwise it has the second.")),
    .predicate = 0,
    .in = HR_INPUTS({.name = "if_true"}, {.name = "if_false"}),
    .infer = merge_infer,
    .run = merge_run,
};
