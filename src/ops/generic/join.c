/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Joining tensors. */
#include "ops/generic/join.h"
#include "ops/generic/region.h"

hr_status hr__join_check(const hr_op_call *c, int32_t axis, hr_error *error)
{
    const hr_tensor *first = &c->in[0];
    char one[128], other[128];

    for (int32_t i = 1; i < c->n_in; i++) {
        const hr_tensor *t = &c->in[i];
        bool same = t->shape.ndim == first->shape.ndim;
        if (t->dtype != first->dtype)
            return hr_fail(error, HR_STATUS_ERROR,
                           "input %d is %s and input 0 is %s; all inputs must have the same type",
                           (int)i, hr_dtype_name(t->dtype), hr_dtype_name(first->dtype));
        for (int32_t d = 0; d < first->shape.ndim && same; d++)
            same = d == axis || t->shape.extent[d] == first->shape.extent[d];
        if (!same)
            return hr_fail(error, HR_STATUS_ERROR,
                           "input %d of shape %s does not fit input 0 of shape %s%s", (int)i,
                           hr_shape_text(&t->shape, other, sizeof(other)),
                           hr_shape_text(&first->shape, one, sizeof(one)),
                           axis < 0 ? "" : ": extents may differ only along the axis");
    }
    return HR_STATUS_OK;
}

hr_status hr__join_axis(int32_t *axis, int32_t ndim, hr_error *error)
{
    int32_t given = *axis;

    *axis += given < 0 ? ndim : 0;
    if (*axis >= 0 && *axis < ndim)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "`axis` is %d; with %d dimensions it must be %d .. %d",
                   (int)given, (int)ndim, -(int)ndim, (int)ndim - 1);
}

hr_status hr__join_parts(hr_op_call *c, int32_t axis, hr_error *error)
{
    size_t rows = 1, pitch, at = 0;
    hr_region_parts *parts;

    for (int32_t d = 0; d < axis; d++)
        rows *= (size_t)c->in[0].shape.extent[d];
    if (!hr_tensor_bytes(&c->out[0], &pitch))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    HR_TRY(hr__parts_make(c->arena, rows > 0 ? c->n_in : 0, &parts, error));
    for (int32_t i = 0; i < parts->count; i++) {
        size_t run;
        (void)hr_tensor_bytes(&c->in[i], &run); /* fits, because the output does */
        run /= rows;
        parts->part[i] = (hr_region_part){
            .region = {1, run, {(int64_t)rows}, {(int64_t)(pitch / rows)}, {(int64_t)run}},
            .to = (int64_t)at,
            .input = i};
        at += run;
    }
    c->memo = parts;
    return HR_STATUS_OK;
}
