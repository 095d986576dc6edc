/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* example.above: which elements are greater than a threshold. On the CPU. */
#include "headrace/operator.h"

typedef struct above_args {
    float threshold;
} above_args;

static hr_status above_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_BOOL, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status above_run(hr_op_call *c, hr_error *error)
{
    const above_args *args = c->args;
    const hr_tensor *in = &c->in[0];
    bool *out = c->out[0].data;
    size_t count;

    if (!hr_shape_volume(&in->shape, &count))
        return hr_fail(error, HR_STATUS_ERROR, "the input is too large");
    for (size_t k = 0; k < count; k++)
        out[k] = hr_element_double(in->data, in->dtype, k) > (double)args->threshold;
    return HR_STATUS_OK;
}

const hr_op_def hr_op_above = {
    HR_OP("example.above"),
    .doc = "True where an element is greater than the threshold.",
    .devices = "cpu",
    HR_ARGS(above_args, HR_ARG(above_args, threshold, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                               "Elements greater than this give True.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = above_infer,
    .run = above_run,
};
