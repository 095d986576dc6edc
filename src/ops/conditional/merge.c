/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _conditional.merge: the result of the branch that ran for the sample, passed on without a copy.
 */
#include "core/core.h"
#include "headrace/operator.h"

typedef struct merge_args {
    int32_t predicate;
} merge_args;

static const hr_arg_def merge_arg_defs[] = {
    HR_ARG(merge_args, predicate, BOOL, HR_ARG_PER_SAMPLE | HR_ARG_REQUIRED, NULL,
           "Whether the sample has the first input; otherwise it has the second."),
    HR_ARG_END};

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

static hr_status merge_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        calls[i].out[0].data = taken(&calls[i])->data;
        calls[i].out[0].buffer = taken(&calls[i])->buffer;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_merge = {
    HR_OP_ABI,
    .name = "_conditional.merge",
    .doc = "Returns the first input for samples whose predicate is true, and the second one for "
           "others.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_HIDDEN | HR_OP_CHEAP | HR_OP_VIEW | HR_OP_BORROWS | HR_OP_MERGE,
    .args = merge_arg_defs,
    .args_size = sizeof(merge_args),
    .predicate = 0,
    .in = HR_INPUTS({.name = "if_true"}, {.name = "if_false"}),
    .infer = merge_infer,
    .run_cpu = merge_run,
};
