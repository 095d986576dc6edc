/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* example.scale: a linear function of every element. On the CPU, and on the GPU with scale.cu. */
#include "scale.h"

static const hr_arg_def scale_arg_defs[] = {
    HR_ARG(scale_args, factor, FLOAT, HR_ARG_PER_SAMPLE, "1.0", "Factor of the elements."),
    HR_ARG(scale_args, addend, FLOAT, HR_ARG_PER_SAMPLE, "0.0", "Number added to the products."),
    HR_ARG_END};

static hr_status scale_infer(hr_op_call *c, hr_error *error)
{
    if (c->in[0].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be FLOAT",
                       hr_dtype_name(c->in[0].dtype));
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status scale_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        const scale_args args = *(const scale_args *)calls[i].args;
        const float *in = calls[i].in[0].data;
        float *out = calls[i].out[0].data;
        size_t count;

        if (!hr_shape_volume(&calls[i].in[0].shape, &count))
            return hr_fail(error, HR_STATUS_ERROR, "the input is too large");
        for (size_t k = 0; k < count; k++)
            out[k] = scale_of(args, in[k]);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_scale = {
    HR_OP_ABI,
    .name = "example.scale",
    .doc = "Multiplies every element by a factor and adds a number.",
    .devices = "cpu|gpu",
    .args = scale_arg_defs,
    .args_size = sizeof(scale_args),
    .in = HR_INPUTS({.name = "data"}),
    .infer = scale_infer,
    .run_cpu = scale_run,
#if defined(EXAMPLE_CUDA)
    .run_cuda = scale_run_cuda,
#endif
};
