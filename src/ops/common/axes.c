/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Axes given by number or by letter. */
#include "ops/common/axes.h"

static hr_status take(int32_t axis, uint32_t *mask, hr_error *error)
{
    if (*mask >> axis & 1)
        return hr_fail(error, HR_STATUS_VALUE, "axis %d is named twice", (int)axis);
    *mask |= 1u << axis;
    return HR_STATUS_OK;
}

hr_status hr__axes_mask(hr_ints axes, const char *axis_names, const hr_tensor *in, uint32_t *mask,
                        hr_error *error)
{
    const int32_t ndim = in->shape.ndim;

    *mask = axes.v || axis_names ? 0 : (1u << ndim) - 1;
    for (int32_t i = 0; axes.v && i < axes.n; i++) {
        int32_t axis = axes.v[i] + (axes.v[i] < 0 ? ndim : 0);
        if (axis < 0 || axis >= ndim)
            return hr_fail(error, HR_STATUS_INDEX,
                           "`axes`: Axis %d out of range. Expected range is [%d, %d] for a %dD "
                           "input",
                           (int)axes.v[i], -(int)ndim, (int)ndim - 1, (int)ndim);
        HR_TRY(take(axis, mask, error));
    }
    for (const char *letter = axis_names; letter && *letter; letter++) {
        int32_t axis = hr_layout_find(&in->layout, *letter);
        if (axis < 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "`axis_names`: axis '%c' is not present in the input layout \"%s\"",
                           *letter, in->layout.name);
        HR_TRY(take(axis, mask, error));
    }
    return HR_STATUS_OK;
}
