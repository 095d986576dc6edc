/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* example.scale: a linear function of every element. On the CPU, and on the GPU with scale.cu. */
#include "scale.h"

static hr_status scale_infer(hr_op_call *c, hr_error *error)
{
    if (c->in[0].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be FLOAT",
                       hr_dtype_name(c->in[0].dtype));
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status scale_run(hr_op_call *c, hr_error *error)
{
    const scale_args args = *(const scale_args *)c->args;
    const float *in = c->in[0].data;
    float *out = c->out[0].data;
    size_t count;

    if (!hr_shape_volume(&c->in[0].shape, &count))
        return hr_fail(error, HR_STATUS_ERROR, "the input is too large");
    for (size_t k = 0; k < count; k++)
        out[k] = scale_of(args, in[k]);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_scale = {
    HR_OP("example.scale"),
    .doc = "Multiplies every element by a factor and adds a number.",
    .devices = "cpu|gpu",
    HR_ARGS(scale_args,
            HR_ARG(scale_args, factor, FLOAT, HR_ARG_PER_SAMPLE, "1.0", "Factor of the elements."),
            HR_ARG(scale_args, addend, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
                   "Number added to the products.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = scale_infer,
    .run = scale_run,
#if defined(EXAMPLE_CUDA)
    .run_cuda = scale_run_cuda,
#endif
};
