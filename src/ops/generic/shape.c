/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _shape: the extents of a tensor; behind a data node's shape(). */
#include "core/core.h"
#include "headrace/operator.h"

typedef struct shape_args {
    int32_t dtype;
} shape_args;

static const hr_arg_def shape_arg_defs[] = {
    HR_ARG(shape_args, dtype, DTYPE, 0, "INT64",
           "Type of the output: INT32, UINT32, INT64, UINT64, FLOAT or FLOAT64."),
    HR_ARG_END};

static hr_status shape_check(const void *args, uint64_t given, hr_error *error)
{
    int32_t dtype = ((const shape_args *)args)->dtype;

    (void)given;
    if (dtype == HR_DTYPE_INT32 || dtype == HR_DTYPE_UINT32 || dtype == HR_DTYPE_INT64 ||
        dtype == HR_DTYPE_UINT64 || dtype == HR_DTYPE_FLOAT || dtype == HR_DTYPE_FLOAT64)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`dtype` is %s: it must be INT32, UINT32, INT64, UINT64, FLOAT or FLOAT64",
                   hr_dtype_name((hr_dtype)dtype));
}

static hr_status shape_infer(hr_op_call *c, hr_error *error)
{
    const int64_t extent = c->in[0].shape.ndim;

    (void)error;
    hr_tensor_describe(&c->out[0], (hr_dtype)((const shape_args *)c->args)->dtype,
                       hr_shape_make(1, &extent), NULL);
    return HR_STATUS_OK;
}

static hr_status shape_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        const hr_shape *shape = &calls[i].in[0].shape;
        hr_convert(calls[i].out[0].data, calls[i].out[0].dtype, shape->extent, HR_DTYPE_INT64,
                   (size_t)shape->ndim);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_shape = {
    HR_OP_ABI,
    .name = "_shape",
    .doc = "The extents of the input, a tensor of shape (dimensions,).",
    .devices = "cpu|gpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    .args = shape_arg_defs,
    .args_size = sizeof(shape_args),
    .in = {{.name = "data", .any_device = true}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"shape"}},
    .out_count = 1,
    .check = shape_check,
    .infer = shape_infer,
    .run_cpu = shape_run,
};
