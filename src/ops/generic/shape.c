/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _shape: the extents of a tensor; DataNode.shape() makes it. Its old name is `shapes`. */
#include "ops/common/extents.h"

typedef struct shape_args {
    int32_t dtype;
} shape_args;

static hr_status shape_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__extents_check(((const shape_args *)args)->dtype, error);
}

static hr_status shape_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__extents_describe(c, ((const shape_args *)c->args)->dtype, c->in[0].shape.ndim);
    return HR_STATUS_OK;
}

static hr_status shape_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr__extents_store(c, c->in[0].shape.extent);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_shape = {
    HR_OP("_shape"),
    .doc = "The extents of the input, a tensor of shape (dimensions,).",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_HIDDEN | HR_OP_CHEAP | HR_OP_ANYWHERE,
    HR_ARGS(shape_args, HR_EXTENTS_DTYPE_ARG(shape_args)),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"shape"}),
    .check = shape_check,
    .infer = shape_infer,
    .run = shape_run,
};

const hr_op_def hr_op_shapes = {
    HR_OP("shapes"),
    .doc = "The extents of the input, a tensor of shape (dimensions,). The method `shape()` of "
           "data nodes does the same.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_DEPRECATED | HR_OP_CHEAP | HR_OP_ANYWHERE | HR_OP_SEQUENCE |
             HR_OP_VOLUMETRIC,
    HR_ARGS(shape_args, HR_EXTENTS_DTYPE_ARG(shape_args),
            HR_ARG_RENAMED(type, DTYPE, dtype, "0.27")),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"shape"}),
    .check = shape_check,
    .infer = shape_infer,
    .run = shape_run,
};
