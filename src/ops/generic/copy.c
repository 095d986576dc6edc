/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* copy: the input. Tensors do not change once they were made, so the output may share its memory.
 */
#include "core/core.h"
#include "headrace/operator.h"

static hr_status copy_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status copy_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        calls[i].out[0].data = calls[i].in[0].data;
        calls[i].out[0].buffer = calls[i].in[0].buffer;
    }
    return HR_STATUS_OK;
}

static const hr_arg_def copy_arg_defs[] = {HR_ARG_END};

const hr_op_def hr_op_copy = {
    HR_OP_ABI,
    .name = "copy",
    .doc = "Gives its input, unchanged.",
    .devices = "cpu|gpu",
    .flags = HR_OP_VIEW | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_CHEAP | HR_OP_COLUMNS,
    .args = copy_arg_defs,
    .in = {{.name = "data"}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"output"}},
    .out_count = 1,
    .infer = copy_infer,
    .run_cpu = copy_run,
};
