/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.take: what belongs to the boxes that are left, such as their labels. */
#include "ops/torchvision/rows.h"

#include <string.h>

static hr_status take_infer(hr_op_call *c, hr_error *error)
{
    HR_TRY(hr__rows_check(c, error));
    const hr_tensor *rows = &c->in[0], *in = &c->in[1];
    hr_shape shape = in->shape;

    if (shape.ndim < 1)
        return hr_fail(error, HR_STATUS_ERROR, "there must be an element per box");
    for (int64_t i = 1; i < rows->shape.extent[0]; i++) {
        float number = ((const float *)rows->data)[i * HR_ROW + 4];
        if (!(number >= 0.0f && number < (float)shape.extent[0]))
            return hr_fail(error, HR_STATUS_ERROR, "there are boxes without an element");
    }
    shape.extent[0] = rows->shape.extent[0] - 1;
    hr_tensor_describe(&c->out[0], in->dtype, shape, NULL);
    return HR_STATUS_OK;
}

static hr_status take_run(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[1], *out = &c->out[0];
    const float *rows = c->in[0].data;
    size_t size;

    if (!hr_shape_volume(&out->shape, &size))
        return hr_fail(error, HR_STATUS_ERROR, "the input is too large");
    const int64_t count = out->shape.extent[0];
    if (size == 0)
        return HR_STATUS_OK;
    size = size / (size_t)count * hr_dtype_size(in->dtype);
    for (int64_t k = 0; k < count; k++)
        memcpy((char *)out->data + (size_t)k * size,
               (const char *)in->data + (size_t)rows[(k + 1) * HR_ROW + 4] * size, size);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_torchvision_take = {
    HR_OP("_torchvision.take"),
    .doc = "Takes what belongs to the boxes that are left.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    .in = HR_INPUTS({.name = "boxes", .host = true}, {.name = "data"}),
    .infer = take_infer,
    .run = take_run,
};
