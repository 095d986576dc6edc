/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Joining. */
#include "ops/generic/join.h"

#include <string.h>

hr_status hr__join_check(const hr_op_call *c, int32_t axis, hr_error *error)
{
    const hr_tensor *first = &c->in[0];
    char one[128], other[128];

    for (int32_t i = 1; i < c->n_in; i++) {
        const hr_tensor *t = &c->in[i];
        bool same = t->shape.ndim == first->shape.ndim;
        if (t->dtype != first->dtype)
            return hr_fail(error, HR_STATUS_ERROR,
                           "input %d is %s and input 0 is %s: all must have one type", (int)i,
                           hr_dtype_name(t->dtype), hr_dtype_name(first->dtype));
        for (int32_t d = 0; d < first->shape.ndim && same; d++)
            same = d == axis || t->shape.extent[d] == first->shape.extent[d];
        if (!same)
            return hr_fail(error, HR_STATUS_ERROR,
                           "input %d of shape %s does not fit to input 0 of shape %s%s", (int)i,
                           hr_shape_text(&t->shape, other, sizeof(other)),
                           hr_shape_text(&first->shape, one, sizeof(one)),
                           axis < 0 ? "" : ": extents may differ along the axis alone");
    }
    return HR_STATUS_OK;
}

hr_status hr__join_axis(int32_t *axis, int32_t ndim, hr_error *error)
{
    int32_t given = *axis;

    *axis += given < 0 ? ndim : 0;
    if (*axis >= 0 && *axis < ndim)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "`axis` is %d: with %d dimensions it is %d .. %d",
                   (int)given, (int)ndim, -(int)ndim, (int)ndim - 1);
}

void hr__join_copy(const hr_op_call *c, int32_t axis)
{
    size_t rows = 1, pitch = 0, at = 0;

    for (int32_t d = 0; d < axis; d++)
        rows *= (size_t)c->in[0].shape.extent[d];
    if (rows == 0 || !hr_tensor_bytes(&c->out[0], &pitch))
        return;
    pitch /= rows;
    for (int32_t i = 0; i < c->n_in; i++) {
        size_t bytes;
        if (!hr_tensor_bytes(&c->in[i], &bytes))
            return;
        size_t run = bytes / rows;
        for (size_t r = 0; r < rows && run > 0; r++)
            memcpy((char *)c->out[0].data + r * pitch + at, (const char *)c->in[i].data + r * run,
                   run);
        at += run;
    }
}
