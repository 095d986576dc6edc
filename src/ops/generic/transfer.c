/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* DataNode.gpu() and DataNode.cpu(): these tables only mark the move; the executor moves the data.
 */
#include "core/core.h"
#include "headrace/operator.h"

static hr_status transfer_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static const hr_arg_def transfer_arg_defs[] = {HR_ARG_END};

const hr_op_def hr_op__to_gpu = {
    HR_OP("_to_gpu"),
    .doc = "Copies its input to GPU memory.",
    .devices = "gpu",
    .flags = HR_OP_ENUMS | HR_OP_HIDDEN | HR_OP_TO_DEVICE | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    .args = transfer_arg_defs,
    .in = HR_INPUTS({.name = "data"}),
    .infer = transfer_infer,
};

const hr_op_def hr_op__to_cpu = {
    HR_OP("_to_cpu"),
    .doc = "Copies its input to host memory.",
    .devices = "cpu",
    .flags = HR_OP_ENUMS | HR_OP_HIDDEN | HR_OP_TO_HOST | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    .args = transfer_arg_defs,
    .in = HR_INPUTS({.name = "data"}),
    .infer = transfer_infer,
};
