/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* per_frame: marks the first dimension as frames. */
#include "ops/generic/view.h"

#include <string.h>

typedef struct per_frame_args {
    int32_t replace;
} per_frame_args;

static hr_status per_frame_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_tensor *out = &c->out[0];

    if (in->shape.ndim == 0)
        return hr_fail(error, HR_STATUS_ERROR, "Cannot mark zero-dimensional input as a sequence");
    hr_tensor_describe(out, in->dtype, in->shape, in->layout.name);
    if (!in->layout.name[0])
        memset(out->layout.name, '*', (size_t)in->shape.ndim);
    else if (in->layout.name[0] != 'F' && !((const per_frame_args *)c->args)->replace)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Per-frame argument input must be a sequence. The input layout should start "
                       "with 'F'; it is \"%s\". Set `replace` to change it",
                       in->layout.name);
    out->layout.name[0] = 'F';
    return HR_STATUS_OK;
}

const hr_op_def hr_op_per_frame = {
    HR_OP("per_frame"),
    .doc = "Marks the input as a sequence with one value per frame, so that it can be an argument "
           "of an operator on sequences. The first letter of the layout becomes F.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_VIEW | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(per_frame_args,
            HR_ARG(per_frame_args, replace, BOOL, 0, "False",
                   "Replace the first letter of the layout by F if it is a different one.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = per_frame_infer,
    .run = hr__view_run,
};
