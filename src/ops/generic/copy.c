/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* copy: the input. Tensors do not change once they were made, so the output may share its memory.
 */
#include "ops/generic/view.h"

static hr_status copy_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_copy = {
    HR_OP("copy"),
    .doc = "Returns a copy of its input.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_VIEW | HR_OP_BORROWS | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC |
             HR_OP_CHEAP | HR_OP_COLUMNS,
    .in = HR_INPUTS({.name = "data"}),
    .infer = copy_infer,
    .run = hr__view_run,
};
